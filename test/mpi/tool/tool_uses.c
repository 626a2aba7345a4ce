/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_T is used by several tools, before, beside and after MPI: sessions do not disturb each other,
 * categories name each variable once, and the last MPI_T_finalize takes all (section 15.3). */
#include "variables.h"

enum { TAG = 4, MANY = 200 };

static void send_self(int count)
{
    int word = 0;
    for (int i = 0; i < count; i++)
        MPI_Sendrecv(&word, 1, MPI_INT, 0, TAG, &word, 1, MPI_INT, 0, TAG, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
}

/* Each session and handle has a value of its own. */
static void check_sessions(void)
{
    MPI_T_pvar_session one, two;
    unsigned long long value = 100;
    EXPECT_T(MPI_T_pvar_session_create(&one));
    EXPECT_T(MPI_T_pvar_session_create(&two));
    MPI_T_pvar_handle a = counter(one, "self_messages_sent"),
                      b = counter(one, "self_messages_sent");
    MPI_T_pvar_handle c = counter(two, "self_messages_sent");
    EXPECT_T(MPI_T_pvar_start(one, a));
    send_self(3);
    EXPECT_T(MPI_T_pvar_start(one, MPI_T_PVAR_ALL_HANDLES)); /* a goes on */
    EXPECT_T(MPI_T_pvar_start(two, c));
    send_self(4);
    EXPECT(pvar_value(one, a), 7);
    EXPECT(pvar_value(one, b), 4);
    EXPECT(pvar_value(two, c), 4);
    EXPECT_T(MPI_T_pvar_reset(one, a));
    EXPECT_T(MPI_T_pvar_stop(two, c));
    send_self(2);
    EXPECT(pvar_value(one, a), 2);
    EXPECT(pvar_value(one, b), 6);
    EXPECT(pvar_value(two, c), 4);
    EXPECT_T(MPI_T_pvar_readreset(one, b, &value));
    EXPECT(value, 6);
    send_self(1);
    EXPECT(pvar_value(one, b), 1);
    value = 100;
    EXPECT_T(MPI_T_pvar_write(one, b, &value));
    EXPECT_T(MPI_T_pvar_write(two, c, &value));
    send_self(1);
    EXPECT(pvar_value(one, b), 101);
    EXPECT(pvar_value(two, c), 100);
    EXPECT_T(MPI_T_pvar_start(two, c));
    send_self(1);
    EXPECT(pvar_value(two, c), 101);
    EXPECT_T(MPI_T_pvar_session_free(&two));
    EXPECT(pvar_value(one, a), 5);
    EXPECT_T(MPI_T_pvar_session_free(&one));
}

static void check_many(void)
{
    MPI_T_pvar_session sessions[MANY];
    MPI_T_pvar_handle handles[MANY];
    for (int i = 0; i < MANY; i++) {
        EXPECT_T(MPI_T_pvar_session_create(&sessions[i]));
        handles[i] = counter(sessions[i], "self_messages_sent");
        EXPECT_T(MPI_T_pvar_start(sessions[i], handles[i]));
        send_self(1);
    }
    for (int i = 0; i < MANY; i++) {
        EXPECT(pvar_value(sessions[i], handles[i]), MANY - i);
        EXPECT_T(MPI_T_pvar_session_free(&sessions[i]));
    }
}

typedef int members_fn(int category, int len, int indices[]);

/* Count in `seen` how often each index belongs to a category. */
static void note_members(members_fn *members, int category, int count, int *seen)
{
    int indices[512];
    memset(indices, -1, sizeof(indices));
    EXPECT_T(members(category, 512, indices));
    for (int i = 0; i < count; i++) {
        EXPECT(indices[i] >= 0 && (i == 0 || indices[i] > indices[i - 1]), 1);
        seen[indices[i]]++;
    }
    EXPECT(indices[count], -1);
    indices[0] = -7;
    EXPECT_T(members(category, 0, indices));
    EXPECT(indices[0], -7);
    if (count > 1) {
        indices[1] = -7;
        EXPECT_T(members(category, 1, indices));
        EXPECT(indices[0] >= 0 && indices[1] == -7, 1);
    }
}

/* Each variable and each event is in one category, each category but the first in one other. */
static void check_categories(void)
{
    int categories, totals[4], stamp, later;
    static int seen[4][512];
    memset(seen, 0, sizeof(seen));
    EXPECT_T(MPI_T_category_changed(&stamp));
    EXPECT_T(MPI_T_category_get_num(&categories));
    EXPECT_T(MPI_T_cvar_get_num(&totals[0]));
    EXPECT_T(MPI_T_pvar_get_num(&totals[1]));
    EXPECT_T(MPI_T_event_get_num(&totals[2]));
    totals[3] = categories;
    for (int i = 0; i < categories; i++) {
        char name[64], help[256];
        int room = sizeof(name), help_room = sizeof(help), counts[4], index;
        EXPECT_T(MPI_T_category_get_info(i, name, &room, help, &help_room, &counts[0], &counts[1],
                                         &counts[3]));
        EXPECT(room, (int)strlen(name) + 1);
        EXPECT_T(MPI_T_category_get_num_events(i, &counts[2]));
        EXPECT_T(MPI_T_category_get_index(name, &index));
        EXPECT(index, i);
        note_members(MPI_T_category_get_cvars, i, counts[0], seen[0]);
        note_members(MPI_T_category_get_pvars, i, counts[1], seen[1]);
        note_members(MPI_T_category_get_events, i, counts[2], seen[2]);
        note_members(MPI_T_category_get_categories, i, counts[3], seen[3]);
    }
    for (int kind = 0; kind < 4; kind++) {
        for (int i = 0; i < totals[kind]; i++)
            EXPECT(seen[kind][i], kind == 3 && i == 0 ? 0 : 1);
    }
    EXPECT_T(MPI_T_category_changed(&later));
    EXPECT(later, stamp);
}

/* What each class may be, and that names are found again. */
static void check_pvars(void)
{
    int count;
    EXPECT_T(MPI_T_pvar_get_num(&count));
    for (int i = 0; i < count; i++) {
        char name[128], help[512];
        int room = sizeof(name), help_room = sizeof(help), verbosity, its_class, bind, readonly,
            continuous, atomic, index;
        MPI_Datatype type;
        MPI_T_enum names;
        EXPECT_T(MPI_T_pvar_get_info(i, name, &room, &verbosity, &its_class, &type, &names, help,
                                     &help_room, &bind, &readonly, &continuous, &atomic));
        EXPECT(strlen(name) > 3 && strlen(help) > 10, 1);
        EXPECT_T(MPI_T_pvar_get_index(name, its_class, &index));
        EXPECT(index, i);
        if (its_class == MPI_T_PVAR_CLASS_STATE)
            EXPECT(type == MPI_INT && names != MPI_T_ENUM_NULL, 1);
        else if (its_class == MPI_T_PVAR_CLASS_PERCENTAGE)
            EXPECT(type == MPI_DOUBLE, 1);
        else
            EXPECT(type == MPI_UNSIGNED_LONG_LONG ||
                       (type == MPI_DOUBLE && its_class == MPI_T_PVAR_CLASS_TIMER),
                   1);
        EXPECT(readonly == continuous && atomic == !readonly, 1);
        EXPECT(bind == MPI_T_BIND_NO_OBJECT || bind == MPI_T_BIND_MPI_COMM, 1);
    }
}

/* Variables without object can be read at any time. */
static void read_all(void)
{
    int count, bind, elements, read = 0;
    MPI_T_pvar_session session;
    EXPECT_T(MPI_T_pvar_get_num(&count));
    EXPECT_T(MPI_T_pvar_session_create(&session));
    for (int i = 0; i < count; i++) {
        MPI_T_pvar_handle handle;
        double value;
        EXPECT_T(MPI_T_pvar_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &bind, NULL,
                                     NULL, NULL));
        if (bind != MPI_T_BIND_NO_OBJECT)
            continue;
        EXPECT_T(MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &elements));
        EXPECT(elements, 1);
        EXPECT_T(MPI_T_pvar_read(session, handle, &value));
        read++;
    }
    EXPECT(read > 50, 1);
    EXPECT_T(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    EXPECT_T(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    EXPECT_T(MPI_T_pvar_session_free(&session));
}

/* A handle bound to MPI_COMM_WORLD, and one bound to nothing, over MPI_Finalize. */
static MPI_T_pvar_handle of_world, of_nothing;

static int finish(MPI_T_pvar_session session)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int *states = calloc((size_t)expect_size, sizeof(int)), count;
    of_world = pvar_handle(session, "comm_transports", MPI_T_PVAR_CLASS_STATE, &world);
    EXPECT_T(MPI_T_pvar_read(session, of_world, states));
    int code = expect_end();
    unsigned long long before = pvar_value(session, of_nothing);
    EXPECT(pvar_value(session, of_nothing), before);
    EXPECT(MPI_T_pvar_read(session, of_world, states), MPI_T_ERR_INVALID_HANDLE);
    EXPECT(MPI_T_pvar_handle_alloc(session, 0, &world, &of_world, &count), MPI_SUCCESS);
    EXPECT(MPI_T_pvar_handle_alloc(session, pvar_index("comm_transports", MPI_T_PVAR_CLASS_STATE),
                                   &world, &of_world, &count),
           MPI_T_ERR_INVALID);
    free(states);
    return code;
}

int main(void)
{
    int provided, number;
    MPI_T_pvar_session session;
    EXPECT_T(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    EXPECT_T(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    EXPECT(provided, MPI_THREAD_MULTIPLE);
    EXPECT_T(MPI_T_finalize());
    check_categories();
    check_pvars();
    read_all();
    EXPECT_T(MPI_T_pvar_session_create(&session));
    of_nothing = counter(session, "self_messages_sent");
    EXPECT_T(MPI_T_pvar_start(session, of_nothing)); /* before MPI_Init */
    MPI_Init(NULL, NULL);
    expect_begin();
    unsigned long long before = pvar_value(session, of_nothing);
    send_self(5);
    EXPECT(pvar_value(session, of_nothing), before + 5);
    check_sessions();
    check_many();
    check_categories();
    read_all();
    EXPECT_T(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    EXPECT_T(MPI_T_finalize());
    int code = finish(session);
    check_categories();
    check_pvars();
    read_all();
    EXPECT_T(MPI_T_finalize()); /* with a session and handles */
    EXPECT(MPI_T_pvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
    EXPECT_T(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    EXPECT(MPI_T_pvar_session_free(&session), MPI_T_ERR_INVALID_SESSION);
    check_categories();
    EXPECT_T(MPI_T_finalize());
    return code != 0 || expect_failures != 0;
}
