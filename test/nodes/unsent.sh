#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Over a network, too, a message whose sender has called MPI_Finalize is named, and the job ends.
. "$(dirname "$0")/setup_hosts.sh"
"$MPICC" -O1 -Wall -Wextra -pthread -o "$work/unsent" "$SOURCE/test/fault/unsent.c" || fail "unsent.c cannot be compiled"

# over FABRIC: all cases, in one cluster; HOW.code and HOW.text of each
over() {
    cat >all <<EOT
for how in recv silent any bcast probe returned early waitany any_late again left; do
    timeout -k 1 30 '$MPIRUN' --launch-agent agent --map-by node -host h1:2,h2:2 -np 4 \$FABRIC -x WEFT_UNRECEIVED_AFTER=1 ./unsent \$how >\$how.text 2>&1 </dev/null
    echo \$? >\$how.code
done
EOT
    FABRIC=$1
    export FABRIC
    expect_on 0 --hosts 2 -- sh -c "cd '$work' && sh all"
    for how in recv silent any bcast probe; do
        [ "$(cat $how.code)" -eq 16 ] || fail "$1 $how: exit code $(cat $how.code), expected 16: $(head -c 300 $how.text)"
        expect_text $how.text 'no message.* from [anyrk 3]* of MPI_COMM_WORLD will ever come: .* called MPI_Finalize'
    done
    for how in returned early waitany any_late again left; do
        [ "$(cat $how.code)" -eq 0 ] && [ ! -s $how.text ] || fail "$1 $how: exit code $(cat $how.code), expected 0: $(head -c 300 $how.text)"
    done
}

over ''
if grep -q '^#define HAVE_LIBFABRIC' "$BUILD/config.h"; then
    over '-x WEFT_FABRIC=tcp;ofi_rxm'
fi
finish
