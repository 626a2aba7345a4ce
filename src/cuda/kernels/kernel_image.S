/* SPDX-License-Identifier: BSD-3-Clause */
/* kernel_image.h, with the bytes that nvcc wrote; the path is from the root of the build tree. */
    .section .rodata, "a"
    .globl weft_fatbin
    .hidden weft_fatbin
    .type weft_fatbin, %object
    .balign 64
weft_fatbin:
    .incbin "src/cuda/kernels/kernels.fatbin"
weft_fatbin_end:
    .size weft_fatbin, weft_fatbin_end - weft_fatbin
    .globl weft_fatbin_bytes
    .hidden weft_fatbin_bytes
    .type weft_fatbin_bytes, %object
    .size weft_fatbin_bytes, 8
    .balign 8
weft_fatbin_bytes:
    .quad weft_fatbin_end - weft_fatbin
    .section .note.GNU-stack, "", %progbits
