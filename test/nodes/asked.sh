#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Ranks of two hosts ask one another for thousands of large messages at once, in both directions,
# while there is no room to ask: over TCP and over libfabric.
. "$(dirname "$0")/setup_hosts.sh"
"$MPICC" -O1 -Wall -Wextra -o "$work/asked" "$SOURCE/test/nodes/asked.c" || fail "asked.c cannot be compiled"

# asked RANKS WORDS...: with RANKS ranks on each host, and words of mpirun
asked() {
    expect_on 0 --hosts 2 -- sh -c "cd '$work' && exec timeout 60 '$MPIRUN' --launch-agent agent --map-by node -host h1:$1,h2:$1 $2 ./asked"
    [ ! -s out ] && [ ! -s err ] || fail "$2: $(head -c 600 out err)"
}

asked 1
asked 2
if grep -q '^#define HAVE_LIBFABRIC' "$BUILD/config.h"; then
    asked 1 "-x 'WEFT_FABRIC=tcp;ofi_rxm'"
fi
finish
