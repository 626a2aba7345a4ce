#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Over a network, too, a message whose receiver has called MPI_Finalize is named, and the job ends.
. "$(dirname "$0")/setup_hosts.sh"
"$MPICC" -O1 -Wall -Wextra -o "$work/unreceived" "$SOURCE/test/fault/unreceived.c" || fail "unreceived.c cannot be compiled"

# over FABRIC: all cases, in one cluster; HOW.code and HOW.text of each
over() {
    cat >all <<EOT
for how in isend freed mutual returned late early cancel; do
    timeout -k 1 30 '$MPIRUN' --launch-agent agent --map-by node -host h1:2,h2:2 -np 4 \$FABRIC -x WEFT_UNRECEIVED_AFTER=1 ./unreceived \$how >\$how.text 2>&1 </dev/null
    echo \$? >\$how.code
done
EOT
    FABRIC=$1
    export FABRIC
    expect_on 0 --hosts 2 -- sh -c "cd '$work' && sh all"
    for how in isend freed mutual; do
        [ "$(cat $how.code)" -eq 16 ] || fail "$1 $how: exit code $(cat $how.code), expected 16: $(head -c 300 $how.text)"
        expect_text $how.text 'to rank [03] of [MPI_COMWRLDthe ring]* will never be received: that rank has called MPI_Finalize'
    done
    for how in returned late early cancel; do
        [ "$(cat $how.code)" -eq 0 ] && [ ! -s $how.text ] || fail "$1 $how: exit code $(cat $how.code), expected 0: $(head -c 300 $how.text)"
    done
}

over ''
if grep -q '^#define HAVE_LIBFABRIC' "$BUILD/config.h"; then
    over '-x WEFT_FABRIC=tcp;ofi_rxm'
fi
finish
