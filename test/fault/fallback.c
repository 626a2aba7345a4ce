/* SPDX-License-Identifier: BSD-3-Clause */
/* fallback COUNT: so many ranks hear the event `fallback` in MPI_Init, each once, since they may
 * not read the memory of other processes; one of them is told that it has logged a warning. Prints
 * what is wrong, and returns 1. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { NO_READING = 0 };

typedef struct heard {
    int count, logged, others;
} heard_t;

static void hear(MPI_T_event_instance event, MPI_T_event_registration registration,
                 MPI_T_cb_safety safety, void *data)
{
    heard_t *heard = data;
    int what = -1, is_logged = -1;
    (void)registration, (void)safety;
    MPI_T_event_read(event, 0, &what);
    MPI_T_event_read(event, 1, &is_logged);
    heard->count += what == NO_READING;
    heard->others += what != NO_READING;
    heard->logged += is_logged;
}

int main(int argc, char **argv)
{
    heard_t heard = {0};
    int provided, index, rank, totals[2], mine[2], most;
    int expected = argc > 1 ? atoi(argv[1]) : 0;
    MPI_T_event_registration registration;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_event_get_index("fallback", &index);
    MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration);
    MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL,
                                  &heard, hear);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    mine[0] = heard.count;
    mine[1] = heard.logged;
    MPI_Allreduce(mine, totals, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&heard.count, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    int is_wrong = totals[0] != expected || totals[1] != (expected > 0) || most > 1;
    if (is_wrong && rank == 0)
        fprintf(stderr, "%d events of %d ranks, at most %d of a rank, %d logged\n", totals[0],
                expected, most, totals[1]);
    if (heard.others > 0)
        fprintf(stderr, "rank %d: %d other events\n", rank, heard.others);
    MPI_Finalize();
    MPI_T_event_handle_free(registration, NULL, NULL);
    MPI_T_finalize();
    return is_wrong || heard.others > 0;
}
