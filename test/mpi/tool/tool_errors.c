/* SPDX-License-Identifier: BSD-3-Clause */
/* Each wrong argument of MPI_T gives the error of the standard (MPI 5.0 section 15.3.10), without
 * an error handler, and outputs that are NULL are left out where the standard says so. */
#include "variables.h"

static int some_memory[64]; /* no handle, but memory that can be read */

#define BAD(type) ((type)(void *)some_memory)

static void check_closed_variables(void)
{
    int number, count;
    char buffer[8];
    MPI_T_enum names = MPI_T_ENUM_NULL;
    MPI_T_cvar_handle cvar = MPI_T_CVAR_HANDLE_NULL;
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle pvar = MPI_T_PVAR_HANDLE_NULL;
    const int closed = MPI_T_ERR_NOT_INITIALIZED;
    EXPECT(MPI_T_finalize(), closed);
    EXPECT(MPI_T_enum_get_info(names, &number, NULL, NULL), closed);
    EXPECT(MPI_T_enum_get_item(names, 0, &number, NULL, NULL), closed);
    EXPECT(MPI_T_cvar_get_num(&number), closed);
    EXPECT(MPI_T_cvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), closed);
    EXPECT(MPI_T_cvar_get_index("WEFT_LOG", &number), closed);
    EXPECT(MPI_T_cvar_handle_alloc(0, NULL, &cvar, &count), closed);
    EXPECT(MPI_T_cvar_handle_free(&cvar), closed);
    EXPECT(MPI_T_cvar_read(cvar, buffer), closed);
    EXPECT(MPI_T_cvar_write(cvar, buffer), closed);
    EXPECT(MPI_T_pvar_get_num(&number), closed);
    EXPECT(MPI_T_pvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                               NULL),
           closed);
    EXPECT(MPI_T_pvar_get_index("waits", MPI_T_PVAR_CLASS_COUNTER, &number), closed);
    EXPECT(MPI_T_pvar_session_create(&session), closed);
    EXPECT(MPI_T_pvar_session_free(&session), closed);
    EXPECT(MPI_T_pvar_handle_alloc(session, 0, NULL, &pvar, &count), closed);
    EXPECT(MPI_T_pvar_handle_free(session, &pvar), closed);
    EXPECT(MPI_T_pvar_start(session, pvar), closed);
    EXPECT(MPI_T_pvar_stop(session, pvar), closed);
    EXPECT(MPI_T_pvar_read(session, pvar, buffer), closed);
    EXPECT(MPI_T_pvar_write(session, pvar, buffer), closed);
    EXPECT(MPI_T_pvar_reset(session, pvar), closed);
    EXPECT(MPI_T_pvar_readreset(session, pvar, buffer), closed);
}

static void check_closed_events(void)
{
    int number;
    char buffer[8];
    MPI_Count ticks;
    MPI_T_event_registration registration = NULL;
    MPI_Info info;
    const int closed = MPI_T_ERR_NOT_INITIALIZED;
    EXPECT(MPI_T_source_get_num(&number), closed);
    EXPECT(MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), closed);
    EXPECT(MPI_T_source_get_timestamp(0, &ticks), closed);
    EXPECT(MPI_T_event_get_num(&number), closed);
    EXPECT(
        MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        closed);
    EXPECT(MPI_T_event_get_index("throttle", &number), closed);
    EXPECT(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &registration), closed);
    EXPECT(MPI_T_event_handle_set_info(registration, MPI_INFO_NULL), closed);
    EXPECT(MPI_T_event_handle_get_info(registration, &info), closed);
    EXPECT(MPI_T_event_handle_free(registration, NULL, NULL), closed);
    EXPECT(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL,
                                         NULL),
           closed);
    EXPECT(MPI_T_event_callback_set_info(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL),
           closed);
    EXPECT(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_NONE, &info), closed);
    EXPECT(MPI_T_event_set_dropped_handler(registration, NULL), closed);
    EXPECT(MPI_T_event_read(NULL, 0, buffer), closed);
    EXPECT(MPI_T_event_copy(NULL, buffer), closed);
    EXPECT(MPI_T_event_get_timestamp(NULL, &ticks), closed);
    EXPECT(MPI_T_event_get_source(NULL, &number), closed);
}

static void check_closed(void)
{
    int number;
    const int closed = MPI_T_ERR_NOT_INITIALIZED;
    check_closed_variables();
    check_closed_events();
    EXPECT(MPI_T_category_get_num(&number), closed);
    EXPECT(MPI_T_category_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL), closed);
    EXPECT(MPI_T_category_get_index("shm", &number), closed);
    EXPECT(MPI_T_category_get_num_events(0, &number), closed);
    EXPECT(MPI_T_category_get_cvars(0, 0, NULL), closed);
    EXPECT(MPI_T_category_get_pvars(0, 0, NULL), closed);
    EXPECT(MPI_T_category_get_events(0, 0, NULL), closed);
    EXPECT(MPI_T_category_get_categories(0, 0, NULL), closed);
    EXPECT(MPI_T_category_changed(&number), closed);
}

static void check_open(void)
{
    int provided = -1;
    EXPECT(MPI_T_init_thread(MPI_THREAD_SINGLE, NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_init_thread(-5, &provided), MPI_T_ERR_INVALID);
    EXPECT(provided, -1);
    EXPECT(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
    EXPECT_T(MPI_T_init_thread(MPI_THREAD_FUNNELED, &provided));
    EXPECT(provided >= MPI_THREAD_FUNNELED, 1);
}

static void check_enums(void)
{
    int index, number, room = -1;
    MPI_T_enum names;
    char name[16];
    EXPECT_T(MPI_T_cvar_get_index("WEFT_CMA", &index));
    EXPECT_T(MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, &names, NULL, NULL, NULL, NULL));
    EXPECT(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &number, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    EXPECT(MPI_T_enum_get_info(BAD(MPI_T_enum), &number, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    EXPECT(MPI_T_enum_get_info(names, &number, name, &room), MPI_T_ERR_INVALID);
    EXPECT_T(MPI_T_enum_get_info(names, NULL, NULL, NULL));
    EXPECT(MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &number, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    EXPECT(MPI_T_enum_get_item(names, -1, &number, NULL, NULL), MPI_T_ERR_INVALID_ITEM);
    EXPECT(MPI_T_enum_get_item(names, 2, &number, NULL, NULL), MPI_T_ERR_INVALID_ITEM);
    EXPECT(MPI_T_enum_get_item(names, 0, &number, name, &room), MPI_T_ERR_INVALID);
    EXPECT_T(MPI_T_enum_get_item(names, 1, NULL, NULL, NULL));
}

static void check_cvars(void)
{
    int count, index, room = -1, value = 0;
    char name[16];
    MPI_T_cvar_handle handle = BAD(MPI_T_cvar_handle), same;
    EXPECT_T(MPI_T_cvar_get_num(&count));
    EXPECT(MPI_T_cvar_get_num(NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_cvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
           MPI_T_ERR_INVALID_INDEX);
    EXPECT(MPI_T_cvar_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
           MPI_T_ERR_INVALID_INDEX);
    EXPECT(MPI_T_cvar_get_info(0, name, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
           MPI_T_ERR_INVALID);
    EXPECT(MPI_T_cvar_get_info(0, NULL, NULL, NULL, NULL, NULL, name, &room, NULL, NULL),
           MPI_T_ERR_INVALID);
    EXPECT_T(MPI_T_cvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    EXPECT(MPI_T_cvar_get_index("WEFT_NOTHING", &index), MPI_T_ERR_INVALID_NAME);
    EXPECT(MPI_T_cvar_get_index(NULL, &index), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_cvar_get_index("WEFT_LOG", NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_cvar_handle_alloc(-1, NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX);
    EXPECT(MPI_T_cvar_handle_alloc(count, NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX);
    EXPECT(MPI_T_cvar_handle_alloc(0, NULL, NULL, &count), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_cvar_handle_alloc(0, NULL, &handle, NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_cvar_read(MPI_T_CVAR_HANDLE_NULL, &value), MPI_T_ERR_INVALID_HANDLE);
    EXPECT(MPI_T_cvar_read(handle, &value), MPI_T_ERR_INVALID_HANDLE);
    EXPECT(MPI_T_cvar_write(handle, &value), MPI_T_ERR_INVALID_HANDLE);
    EXPECT(MPI_T_cvar_handle_free(&handle), MPI_T_ERR_INVALID_HANDLE);
    EXPECT(MPI_T_cvar_handle_free(NULL), MPI_T_ERR_INVALID);
    handle = same = cvar_handle("WEFT_CMA");
    EXPECT(MPI_T_cvar_read(handle, NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_cvar_write(handle, NULL), MPI_T_ERR_INVALID);
    EXPECT_T(MPI_T_cvar_handle_free(&handle));
    EXPECT(MPI_T_cvar_read(same, &value), MPI_T_ERR_INVALID_HANDLE);
    EXPECT(MPI_T_cvar_handle_free(&same), MPI_T_ERR_INVALID_HANDLE);
}

static void check_pvar_queries(void)
{
    int count, index, room = -1;
    char name[16];
    EXPECT_T(MPI_T_pvar_get_num(&count));
    EXPECT(MPI_T_pvar_get_num(NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_pvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                               NULL),
           MPI_T_ERR_INVALID_INDEX);
    EXPECT(MPI_T_pvar_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                               NULL, NULL),
           MPI_T_ERR_INVALID_INDEX);
    EXPECT(MPI_T_pvar_get_info(0, name, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                               NULL),
           MPI_T_ERR_INVALID);
    EXPECT(MPI_T_pvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, name, &room, NULL, NULL, NULL,
                               NULL),
           MPI_T_ERR_INVALID);
    EXPECT_T(MPI_T_pvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                 NULL, NULL));
    EXPECT(MPI_T_pvar_get_index("nothing", MPI_T_PVAR_CLASS_COUNTER, &index),
           MPI_T_ERR_INVALID_NAME);
    EXPECT(MPI_T_pvar_get_index("waits", MPI_T_PVAR_CLASS_LEVEL, &index), MPI_T_ERR_INVALID_NAME);
    EXPECT(MPI_T_pvar_get_index(NULL, MPI_T_PVAR_CLASS_COUNTER, &index), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_pvar_get_index("waits", MPI_T_PVAR_CLASS_COUNTER, NULL), MPI_T_ERR_INVALID);
}

static void check_new_handles(MPI_T_pvar_session session)
{
    int count;
    MPI_Comm none = MPI_COMM_NULL, no_comm = BAD(MPI_Comm);
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int waits = pvar_index("waits", MPI_T_PVAR_CLASS_COUNTER);
    int bound = pvar_index("comm_transports", MPI_T_PVAR_CLASS_STATE);
    EXPECT(MPI_T_pvar_handle_alloc(MPI_T_PVAR_SESSION_NULL, waits, NULL, &handle, &count),
           MPI_T_ERR_INVALID_SESSION);
    EXPECT(MPI_T_pvar_handle_alloc(BAD(MPI_T_pvar_session), waits, NULL, &handle, &count),
           MPI_T_ERR_INVALID_SESSION);
    EXPECT(MPI_T_pvar_handle_alloc(session, -1, NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX);
    EXPECT(MPI_T_pvar_handle_alloc(session, 1 << 20, NULL, &handle, &count),
           MPI_T_ERR_INVALID_INDEX);
    EXPECT(MPI_T_pvar_handle_alloc(session, waits, NULL, NULL, &count), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_pvar_handle_alloc(session, waits, NULL, &handle, NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_pvar_handle_alloc(session, bound, NULL, &handle, &count), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_pvar_handle_alloc(session, bound, &none, &handle, &count), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_pvar_handle_alloc(session, bound, &no_comm, &handle, &count), MPI_T_ERR_INVALID);
    EXPECT(handle == MPI_T_PVAR_HANDLE_NULL, 1);
}

/* Every function that takes a session and a handle. */
static void expect_no_handle(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int error)
{
    unsigned long long value = 0;
    MPI_T_pvar_handle same = handle;
    EXPECT(MPI_T_pvar_read(session, handle, &value), error);
    EXPECT(MPI_T_pvar_write(session, handle, &value), error);
    EXPECT(MPI_T_pvar_readreset(session, handle, &value), error);
    EXPECT(MPI_T_pvar_handle_free(session, &same), error);
    if (handle == MPI_T_PVAR_ALL_HANDLES)
        return; /* for the others that is no error */
    EXPECT(MPI_T_pvar_start(session, handle), error);
    EXPECT(MPI_T_pvar_stop(session, handle), error);
    EXPECT(MPI_T_pvar_reset(session, handle), error);
}

static void check_handles(void)
{
    MPI_T_pvar_session session = NULL, other = NULL, same;
    unsigned long long value = 0;
    EXPECT(MPI_T_pvar_session_create(NULL), MPI_T_ERR_INVALID);
    EXPECT_T(MPI_T_pvar_session_create(&session));
    EXPECT_T(MPI_T_pvar_session_create(&other));
    check_new_handles(session);
    MPI_T_pvar_handle waits = counter(session, "waits");
    MPI_T_pvar_handle level = pvar_handle(session, "posted_receives", MPI_T_PVAR_CLASS_LEVEL, NULL);
    expect_no_handle(MPI_T_PVAR_SESSION_NULL, waits, MPI_T_ERR_INVALID_SESSION);
    expect_no_handle(BAD(MPI_T_pvar_session), waits, MPI_T_ERR_INVALID_SESSION);
    expect_no_handle(other, waits, MPI_T_ERR_INVALID_HANDLE);
    expect_no_handle(session, MPI_T_PVAR_HANDLE_NULL, MPI_T_ERR_INVALID_HANDLE);
    expect_no_handle(session, BAD(MPI_T_pvar_handle), MPI_T_ERR_INVALID_HANDLE);
    expect_no_handle(session, MPI_T_PVAR_ALL_HANDLES, MPI_T_ERR_INVALID_HANDLE);
    EXPECT(MPI_T_pvar_start(MPI_T_PVAR_SESSION_NULL, MPI_T_PVAR_ALL_HANDLES),
           MPI_T_ERR_INVALID_SESSION);
    EXPECT_T(MPI_T_pvar_start(other, MPI_T_PVAR_ALL_HANDLES)); /* none: no error */
    EXPECT_T(MPI_T_pvar_reset(other, MPI_T_PVAR_ALL_HANDLES));
    EXPECT(MPI_T_pvar_read(session, waits, NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_pvar_write(session, waits, NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_pvar_readreset(session, waits, NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_pvar_start(session, level), MPI_T_ERR_PVAR_NO_STARTSTOP);
    EXPECT(MPI_T_pvar_stop(session, level), MPI_T_ERR_PVAR_NO_STARTSTOP);
    EXPECT(MPI_T_pvar_write(session, level, &value), MPI_T_ERR_PVAR_NO_WRITE);
    EXPECT(MPI_T_pvar_reset(session, level), MPI_T_ERR_PVAR_NO_WRITE);
    EXPECT(MPI_T_pvar_readreset(session, level, &value), MPI_T_ERR_PVAR_NO_ATOMIC);
    EXPECT_T(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES)); /* continuous ones are passed by */
    EXPECT_T(MPI_T_pvar_start(session, waits));
    EXPECT_T(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
    EXPECT_T(MPI_T_pvar_stop(session, waits));
    EXPECT_T(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    EXPECT(MPI_T_pvar_handle_free(session, NULL), MPI_T_ERR_INVALID);
    MPI_T_pvar_handle freed = waits;
    EXPECT_T(MPI_T_pvar_handle_free(session, &waits));
    EXPECT(waits == MPI_T_PVAR_HANDLE_NULL, 1);
    expect_no_handle(session, freed, MPI_T_ERR_INVALID_HANDLE);
    same = session;
    EXPECT(MPI_T_pvar_session_free(NULL), MPI_T_ERR_INVALID);
    EXPECT_T(MPI_T_pvar_session_free(&session)); /* with a handle */
    EXPECT(session == MPI_T_PVAR_SESSION_NULL, 1);
    EXPECT(MPI_T_pvar_session_free(&same), MPI_T_ERR_INVALID_SESSION);
    expect_no_handle(same, level, MPI_T_ERR_INVALID_SESSION);
    EXPECT_T(MPI_T_pvar_session_free(&other));
}

static void never_called(MPI_T_event_instance event, MPI_T_event_registration registration,
                         MPI_T_cb_safety safety, void *data)
{
    (void)event;
    (void)registration;
    (void)safety;
    (void)data;
    EXPECT(0, 1);
}

static void check_event_queries(void)
{
    int count, number, room = -1;
    char name[16];
    MPI_Count ticks;
    EXPECT_T(MPI_T_event_get_num(&count));
    EXPECT(MPI_T_event_get_num(NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_source_get_num(NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_source_get_info(1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
           MPI_T_ERR_INVALID_INDEX);
    EXPECT(MPI_T_source_get_info(0, name, &room, NULL, NULL, NULL, NULL, NULL, NULL),
           MPI_T_ERR_INVALID);
    EXPECT(MPI_T_source_get_info(0, NULL, NULL, name, &room, NULL, NULL, NULL, NULL),
           MPI_T_ERR_INVALID);
    EXPECT_T(MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    EXPECT(MPI_T_source_get_timestamp(-1, &ticks), MPI_T_ERR_INVALID_INDEX);
    EXPECT(MPI_T_source_get_timestamp(0, NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_event_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                NULL),
           MPI_T_ERR_INVALID_INDEX);
    EXPECT(
        MPI_T_event_get_info(0, name, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        MPI_T_ERR_INVALID);
    EXPECT(
        MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, &room, NULL, NULL, NULL, NULL, NULL),
        MPI_T_ERR_INVALID);
    EXPECT(
        MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, name, &room, NULL),
        MPI_T_ERR_INVALID);
    EXPECT_T(
        MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    EXPECT(MPI_T_event_get_index("nothing", &number), MPI_T_ERR_INVALID_NAME);
    EXPECT(MPI_T_event_get_index(NULL, &number), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_event_get_index("throttle", NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_event_read(BAD(MPI_T_event_instance), 0, name), MPI_T_ERR_INVALID_HANDLE);
    EXPECT(MPI_T_event_copy(NULL, name), MPI_T_ERR_INVALID_HANDLE);
    EXPECT(MPI_T_event_get_timestamp(BAD(MPI_T_event_instance), &ticks), MPI_T_ERR_INVALID_HANDLE);
    EXPECT(MPI_T_event_get_source(BAD(MPI_T_event_instance), &number), MPI_T_ERR_INVALID_HANDLE);
}

/* Every function that takes a registration. */
static void expect_no_registration(MPI_T_event_registration registration)
{
    MPI_Info info = MPI_INFO_NULL;
    const int none = MPI_T_ERR_INVALID_HANDLE;
    EXPECT(MPI_T_event_handle_set_info(registration, MPI_INFO_NULL), none);
    EXPECT(MPI_T_event_handle_get_info(registration, &info), none);
    EXPECT(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL,
                                         never_called),
           none);
    EXPECT(MPI_T_event_callback_set_info(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL), none);
    EXPECT(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_NONE, &info), none);
    EXPECT(MPI_T_event_set_dropped_handler(registration, NULL), none);
    EXPECT(MPI_T_event_handle_free(registration, NULL, NULL), none);
}

static void check_registrations(void)
{
    int index, bound;
    MPI_Comm none = MPI_COMM_NULL;
    MPI_Info info = MPI_INFO_NULL;
    MPI_T_event_registration registration = NULL;
    EXPECT_T(MPI_T_event_get_index("throttle", &index));
    EXPECT_T(MPI_T_event_get_index("algorithm_chosen", &bound));
    EXPECT(MPI_T_event_handle_alloc(-1, NULL, MPI_INFO_NULL, &registration),
           MPI_T_ERR_INVALID_INDEX);
    EXPECT(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_event_handle_alloc(index, NULL, (MPI_Info)MPI_COMM_WORLD, &registration),
           MPI_T_ERR_INVALID);
    EXPECT(MPI_T_event_handle_alloc(bound, NULL, MPI_INFO_NULL, &registration), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_event_handle_alloc(bound, &none, MPI_INFO_NULL, &registration), MPI_T_ERR_INVALID);
    expect_no_registration(NULL);
    expect_no_registration(BAD(MPI_T_event_registration));
    EXPECT_T(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration));
    EXPECT(MPI_T_event_register_callback(registration, (MPI_T_cb_safety)1, MPI_INFO_NULL, NULL,
                                         never_called),
           MPI_T_ERR_INVALID);
    EXPECT(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE,
                                         (MPI_Info)MPI_COMM_WORLD, NULL, never_called),
           MPI_T_ERR_INVALID);
    EXPECT(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_NONE, &info),
           MPI_T_ERR_INVALID);
    EXPECT(MPI_T_event_callback_set_info(registration, MPI_T_CB_REQUIRE_NONE, info),
           MPI_T_ERR_INVALID);
    EXPECT_T(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL,
                                           never_called));
    EXPECT(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, &info),
           MPI_T_ERR_INVALID);
    EXPECT(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_NONE, NULL),
           MPI_T_ERR_INVALID);
    EXPECT_T(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_NONE, &info));
    EXPECT_T(MPI_T_event_callback_set_info(registration, MPI_T_CB_REQUIRE_NONE, info));
    EXPECT(MPI_T_event_callback_set_info(registration, (MPI_T_cb_safety)7, info),
           MPI_T_ERR_INVALID);
    EXPECT_T(MPI_T_event_handle_set_info(registration, info));
    MPI_Info_free(&info);
    EXPECT(MPI_T_event_handle_set_info(registration, (MPI_Info)MPI_COMM_WORLD), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_event_handle_get_info(registration, NULL), MPI_T_ERR_INVALID);
    EXPECT_T(MPI_T_event_handle_get_info(registration, &info));
    MPI_Info_free(&info);
    EXPECT_T(MPI_T_event_handle_free(registration, NULL, NULL));
    expect_no_registration(registration);
}

static void check_categories(void)
{
    int count, number, room = -1;
    char name[16];
    EXPECT_T(MPI_T_category_get_num(&count));
    EXPECT(MPI_T_category_get_num(NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_category_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
           MPI_T_ERR_INVALID_INDEX);
    EXPECT(MPI_T_category_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
           MPI_T_ERR_INVALID_INDEX);
    EXPECT(MPI_T_category_get_info(0, name, &room, NULL, NULL, NULL, NULL, NULL),
           MPI_T_ERR_INVALID);
    EXPECT(MPI_T_category_get_info(0, NULL, NULL, name, &room, NULL, NULL, NULL),
           MPI_T_ERR_INVALID);
    EXPECT_T(MPI_T_category_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    EXPECT(MPI_T_category_get_index("nothing", &number), MPI_T_ERR_INVALID_NAME);
    EXPECT(MPI_T_category_get_index(NULL, &number), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_category_get_index("shm", NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_category_get_num_events(count, &number), MPI_T_ERR_INVALID_INDEX);
    EXPECT(MPI_T_category_get_num_events(0, NULL), MPI_T_ERR_INVALID);
    EXPECT(MPI_T_category_changed(NULL), MPI_T_ERR_INVALID);
    int (*const members[])(int, int, int[]) = {MPI_T_category_get_cvars, MPI_T_category_get_pvars,
                                               MPI_T_category_get_events,
                                               MPI_T_category_get_categories};
    for (int i = 0; i < 4; i++) {
        EXPECT(members[i](-1, 1, &number), MPI_T_ERR_INVALID_INDEX);
        EXPECT(members[i](count, 1, &number), MPI_T_ERR_INVALID_INDEX);
        EXPECT(members[i](0, -1, &number), MPI_T_ERR_INVALID);
        EXPECT(members[i](0, 1, NULL), MPI_T_ERR_INVALID);
        EXPECT_T(members[i](0, 0, NULL));
    }
}

/* The texts of the errors. */
static void check_texts(void)
{
    for (int error = MPI_T_ERR_CANNOT_INIT; error <= MPI_T_ERR_PVAR_NO_ATOMIC; error++) {
        char text[MPI_MAX_ERROR_STRING] = "";
        int length = 0;
        EXPECT(MPI_Error_string(error, text, &length), MPI_SUCCESS);
        EXPECT(length > 5, 1);
        EXPECT_ERROR(error, error);
    }
}

static void check_all(void)
{
    check_enums();
    check_cvars();
    check_pvar_queries();
    check_handles();
    check_event_queries();
    check_registrations();
    check_categories();
}

int main(void)
{
    check_closed();
    check_open();
    check_all();
    MPI_Init(NULL, NULL); /* errors are fatal, but not those of MPI_T */
    expect_begin();
    check_all();
    check_texts();
    EXPECT_T(MPI_T_finalize());
    check_closed();
    check_open();
    int code = expect_end();
    check_all();
    EXPECT_T(MPI_T_finalize());
    check_closed();
    return code != 0 || expect_failures != 0;
}
