#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpirun --simulate-hosts: ranks of different hosts share no memory, the report says what is simulated, and a simulated link is not
# faster than it says.
. "$(dirname "$0")/setup.sh"
cat >shares.c <<'EOF'
/* Each rank prints its host, how many ranks MPI says that share memory with it, and the shared files that it maps. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    char line[512], name[MPI_MAX_PROCESSOR_NAME], all[400] = "";
    int rank, here, length;
    unsigned long inode;
    MPI_Comm host;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Get_processor_name(name, &length);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &here);
    MPI_Allreduce(MPI_IN_PLACE, &rank, 1, MPI_INT, MPI_MAX, host);
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof(line), maps) != NULL) {
        if (strstr(line, " rw-s ") != NULL && sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1)
            snprintf(all + strlen(all), sizeof(all) - strlen(all), " %lu", inode);
    }
    fclose(maps);
    printf("%s %d%s\n", name, here, all);
    MPI_Comm_free(&host);
    MPI_Finalize();
    return 0;
}
EOF
"$MPICC" -O1 -Wall -Wextra -o shares shares.c || exit 1

# hosts TEXT OPTION...: TEXT has hosts and their numbers of ranks, as sort and uniq count them
hosts() {
    wanted=$1
    shift
    for segment in memfd file; do
        expect 0 env WEFT_SHM=$segment "$MPIRUN" "$@" ./shares
        [ "$(cut -d ' ' -f 1 out | sort | uniq -c | tr -s ' ' | tr '\n' ';')" = "$wanted" ] || fail "$*: $(cat out err)"
        while read -r host count files; do
            [ "$count" -eq "$(grep -c "^$host " out)" ] || fail "$*: MPI says that $count share memory: $(cat out)"
            for file in $files; do
                ! grep -v "^$host " out | grep -qw "$file" || fail "$*: another host maps file $file of $host: $(cat out)"
            done
            [ "$count" -eq 1 ] || [ -n "$files" ] || fail "$*: ranks of $host map nothing in common: $(cat out)"
        done <out
    done
}
hosts ' 2 sim0; 2 sim1; 1 sim2;' --simulate-hosts 3 -n 5
hosts ' 1 sim0; 1 sim1; 1 sim2;' --simulate-hosts 3 -n 3
hosts ' 3 sim0; 2 sim1;' --simulate-hosts 0,1 -n 5
hosts ' 3 sim0; 2 sim1;' --simulate-hosts 2 --map-by node -n 5
hosts ' 2 sim0; 2 sim1; 2 sim2;' --simulate-hosts=3 -ppn 2 -n 6
hosts ' 3 sim0;' --simulate-hosts 1 -n 3
# A file JOB.RANK is of a test that runs beside this one.
[ -z "$(find /dev/shm -name 'weft-*' ! -name 'weft-*.[0-9]*' -newer shares.c 2>/dev/null)" ] || fail "left in /dev/shm: $(ls /dev/shm)"

expect 0 "$MPIRUN" --simulate-hosts 2 --simulate-link 10Gbit,20us --report -n 5 ./shares
expect_text err 'weft: 5 ranks on 2 simulated hosts'
expect_text err 'all hosts are simulated on .*: the network has 10Gbit,20us'
expect_text err 'sim1 .* weft-tcp at lo, 10 Gbit/s'
expect 0 "$MPIRUN" --report -n 2 ./shares
! grep -q simulated err || fail "a real host is called simulated: $(cat err)"

# What a link of that latency and bandwidth takes at least: 40 round trips of 2 x 5 ms, 8 MB at 200 Mbit/s
cat >takes.c <<'EOF'
#include <mpi.h>
#include <stdio.h>

int main(void)
{
    enum { TRIPS = 40, BYTES = 8000000 };
    int rank;
    static char data[BYTES];
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int i = 0; i < TRIPS && rank < 2; i++) {
        int token = i, back = -1;
        MPI_Sendrecv(&token, 1, MPI_INT, 1 - rank, 0, &back, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (back != i)
            return 1;
    }
    double middle = MPI_Wtime();
    if (rank == 0)
        MPI_Ssend(data, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Recv(data, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double end = MPI_Wtime();
    if (rank == 1 && (middle - begin < TRIPS * 0.005 || end - middle < 0.3))
        printf("%d exchanges took %g s, %d bytes %g s\n", TRIPS, middle - begin, BYTES, end - middle);
    MPI_Finalize();
    return 0;
}
EOF
"$MPICC" -O1 -Wall -Wextra -o takes takes.c || exit 1
for size in 2 3; do
    expect 0 "$MPIRUN" --simulate-hosts 2 --map-by node --simulate-link 200Mbit,5ms -n $size ./takes
    expect_output ''
done

expect 2 "$MPIRUN" --simulate-hosts many -n 2 ./shares
expect_text err 'wants a number of hosts'
expect 2 "$MPIRUN" --simulate-hosts 2 --simulate-link fast -n 2 ./shares
expect_text err 'wants a bandwidth and perhaps a latency'
expect 1 "$MPIRUN" --simulate-hosts 2 -host nowhere.invalid -n 2 ./shares
expect_text err 'simulate-hosts is for ranks on this host alone'
expect 16 "$MPIRUN" --simulate-hosts 3 -n 2 ./shares
expect_text err 'WEFT_SIMULATE_HOSTS is 3; expected is a number of hosts from 1 to 2'
expect 16 env WEFT_SIMULATE_LINK=fast "$MPIRUN" --simulate-hosts 2 -n 2 ./shares
expect_text err 'WEFT_SIMULATE_LINK is fast; expected is'

# A rank that is killed, and one that aborts
expect 137 "$MPIRUN" --simulate-hosts 3 -n 5 sh -c '[ $RANK -ne 3 ] || kill -9 $$; exec sleep '$nap
"$MPICC" -O1 -Wall -Wextra -o ranks_alone "$SOURCE/test/launch/ranks_alone.c" || exit 1
expect 137 "$MPIRUN" --simulate-hosts 3 -n 5 ./ranks_alone kill 3
expect 7 "$MPIRUN" --simulate-hosts 3 -n 5 ./ranks_alone abort 3
finish
