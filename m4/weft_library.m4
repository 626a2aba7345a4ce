dnl SPDX-License-Identifier: BSD-3-Clause

dnl WEFT_LIBRARY(name, pkg-config module, Debian package, required | optional)
dnl Offers --with-<name>[=DIR|no] and sets <NAME>_CFLAGS, <NAME>_LIBS, have_<name> (yes, no) and
dnl found_<name> (a text for the summary). What is required and missing ends configure with the
dnl package's name; so does what was asked for by --with-<name>.
AC_DEFUN([WEFT_LIBRARY], [
AC_ARG_WITH([$1],
    [AS_HELP_STRING([--with-$1=DIR], [$1 below DIR (]m4_if([$4], [required], [required], [default: taken if found; no: not looked for])[)])],
    [], [with_$1=auto])
AS_CASE([$with_$1],
    [auto|yes|no], [weft_path=],
    [weft_path=$with_$1/lib/pkgconfig:$with_$1/lib64/pkgconfig:$with_$1/share/pkgconfig:])
have_$1=no
found_$1="no, not looked for (--without-$1)"
AS_IF([test "$with_$1" != no], [
    weft_saved=$PKG_CONFIG_PATH
    PKG_CONFIG_PATH=$weft_path$PKG_CONFIG_PATH
    export PKG_CONFIG_PATH
    PKG_CHECK_MODULES(AS_TR_CPP([$1]), [$2], [have_$1=yes],
        [AS_IF([test m4_if([$4], [required], [yes], ["$with_$1"]) != auto],
               [AC_MSG_ERROR([$1 was not found: install the Debian package $3, or name its place with --with-$1=DIR.])])])
    found_$1="no (the Debian package $3 has it)"
    AS_IF([test $have_$1 = yes],
          [found_$1="yes, $($PKG_CONFIG --modversion $2)"
           AC_DEFINE(AS_TR_CPP([HAVE_$1]), [1], [Found: $1])])
    PKG_CONFIG_PATH=$weft_saved
], m4_if([$4], [required], [[AC_MSG_ERROR([$1 is required: install the Debian package $3.])]], [[:]]))
AC_DEFINE_UNQUOTED(AS_TR_CPP([WEFT_FOUND_$1]), ["$found_$1"], [What configure found of $1])
])
