dnl SPDX-License-Identifier: BSD-3-Clause

dnl WEFT_CUDA: --with-cuda[=DIR|no] and --with-cuda-arch=LIST; sets NVCC, NVCC_ARCHES, NVCC_COMPRESS, have_cuda,
dnl found_cuda, and for tests CUDA_INCLUDE, where cuda.h is. Only the compiler is looked for: the driver is opened at run time, so a build machine
dnl needs no GPU. An nvcc that cannot compile (its host compiler is missing, say) counts as none.
AC_DEFUN([WEFT_CUDA], [
AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda=DIR], [CUDA below DIR (default: nvcc on PATH or in /usr/local/cuda; no: not looked for)])],
    [], [with_cuda=auto])
AC_ARG_WITH([cuda-arch],
    [AS_HELP_STRING([--with-cuda-arch=LIST], [compile kernels for these, 80,90 or native (default: all, and PTX for newer ones); one saves minutes])],
    [], [with_cuda_arch="75,80,86,89,90,100,120"; weft_ptx=yes])
have_cuda=no
kernel_arches=
kernel_ptx=0
kernel_toolkit=
kernel_driver=
kernel_cuda=0
found_cuda="no, not looked for (--without-cuda)"
AS_IF([test "$with_cuda" != no], [
    AS_CASE([$with_cuda], [auto|yes], [weft_path=$PATH:/usr/local/cuda/bin], [weft_path=$with_cuda/bin])
    AC_PATH_PROG([NVCC], [nvcc], [], [$weft_path])
    found_cuda="no (nvcc is neither on PATH nor in /usr/local/cuda/bin)"
    AS_IF([test -n "$NVCC"], [WEFT_NVCC],
          [test "$with_cuda" = auto ||
           AC_MSG_ERROR([nvcc was not found below $weft_path: install the CUDA toolkit, or leave --with-cuda out.])])
    WEFT_CUDA_INCLUDE
])
AC_SUBST([CUDA_INCLUDE])
AM_CONDITIONAL([HAVE_CUDA_HEADER], [test -n "$CUDA_INCLUDE"])
AS_IF([test $have_cuda = yes], [AC_DEFINE([HAVE_CUDA], [1], [Kernels are compiled by nvcc])])
AM_CONDITIONAL([HAVE_CUDA], [test $have_cuda = yes])
AC_SUBST([NVCC])
AC_SUBST([NVCC_ARCHES])
AC_SUBST([NVCC_COMPRESS])
AC_DEFINE_UNQUOTED([WEFT_FOUND_CUDA], ["$found_cuda"], [What configure found of CUDA])
AC_DEFINE_UNQUOTED([WEFT_KERNEL_ARCHES], ["$kernel_arches"], [Kernels are compiled for these: "75 80", "native", ""])
AC_DEFINE_UNQUOTED([WEFT_KERNEL_TOOLKIT], ["$kernel_toolkit"], [The release of nvcc that compiled them, 12.8; "": none did])
AC_DEFINE_UNQUOTED([WEFT_KERNEL_DRIVER], ["$kernel_driver"], [The least driver that takes them, 550.54; "": not known])
AC_DEFINE_UNQUOTED([WEFT_KERNEL_CUDA], [$kernel_cuda], [The same as the driver counts CUDA, 12040; 0: not known])
AC_DEFINE_UNQUOTED([WEFT_KERNEL_PTX], [$kernel_ptx], [Drivers compile them for architectures from this one on; 0: for none])
])

dnl What of the list this nvcc knows, and whether it works.
AC_DEFUN([WEFT_NVCC], [
weft_release=$("$NVCC" --version | sed -n 's/.*release \(@<:@0-9.@:>@*\).*/\1/p')
weft_known=" native $("$NVCC" --list-gpu-code 2>/dev/null | sed 's/^sm_//' | tr '\n' ' ')"
weft_taken=
for weft_arch in $(echo "$with_cuda_arch" | tr ',' ' '); do
    AS_CASE([$weft_known],
        [*" $weft_arch "*],
            [AS_IF([test $weft_arch = native],
                   [NVCC_ARCHES="-arch=native"],
                   [AS_IF([test "$weft_ptx" = yes && test -z "$weft_taken"],
                          [NVCC_ARCHES="-gencode arch=compute_$weft_arch,code=compute_$weft_arch"])
                    NVCC_ARCHES="$NVCC_ARCHES -gencode arch=compute_$weft_arch,code=sm_$weft_arch"])
             weft_taken="$weft_taken $weft_arch"],
        [test "$weft_ptx" = yes ||
         AC_MSG_ERROR([nvcc $weft_release does not know the architecture $weft_arch of --with-cuda-arch; it knows$weft_known])])
done
WEFT_NVCC_FLAGS
AS_IF([test $have_cuda = yes],
    [WEFT_LEAST_DRIVER
     kernel_arches=${weft_taken# }
     AS_IF([test "$weft_ptx" = yes], [kernel_ptx=${kernel_arches%% *}])
     found_cuda="yes, $weft_release for$weft_taken, $NVCC"],
    [found_cuda="no ($NVCC does not compile, see config.log)"
     AS_CASE([$with_cuda], [auto], [], [AC_MSG_ERROR([$NVCC does not compile: config.log says why.])])])
])

dnl The flags of the kernels, as the Makefile has them. How an image is made small depends on nvcc: --compress-mode came with CUDA 12.8.
AC_DEFUN([WEFT_NVCC_FLAGS], [
AC_MSG_CHECKING([whether $NVCC compiles, and how it makes an image small])
cat > conftest.cu <<EOF
extern "C" __global__ void kernel(int *to) { *to = 1; }
EOF
for weft_flags in "--compress-mode=size" "-Xfatbin=-compress-all" ""; do
    AS_IF([test $have_cuda = no &&
           "$NVCC" -std=c++17 -O3 -fmad=false $weft_flags --threads 0 -Xptxas -v -fatbin $NVCC_ARCHES \
               -o conftest.fatbin conftest.cu >&AS_MESSAGE_LOG_FD 2>&1],
        [have_cuda=yes
         NVCC_COMPRESS=$weft_flags])
done
rm -f conftest.cu conftest.fatbin
AS_IF([test $have_cuda = yes], [AC_MSG_RESULT([yes${NVCC_COMPRESS:+, $NVCC_COMPRESS}])], [AC_MSG_RESULT([no])])
])

dnl The least driver for code of this nvcc (CUDA Compatibility, "Minor Version Compatibility"); drivers before CUDA 12.4 cannot read what
dnl --compress-mode makes.
AC_DEFUN([WEFT_LEAST_DRIVER], [
kernel_toolkit=$weft_release
AS_CASE([$weft_release:$NVCC_COMPRESS],
    [13.*], [kernel_driver=580 kernel_cuda=13000],
    [12.*:--compress-mode*], [kernel_driver=550.54 kernel_cuda=12040],
    [12.*], [kernel_driver=525.60 kernel_cuda=12000],
    [11.*], [kernel_driver=450.80 kernel_cuda=11000],
    [kernel_driver= kernel_cuda=0])
])

dnl The simulated driver of the tests is compiled with cuda.h (12.8 or later): beside nvcc, or where it is usual.
AC_DEFUN([WEFT_CUDA_INCLUDE], [
CUDA_INCLUDE=
for weft_folder in ${NVCC:+"$(dirname "$(readlink -f "$NVCC")")/../include"} /usr/local/cuda/include /usr/include; do
    weft_version=$(sed -n 's/^#define CUDA_VERSION //p' "$weft_folder/cuda.h" 2>/dev/null)
    AS_IF([test -z "$CUDA_INCLUDE" && test "${weft_version:-0}" -ge 12080], [CUDA_INCLUDE=$weft_folder])
done
])
