#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The report at start-up: a host has the cores of all its ranks.
. "$(dirname "$0")/setup.sh"
command -v taskset >/dev/null || exit 77
cores=$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | awk -F- '{ for (i = $1; i <= $NF; i++) print i }')
[ "$(echo "$cores" | wc -l)" -ge 2 ] || exit 77
first=$(echo "$cores" | head -n 1) last=$(echo "$cores" | tail -n 1)

cat >starts.c <<'EOF'
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    return MPI_Finalize();
}
EOF
"$MPICC" -o starts starts.c || fail "starts.c cannot be compiled"

# reports CORES FIRST SECOND: of two ranks, one on each of these cores
reports() {
    expect 0 "$MPIRUN" --report -n 1 taskset -c "$2" ./starts : -n 1 taskset -c "$3" ./starts
    set -- "$1" $(awk '$1 == "host" { getline; print $2, $3 }' err)
    [ "$2 $3" = "2 $1" ] || fail "not 2 ranks and $1 cores, but $2 and $3: $(cat err)"
}
reports 2 "$first" "$last"
reports 1 "$first" "$first"
finish
