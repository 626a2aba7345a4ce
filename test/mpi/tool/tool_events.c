/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that really arrive, in the callback that promises enough; those for callbacks that may
 * call all of MPI wait for the next call of MPI_T, and too many are dropped (MPI 5.0 section
 * 15.3.8). */
#include "variables.h"

enum { TAG = 9, SOME = 4, MOST_KEPT = 256, FLOOD = 300 };

typedef struct heard {
    int count, safety, dropped_calls, frees;
    long long dropped;
    int ints[4];
    unsigned long long numbers[4];
    MPI_Count first_time, last_time;
    int nested;                   /* functions of MPI_T that worked within the callback */
    MPI_T_event_registration own; /* to be freed within the callback; NULL: not so */
} heard_t;

/* What a tool may do within a callback, and what it may not. */
static void try_within(MPI_T_event_instance event, heard_t *heard)
{
    int count = 0, source = -1;
    MPI_Count now = 0;
    char copy[256], other[256];
    heard->nested += MPI_T_event_get_num(&count) == MPI_SUCCESS && count > 0;
    heard->nested += MPI_T_event_get_source(event, &source) == MPI_SUCCESS && source == 0;
    heard->nested += MPI_T_source_get_timestamp(0, &now) == MPI_SUCCESS && now >= heard->last_time;
    memset(copy, 1, sizeof(copy));
    memset(other, 2, sizeof(other));
    heard->nested += MPI_T_event_copy(event, copy) == MPI_SUCCESS &&
                     MPI_T_event_copy(event, other) == MPI_SUCCESS &&
                     memcmp(copy, other, sizeof(int)) == 0 && copy[255] == 1 && other[255] == 2;
    EXPECT(MPI_T_event_read(event, -1, copy), MPI_T_ERR_INVALID_INDEX);
    EXPECT(MPI_T_event_read(event, 99, copy), MPI_T_ERR_INVALID_INDEX);
    EXPECT(MPI_T_event_read(event, 0, NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_event_copy(event, NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_event_get_timestamp(event, NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_event_get_source(event, NULL), MPI_T_ERR_INVALID);
}

static void note_time(MPI_T_event_instance event, heard_t *heard)
{
    MPI_Count time = -1;
    EXPECT_T(MPI_T_event_get_timestamp(event, &time));
    EXPECT(time >= heard->last_time, 1);
    if (heard->count == 0)
        heard->first_time = time;
    heard->last_time = time;
}

static void free_is_over(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    heard_t *heard = data;
    (void)registration;
    (void)safety;
    heard->frees++;
}

/* unexpected_message: int source, int tag, unsigned long long bytes, queued */
static void hear_message(MPI_T_event_instance event, MPI_T_event_registration registration,
                         MPI_T_cb_safety safety, void *data)
{
    heard_t *heard = data;
    int source, tag;
    EXPECT_T(MPI_T_event_read(event, 1, &tag));
    if (tag != TAG)
        return; /* of a collective */
    note_time(event, heard);
    EXPECT_T(MPI_T_event_read(event, 0, &source));
    EXPECT_T(MPI_T_event_read(event, 2, &heard->numbers[0]));
    EXPECT_T(MPI_T_event_read(event, 3, &heard->numbers[1]));
    heard->ints[0] = source;
    heard->safety = (int)safety;
    if (heard->count++ == 0)
        try_within(event, heard);
    if (heard->own != NULL) {
        EXPECT(registration == heard->own, 1);
        EXPECT_T(MPI_T_event_handle_free(registration, heard, free_is_over));
        heard->own = NULL;
    }
}

/* comm_created: unsigned long long handle, int rank, size, remote_size; this one calls MPI. */
static void hear_comm(MPI_T_event_instance event, MPI_T_event_registration registration,
                      MPI_T_cb_safety safety, void *data)
{
    heard_t *heard = data;
    int size = -1;
    (void)registration;
    note_time(event, heard);
    EXPECT_T(MPI_T_event_read(event, 0, &heard->numbers[0]));
    for (int i = 1; i < 4; i++)
        EXPECT_T(MPI_T_event_read(event, i, &heard->ints[i]));
    heard->safety = (int)safety;
    heard->count++;
    if (safety == MPI_T_CB_REQUIRE_NONE)
        EXPECT(MPI_Comm_size(MPI_COMM_SELF, &size), MPI_SUCCESS);
}

static void count_event(MPI_T_event_instance event, MPI_T_event_registration registration,
                        MPI_T_cb_safety safety, void *data)
{
    heard_t *heard = data;
    (void)registration;
    note_time(event, heard);
    EXPECT_T(MPI_T_event_read(event, 0, &heard->ints[0]));
    heard->safety = (int)safety;
    heard->count++;
}

static void hear_dropped(MPI_Count count, MPI_T_event_registration registration, int source,
                         MPI_T_cb_safety safety, void *data)
{
    heard_t *heard = data;
    (void)registration;
    EXPECT(source, 0);
    EXPECT(safety, MPI_T_CB_REQUIRE_NONE);
    heard->dropped += count;
    heard->dropped_calls++;
}

static MPI_T_event_registration listen_to(const char *name, MPI_Comm *comm)
{
    int index = -1;
    MPI_T_event_registration registration = NULL;
    EXPECT_T(MPI_T_event_get_index(name, &index));
    EXPECT_T(MPI_T_event_handle_alloc(index, comm, MPI_INFO_NULL, &registration));
    return registration;
}

static void call(MPI_T_event_registration registration, MPI_T_cb_safety safety,
                 MPI_T_event_cb_function *callback, heard_t *heard)
{
    EXPECT_T(MPI_T_event_register_callback(registration, safety, MPI_INFO_NULL, heard, callback));
}

/* Messages of the rank to itself, that are received only afterwards. */
static void send_self(int count)
{
    int word = 0;
    MPI_Request requests[FLOOD];
    for (int i = 0; i < count; i++)
        MPI_Isend(&word, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < count; i++)
        MPI_Recv(&word, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static void check_at_once(void)
{
    heard_t heard = {.count = 0}, other = {.count = 0};
    MPI_T_event_registration registration = listen_to("unexpected_message", NULL);
    MPI_Count before, after;
    send_self(SOME); /* nobody listens yet */
    call(registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, hear_message, &other);
    call(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, hear_message, &heard);
    call(registration, MPI_T_CB_REQUIRE_NONE, hear_message, &other);
    EXPECT_T(MPI_T_source_get_timestamp(0, &before));
    send_self(SOME);
    EXPECT_T(MPI_T_source_get_timestamp(0, &after));
    EXPECT(heard.count, SOME); /* the one that promises least, of those that promise enough */
    EXPECT(other.count, 0);
    EXPECT(heard.safety, MPI_T_CB_REQUIRE_MPI_RESTRICTED);
    EXPECT(heard.ints[0], expect_rank);
    EXPECT(heard.numbers[0], sizeof(int));
    EXPECT(heard.numbers[1] >= SOME, 1);
    EXPECT(heard.nested, 4);
    EXPECT(before <= heard.first_time && heard.last_time <= after, 1);
    call(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, NULL, NULL);
    send_self(1);
    EXPECT(heard.count, SOME);
    EXPECT(other.count, 1); /* the next that promises enough */
    EXPECT_T(MPI_T_event_handle_free(registration, &heard, free_is_over));
    EXPECT(heard.frees, 1);
    send_self(1);
    EXPECT(other.count, 1);
}

/* Callbacks that may call all of MPI get their events later, with the time when they happened. */
static void check_later(void)
{
    heard_t heard = {.count = 0};
    MPI_T_event_registration registration = listen_to("unexpected_message", NULL);
    MPI_Count before;
    EXPECT_T(MPI_T_event_set_dropped_handler(registration, hear_dropped));
    call(registration, MPI_T_CB_REQUIRE_NONE, hear_message, &heard);
    send_self(SOME);
    EXPECT(heard.count, 0);
    EXPECT_T(MPI_T_source_get_timestamp(0, &before));
    EXPECT(heard.count, SOME);
    EXPECT(heard.safety, MPI_T_CB_REQUIRE_NONE);
    EXPECT(heard.last_time <= before, 1);
    EXPECT(heard.dropped_calls, 0);
    MPI_Barrier(MPI_COMM_WORLD); /* so that no other unexpected message can come */
    EXPECT_T(MPI_T_source_get_timestamp(0, &before));
    int earlier = heard.count;
    send_self(FLOOD);
    EXPECT_T(MPI_T_source_get_timestamp(0, &before));
    EXPECT(heard.count, earlier + MOST_KEPT);
    EXPECT(heard.dropped, FLOOD - MOST_KEPT);
    EXPECT(heard.dropped_calls, 1);
    earlier = heard.count;
    send_self(SOME); /* they come before the registration goes */
    EXPECT_T(MPI_T_event_handle_free(registration, &heard, free_is_over));
    EXPECT(heard.count, earlier + SOME);
    EXPECT(heard.frees, 1);
    send_self(SOME);
    EXPECT_T(MPI_T_source_get_timestamp(0, &before));
    EXPECT(heard.count, earlier + SOME);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A callback may free its own registration; others of the type still hear the event. */
static void check_freed_within(void)
{
    heard_t first = {.count = 0}, second = {.count = 0}, third = {.count = 0};
    MPI_T_event_registration registrations[] = {listen_to("unexpected_message", NULL),
                                                listen_to("unexpected_message", NULL),
                                                listen_to("unexpected_message", NULL)};
    call(registrations[0], MPI_T_CB_REQUIRE_THREAD_SAFE, hear_message, &first);
    call(registrations[1], MPI_T_CB_REQUIRE_THREAD_SAFE, hear_message, &second);
    call(registrations[2], MPI_T_CB_REQUIRE_THREAD_SAFE, hear_message, &third);
    second.own = registrations[1];
    send_self(SOME);
    EXPECT(first.count, SOME);
    EXPECT(second.count, 1);
    EXPECT(second.frees, 1);
    EXPECT(third.count, SOME);
    EXPECT(MPI_T_event_handle_free(registrations[1], NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    EXPECT_T(MPI_T_event_handle_free(registrations[0], NULL, NULL));
    EXPECT_T(MPI_T_event_handle_free(registrations[2], NULL, NULL));
}

static void check_comms(void)
{
    heard_t created = {.count = 0}, freed = {.count = 0};
    MPI_T_event_registration births = listen_to("comm_created", NULL);
    MPI_T_event_registration deaths = listen_to("comm_freed", NULL);
    MPI_Comm comm, part;
    int events;
    call(births, MPI_T_CB_REQUIRE_MPI_RESTRICTED, hear_comm, &created);
    call(deaths, MPI_T_CB_REQUIRE_MPI_RESTRICTED, count_event, &freed);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    EXPECT(created.count, 1);
    EXPECT(created.numbers[0], (unsigned long long)(size_t)comm);
    EXPECT(created.ints[1], expect_rank);
    EXPECT(created.ints[2], expect_size);
    EXPECT(created.ints[3], 0);
    MPI_Comm_split(comm, expect_rank == 0 ? MPI_UNDEFINED : 1, -expect_rank, &part);
    EXPECT(created.count, expect_rank == 0 ? 1 : 2);
    if (part != MPI_COMM_NULL) {
        EXPECT(created.ints[1], expect_size - 1 - expect_rank);
        EXPECT(created.ints[2], expect_size - 1);
        MPI_Comm_free(&part);
    }
    EXPECT(freed.count, expect_rank == 0 ? 0 : 1);
    MPI_Comm_free(&comm);
    EXPECT(freed.count, expect_rank == 0 ? 1 : 2);
    call(births, MPI_T_CB_REQUIRE_MPI_RESTRICTED, NULL, NULL);
    call(births, MPI_T_CB_REQUIRE_NONE, hear_comm, &created); /* calls MPI */
    int before = created.count;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    EXPECT(created.count, before);
    EXPECT_T(MPI_T_event_get_num(&events));
    EXPECT(created.count, before + 1);
    EXPECT(created.safety, MPI_T_CB_REQUIRE_NONE);
    MPI_Comm_free(&comm);
    EXPECT_T(MPI_T_event_handle_free(births, NULL, NULL));
    EXPECT_T(MPI_T_event_handle_free(deaths, NULL, NULL));
}

static void check_intercomm(void)
{
    heard_t created = {.count = 0};
    MPI_Comm part, inter;
    int odd = expect_rank % 2;
    if (expect_size < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, odd, 0, &part);
    MPI_T_event_registration births = listen_to("comm_created", NULL);
    call(births, MPI_T_CB_REQUIRE_MPI_RESTRICTED, hear_comm, &created);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, 1 - odd, TAG, &inter);
    EXPECT(created.count, 1);
    EXPECT(created.numbers[0], (unsigned long long)(size_t)inter);
    EXPECT(created.ints[2], odd ? expect_size / 2 : (expect_size + 1) / 2);
    EXPECT(created.ints[3], odd ? (expect_size + 1) / 2 : expect_size / 2);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&part);
    EXPECT_T(MPI_T_event_handle_free(births, NULL, NULL));
}

/* Bound to one communicator: its collectives are heard, those of another are not. */
static void check_bound(void)
{
    heard_t heard = {.count = 0};
    MPI_Comm comm, other;
    int in = 1, out, variable;
    char name[128] = "";
    int room = sizeof(name);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_T_event_registration chosen = listen_to("algorithm_chosen", &comm);
    call(chosen, MPI_T_CB_REQUIRE_MPI_RESTRICTED, count_event, &heard);
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, other);
    EXPECT(heard.count, 0);
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm); /* the plan is kept */
    EXPECT(heard.count, 1);
    variable = heard.ints[0];
    EXPECT_T(MPI_T_pvar_get_info(variable, name, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                 NULL, NULL, NULL));
    EXPECT(strncmp(name, "coll_allreduce_", 15), 0);
    MPI_Comm_free(&comm);
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, other);
    EXPECT(heard.count, 1);
    MPI_Comm_free(&other);
    EXPECT_T(MPI_T_event_handle_free(chosen, NULL, NULL));
}

/* More unexpected data than WEFT_UNEXPECTED_MAX, which a tool sets here: senders have to ask. */
static void check_throttle(void)
{
    heard_t heard = {.count = 0};
    unsigned long before, little = 1;
    MPI_T_cvar_handle most = cvar_handle("WEFT_UNEXPECTED_MAX");
    MPI_T_event_registration throttle = listen_to("throttle", NULL);
    MPI_T_pvar_session session;
    int state = -1, word = 0;
    MPI_Request request;
    EXPECT_T(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle throttled =
        pvar_handle(session, "senders_throttled", MPI_T_PVAR_CLASS_STATE, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_T(MPI_T_cvar_read(most, &before));
    EXPECT_T(MPI_T_cvar_write(most, &little));
    call(throttle, MPI_T_CB_REQUIRE_MPI_RESTRICTED, count_event, &heard);
    MPI_Isend(&word, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, &request);
    EXPECT(heard.count > 0, 1);
    EXPECT(heard.ints[0], 1);
    EXPECT_T(MPI_T_pvar_read(session, throttled, &state));
    EXPECT(state, 1);
    EXPECT_T(MPI_T_cvar_write(most, &before));
    MPI_Recv(&word, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(heard.ints[0], 0);
    EXPECT_T(MPI_T_pvar_read(session, throttled, &state));
    EXPECT(state, 0);
    EXPECT_T(MPI_T_event_handle_free(throttle, NULL, NULL));
    EXPECT_T(MPI_T_cvar_handle_free(&most));
    EXPECT_T(MPI_T_pvar_session_free(&session));
}

static void check_types(void)
{
    int types = 0, sources = 0;
    EXPECT_T(MPI_T_event_get_num(&types));
    EXPECT(types >= 5, 1);
    for (int i = 0; i < types; i++) {
        char name[128], help[512];
        int room = sizeof(name), help_room = sizeof(help), verbosity, elements = 16, bind, index,
            items;
        MPI_Datatype datatypes[16];
        MPI_Aint offsets[16], end = 0;
        MPI_T_enum names;
        MPI_Info info;
        EXPECT_T(MPI_T_event_get_info(i, name, &room, &verbosity, datatypes, offsets, &elements,
                                      &names, &info, help, &help_room, &bind));
        EXPECT(room, (int)strlen(name) + 1);
        EXPECT(elements > 0 && elements <= 16, 1);
        EXPECT_T(MPI_T_enum_get_info(names, &items, NULL, NULL));
        EXPECT(items, elements);
        for (int k = 0; k < elements; k++) {
            EXPECT(offsets[k] >= end, 1);
            end = offsets[k] + (MPI_Aint)(datatypes[k] == MPI_INT ? 4 : 8);
            EXPECT(datatypes[k] == MPI_INT || datatypes[k] == MPI_UNSIGNED_LONG_LONG, 1);
        }
        EXPECT(bind == MPI_T_BIND_NO_OBJECT || bind == MPI_T_BIND_MPI_COMM, 1);
        EXPECT_T(MPI_T_event_get_index(name, &index));
        EXPECT(index, i);
        MPI_Info_free(&info);
        int one = 1; /* fewer than there are: the rest of the arrays is the tool's */
        datatypes[1] = MPI_DOUBLE;
        EXPECT_T(MPI_T_event_get_info(i, NULL, NULL, NULL, datatypes, NULL, &one, NULL, NULL, NULL,
                                      NULL, NULL));
        EXPECT(one, elements);
        EXPECT(datatypes[1] == MPI_DOUBLE, 1);
    }
    EXPECT_T(MPI_T_source_get_num(&sources));
    EXPECT(sources, 1);
    MPI_Count ticks, most, now;
    MPI_T_source_order order;
    MPI_Info info;
    EXPECT_T(MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, &order, &ticks, &most, &info));
    EXPECT_T(MPI_T_source_get_timestamp(0, &now));
    EXPECT(ticks, 1000000000);
    EXPECT(now > 0 && now < most, 1);
    MPI_Info_free(&info);
}

int main(void)
{
    int provided;
    heard_t ways = {.count = 0};
    EXPECT_T(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    MPI_T_event_registration transports = listen_to("transport_chosen", NULL);
    call(transports, MPI_T_CB_REQUIRE_MPI_RESTRICTED, count_event, &ways);
    MPI_Init(NULL, NULL);
    expect_begin();
    EXPECT(ways.count >= 1, 1); /* to itself at least */
    MPI_Barrier(MPI_COMM_WORLD);
    if (expect_ranks_here(expect_size - 1) == expect_size)
        EXPECT(ways.count, expect_size);
    EXPECT_T(MPI_T_event_handle_free(transports, NULL, NULL));
    check_types();
    check_at_once();
    check_later();
    check_freed_within();
    check_comms();
    check_intercomm();
    check_bound();
    check_throttle();
    int code = expect_end();
    check_types();
    EXPECT_T(MPI_T_finalize());
    return code != 0 || expect_failures != 0;
}
