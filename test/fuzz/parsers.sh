#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Give random inputs to all that reads what comes from outside: each entry point of this folder is
# compiled with clang's fuzzer and sanitizers, and starts from the inputs of corpus/.
#
#   parsers.sh [WORD...]   entry points whose names contain a word
#   FUZZ_RUNS=10           ten times as many inputs (0.1: a tenth)
#   FUZZ_SEED=7            the same inputs again
#
# The line "fuzz: runs=N most=BYTES of=FOLDERS" in the head of an entry point says how many inputs,
# how long, and which folders of src are compiled for the fuzzer, so that what they do guides it.
: "${SOURCE:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${BUILD:=$SOURCE/build}"
: "${CLANG:=clang}"
: "${FUZZ_RUNS:=1}"
: "${FUZZ_SEED:=$(od -An -N4 -tu4 /dev/urandom | awk '{ print $1 % 1000000 + 1 }')}"
work=$BUILD/test-out/fuzz
library=$BUILD/.libs/libweft.a
checks=address,undefined
failures=0

skip() {
    echo "$*"
    exit 77
}

setting() {
    sed -n "s/^$1 //p" "$BUILD/test/settings"
}

[ -z "$(setting sanitizers)" ] || skip "this build has sanitizers of its own"
mkdir -p "$work/objects" "$work/found" || exit 1
printf '#include <stdint.h>\n#include <stddef.h>\nint LLVMFuzzerTestOneInput(const uint8_t *d, size_t n) { return d[0] && n; }\n' >"$work/empty.c"
"$CLANG" -fsanitize=fuzzer,$checks "$work/empty.c" -o "$work/empty" 2>/dev/null ||
    skip "needs clang with -fsanitize=fuzzer (CLANG names it)"

# The build's compiler may be another one, so only what says where things are is taken from its flags.
paths=$(setting unit_cc | awk '{ for (i = 1; i <= NF; i++) {
    if ($i ~ /^-([DI]|std=|pthread)/) printf "%s ", $i
    if ($i == "-isystem") printf "-isystem %s ", $(i + 1) } }')
compiler="$CLANG $paths -w -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all"
libraries=$(setting unit_libs)

# word NAME FILE: the value of NAME= in the head of an entry point
word() {
    sed -n "s/^.*fuzz: .*$1=\([^ ]*\).*/\1/p" "$2" | head -1
}

# The sources of a folder that this build has in its library; file names are unique in the tree. Those with a prefix are
# compiled with flags of their own, for each instruction set: they stay as the library has them.
members=$(ar t "$library" | grep -v '_la-' | sed 's/\.o$//')
sources_of() {
    for source in "$SOURCE/src/$1"/*.c; do
        name=${source##*/}
        case " $(echo $members) " in
        *" ${name%.c} "*) echo "$source" ;;
        esac
    done
}

# Compile a source for the fuzzer, unless a newer object is there; prints the object's path.
object_of() {
    object=$work/objects/$(basename "$1" .c).o
    if [ ! -e "$object" ] || [ -n "$(find "$SOURCE/src" "$BUILD/config.h" -name '*.[hd]*' -newer "$object" | head -1)" ] ||
        [ "$1" -nt "$object" ]; then
        (cd "$BUILD" && $compiler -fsanitize=fuzzer-no-link,$checks -c "$1" -o "$object") >&2 || return 1
    fi
    echo "$object"
}

# A source that the entry point includes is not linked again.
build() {
    entry=$1
    objects=
    for folder in $(word of "$entry" | tr , ' '); do
        for source in $(sources_of "$folder"); do
            grep -q "#include \"${source#"$SOURCE/src/"}\"" "$entry" && continue
            object=$(object_of "$source") || return 1
            objects="$objects $object"
        done
    done
    (cd "$BUILD" && $compiler -fsanitize=fuzzer,$checks "$entry" $objects "$library" $libraries -o "$work/$name")
}

run() {
    corpus=$work/corpus/$name
    runs=$(echo "$(word runs "$entry") $FUZZ_RUNS" | awk '{ printf "%d", $1 * $2 + 1 }')
    rm -rf "$corpus"
    mkdir -p "$corpus"
    began=$(date +%s)
    # What is found is not kept: the seed gives it again.
    "$work/$name" -runs="$runs" -max_len="$(word most "$entry")" -seed="$FUZZ_SEED" -timeout=20 -rss_limit_mb=4096 \
        -malloc_limit_mb=4096 -close_fd_mask=3 -print_final_stats=1 -artifact_prefix="$work/found/$name-" \
        "$corpus" "$SOURCE/test/fuzz/corpus/$name" >"$work/$name.log" 2>&1
    code=$?
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name.log") inputs in $(($(date +%s) - began)) s"
    [ $code -eq 0 ] || complain
}

complain() {
    failures=$((failures + 1))
    sed -n '/runtime error:\|ERROR:\|^ALARM\|^wrong:/,/^SUMMARY/p' "$work/$name.log" | head -n 40 | cut -c 1-200
    path=$(sed -n 's/^.*Test unit written to //p' "$work/$name.log" | tail -1)
    echo "$name: FAILED (exit code $code) with the input ${path:-(none was written)}"
    echo "  again: ASAN_OPTIONS=$ASAN_OPTIONS $work/$name $path"
}

# Memory that is asked for in vain is a case that is tested, too.
ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=256:detect_leaks=1
LSAN_OPTIONS=suppressions=$SOURCE/test/sanitizers/leak.supp:print_suppressions=0
UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export ASAN_OPTIONS LSAN_OPTIONS UBSAN_OPTIONS
echo "FUZZ_SEED=$FUZZ_SEED FUZZ_RUNS=$FUZZ_RUNS"
for entry in "$SOURCE"/test/fuzz/*_fuzz.c; do
    name=$(basename "$entry" _fuzz.c)
    is_chosen=$([ $# -gt 0 ] && echo no || echo yes)
    for part; do
        case $name in *"$part"*) is_chosen=yes ;; esac
    done
    [ $is_chosen = yes ] || continue
    if ! build "$entry" >"$work/$name.log" 2>&1; then
        cat "$work/$name.log"
        echo "$name: FAILED to compile"
        failures=$((failures + 1))
        continue
    fi
    run
done
[ $failures -eq 0 ]
