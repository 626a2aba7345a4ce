/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/kernels/kernel_on_host.h"

void *(*weft_host_translate)(const void *);
unsigned (*weft_host_multicast)(const void *, void **, unsigned);
