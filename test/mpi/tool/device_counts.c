/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives with device memory are counted by their method, and messages of device memory like
 * any others. */
#include "variables.h"
#include "../memory_kinds.h"

enum { CALLS = 3, WORDS = 100, TAG = 1 };

int main(void)
{
    static const char *const methods[] = {"multicast",    "ll",  "direct",
                                          "hierarchical", "p2p", "staged"};
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handles[6];
    int provided, values[WORDS];
    EXPECT_T(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    MPI_Init(NULL, NULL);
    expect_begin();
    memory_begin(expect_rank);
    char kind = memory_next_kind();
    void *in = memory_take(kind, sizeof(values)), *out = memory_take(kind, sizeof(values));
    for (int i = 0; i < WORDS; i++)
        values[i] = i;
    memory_put(kind, in, values, sizeof(values));
    EXPECT_T(MPI_T_pvar_session_create(&session));
    for (int i = 0; i < 6; i++) {
        char name[64];
        snprintf(name, sizeof(name), "device_calls_%s", methods[i]);
        handles[i] = counter(session, name);
    }
    MPI_T_pvar_handle sent = counter(session, "self_messages_sent");
    MPI_T_pvar_handle bytes =
        pvar_handle(session, "self_bytes_received", MPI_T_PVAR_CLASS_AGGREGATE, NULL);
    EXPECT_T(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    MPI_Sendrecv(in, WORDS, MPI_INT, 0, TAG, out, WORDS, MPI_INT, 0, TAG, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    EXPECT(pvar_value(session, sent), 1);
    EXPECT(pvar_value(session, bytes), sizeof(values));
    for (int i = 0; i < CALLS; i++)
        MPI_Allreduce(in, out, WORDS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    memory_get(kind, values, out, sizeof(values));
    EXPECT(values[WORDS - 1], (WORDS - 1) * expect_size);
    unsigned long long own = 0, all = 0;
    for (int i = 0; i < 6; i++)
        own += pvar_value(session, handles[i]);
    EXPECT(own <= CALLS, 1);
    MPI_Allreduce(&own, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (memory_is_device(kind)) /* one rank for all, or each rank */
        EXPECT(all >= CALLS && all <= (unsigned)(CALLS * expect_size), 1);
    else
        EXPECT(all, 0);
    EXPECT_T(MPI_T_pvar_session_free(&session));
    memory_give(kind, in);
    memory_give(kind, out);
    int code = expect_end();
    EXPECT_T(MPI_T_finalize());
    return code != 0 || expect_failures != 0;
}
