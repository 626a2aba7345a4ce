/* SPDX-License-Identifier: BSD-3-Clause */
/* A tool's thread reads variables and registers callbacks while other threads communicate, whatever
 * the thread level of MPI: levels as argument, 0 single to 3 multiple. */
#include "variables.h"

#include <pthread.h>
#include <stdatomic.h>

enum { ROUNDS = 300, TAG = 5 };

static atomic_int is_over, heard;

static void hear(MPI_T_event_instance event, MPI_T_event_registration registration,
                 MPI_T_cb_safety safety, void *data)
{
    unsigned long long bytes = 0;
    (void)registration;
    (void)safety;
    (void)data;
    if (MPI_T_event_read(event, 2, &bytes) == MPI_SUCCESS)
        atomic_fetch_add(&heard, 1);
}

/* One look of the tool: handles, values, a registration, a category. */
static void look_around(MPI_T_cb_safety safety)
{
    MPI_T_pvar_session session;
    MPI_T_event_registration registration;
    int index, indices[8], provided;
    EXPECT_T(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    EXPECT_T(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle sent = counter(session, "self_messages_sent");
    MPI_T_pvar_handle most =
        pvar_handle(session, "unexpected_messages_most", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL);
    EXPECT_T(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    EXPECT_T(MPI_T_event_get_index("unexpected_message", &index));
    EXPECT_T(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration));
    EXPECT_T(MPI_T_event_register_callback(registration, safety, MPI_INFO_NULL, NULL, hear));
    unsigned long long before = pvar_value(session, sent);
    EXPECT(pvar_value(session, sent) >= before, 1);
    pvar_value(session, most);
    EXPECT_T(MPI_T_category_get_pvars(2, 8, indices));
    EXPECT_T(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    EXPECT_T(MPI_T_event_handle_free(registration, NULL, NULL));
    EXPECT_T(MPI_T_pvar_session_free(&session));
    EXPECT_T(MPI_T_finalize());
}

static void *watch(void *unused)
{
    do {
        look_around(MPI_T_CB_REQUIRE_THREAD_SAFE);
        look_around(MPI_T_CB_REQUIRE_NONE);
    } while (!atomic_load(&is_over));
    return unused;
}

static void *communicate(void *tag)
{
    int word = 0, own_tag = *(int *)tag;
    MPI_Request request;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Isend(&word, 1, MPI_INT, 0, own_tag, MPI_COMM_SELF, &request);
        MPI_Recv(&word, 1, MPI_INT, 0, own_tag, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return NULL;
}

/* Below MPI_THREAD_MULTIPLE the tool reads words that MPI's thread counts in without a lock. */
#ifdef __SANITIZE_THREAD__
enum { LEAST_LEVEL = 3 };
#else
enum { LEAST_LEVEL = 0 };
#endif

int main(int argc, char **argv)
{
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                 MPI_THREAD_MULTIPLE};
    int level = levels[argc > 1 ? atoi(argv[1]) : 3], provided, tags[] = {TAG, TAG + 1};
    pthread_t watchers[2], second;
    if (argc > 1 && atoi(argv[1]) < LEAST_LEVEL) {
        puts("the thread sanitizer takes this for an error");
        return 77;
    }
    EXPECT_T(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    EXPECT(provided, MPI_THREAD_MULTIPLE);
    MPI_Init_thread(NULL, NULL, level, &provided);
    expect_begin();
    for (int i = 0; i < 2; i++)
        pthread_create(&watchers[i], NULL, watch, NULL);
    if (level == MPI_THREAD_MULTIPLE)
        pthread_create(&second, NULL, communicate, &tags[1]);
    communicate(&tags[0]);
    if (level == MPI_THREAD_MULTIPLE)
        pthread_join(second, NULL);
    for (int i = 0; i < 20; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    atomic_store(&is_over, 1);
    for (int i = 0; i < 2; i++)
        pthread_join(watchers[i], NULL);
    MPI_T_event_registration registration; /* and it still works */
    int index, before = atomic_load(&heard);
    EXPECT_T(MPI_T_event_get_index("unexpected_message", &index));
    EXPECT_T(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration));
    EXPECT_T(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
                                           MPI_INFO_NULL, NULL, hear));
    communicate(&tags[0]);
    EXPECT(atomic_load(&heard) >= before + ROUNDS, 1);
    EXPECT_T(MPI_T_event_handle_free(registration, NULL, NULL));
    int code = expect_end();
    EXPECT_T(MPI_T_finalize());
    return code != 0 || expect_failures != 0;
}
