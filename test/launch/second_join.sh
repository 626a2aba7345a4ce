#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Programs that a rank runs: another MPI program cannot join as that rank between MPI_Init and MPI_Finalize, and says so;
# before and after it can, and mpirun can be run at any time.
. "$(dirname "$0")/setup.sh"
printf '#include <mpi.h>\nint main(void) { return MPI_Init(0, 0) || MPI_Finalize(); }\n' >inits.c
cat >parent.c <<'EOF'
/* parent BEFORE DURING AFTER: each rank runs these commands before MPI_Init, between the calls, and after MPI_Finalize,
 * and rank 1 prints how they ended. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, codes[3], before;
    if (argc != 4)
        return 99;
    before = system(argv[1]);
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    codes[1] = system(argv[2]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    codes[2] = system(argv[3]);
    codes[0] = before;
    for (int i = 0; i < 3 && rank == 1; i++)
        printf("%d%s", codes[i], i < 2 ? " " : "\n");
    return 0;
}
EOF
for program in inits parent; do
    "${MPICC:-$BUILD/tools/mpicc}" -Wall -Wextra -o $program $program.c || exit 1
done

# parents BEFORE DURING AFTER: the three codes go to the file out
parents() {
    expect 0 "$MPIRUN" -n 2 ./parent "$@"
    expect_output "0 0 0"
}

parents ./inits '[ $RANK -eq 0 ] || { timeout 20 ./inits 2>refusal; [ $? -eq 16 ]; }' ./inits
expect_text refusal 'this program was started by rank 1 (process [0-9]*) of a running MPI program'
parents true 'timeout 20 ./inits 2>refusal; [ $? -eq 16 ]' true
[ ! -s err ] || fail "printed: $(cat err)"
parents true "timeout 50 '$MPIRUN' -n 2 ./inits" true
parents true 'env -u PMIX_RANK timeout 20 ./inits' true
parents true "'$MPIRUN' -n 2 sh -c 'exit \${#WEFT_RANK_PROCESS}'" '! env | grep WEFT_RANK_PROCESS'

# MPI programs one after the other, from a shell
expect 0 "$MPIRUN" -n 2 sh -c './inits && ./inits && ./parent true true true'
finish
