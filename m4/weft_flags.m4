dnl SPDX-License-Identifier: BSD-3-Clause

dnl WEFT_FLAG(variable, flag): append a flag if the compiler takes it.
AC_DEFUN([WEFT_FLAG], [
AC_MSG_CHECKING([whether $CC takes $2])
weft_saved=$CFLAGS
CFLAGS="$CFLAGS -Werror $2"
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
    [AC_MSG_RESULT([yes]); $1="$$1 $2"],
    [AC_MSG_RESULT([no])])
CFLAGS=$weft_saved
])

dnl WEFT_SANITIZERS: --enable-sanitizers=LIST; sets SANITIZER_FLAGS and sanitizers.
AC_DEFUN([WEFT_SANITIZERS], [
AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers=LIST], [build with -fsanitize=LIST: address,undefined (default if no list is given) or thread])],
    [], [enable_sanitizers=no])
AS_CASE([$enable_sanitizers],
    [no], [SANITIZER_FLAGS=],
    [yes], [enable_sanitizers=address,undefined])
AS_IF([test "$enable_sanitizers" != no],
      [SANITIZER_FLAGS="-fsanitize=$enable_sanitizers -fno-omit-frame-pointer"
       weft_saved=$CFLAGS
       CFLAGS="$CFLAGS $SANITIZER_FLAGS"
       AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [],
           [AC_MSG_ERROR([$CC cannot link with $SANITIZER_FLAGS: give another --enable-sanitizers list or another CC.])])
       CFLAGS=$weft_saved])
AC_SUBST([SANITIZER_FLAGS])
])
