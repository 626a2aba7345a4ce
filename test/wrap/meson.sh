#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Meson takes the highest version of MPI among the wrappers that it finds: with Weft first in PATH it
# finds Weft's for C and C++, and no Fortran, whatever lies behind.
set -eu
command -v meson >/dev/null || {
    echo "needs meson"
    exit 77
}
. "$SOURCE/test/wrap/stage"
. "$SOURCE/test/wrap/other_mpi"
cat > "$place/meson.build" <<'E2'
project('uses_mpi', 'c', 'cpp')
foreach language : ['c', 'cpp', 'fortran']
  if language != 'fortran' or add_languages('fortran', native: false, required: false)
    mpi = dependency('mpi', language: language, method: 'config-tool', required: false)
    message('found:', language, mpi.found() ? mpi.version() : 'none')
  endif
endforeach
E2
meson setup "$place/out" "$place" > "$place/log" 2>&1 || {
    cat "$place/log"
    exit 1
}
if ! grep -q 'found: c [0-9]' "$place/log" || ! grep -q 'found: cpp [0-9]' "$place/log" ||
    grep -q 'found: .* 99.9.9\|found: fortran [0-9]' "$place/log"; then
    echo "Meson took another MPI:"
    grep 'found: ' "$place/log"
    exit 1
fi
