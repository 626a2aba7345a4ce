dnl SPDX-License-Identifier: BSD-3-Clause

dnl WEFT_CUDA: --with-cuda[=DIR|no]; sets NVCC, have_cuda and found_cuda. Only the compiler is looked
dnl for: the driver is opened at run time, so a build machine needs no GPU.
AC_DEFUN([WEFT_CUDA], [
AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda=DIR], [CUDA below DIR (default: nvcc on PATH or in /usr/local/cuda; no: not looked for)])],
    [], [with_cuda=auto])
have_cuda=no
found_cuda="no, not looked for (--without-cuda)"
AS_IF([test "$with_cuda" != no], [
    AS_CASE([$with_cuda], [auto|yes], [weft_path=$PATH:/usr/local/cuda/bin], [weft_path=$with_cuda/bin])
    AC_PATH_PROG([NVCC], [nvcc], [], [$weft_path])
    found_cuda="no (nvcc is neither on PATH nor in /usr/local/cuda/bin)"
    AS_IF([test -n "$NVCC"],
          [have_cuda=yes
           found_cuda="yes, $("$NVCC" --version | sed -n 's/.*release \(@<:@0-9.@:>@*\).*/\1/p'), $NVCC"
           AC_DEFINE([HAVE_CUDA], [1], [Found: nvcc])],
          [test "$with_cuda" = auto ||
           AC_MSG_ERROR([nvcc was not found below $weft_path: install the CUDA toolkit, or leave --with-cuda out.])])
])
AC_SUBST([NVCC])
AC_DEFINE_UNQUOTED([WEFT_FOUND_CUDA], ["$found_cuda"], [What configure found of CUDA])
])
