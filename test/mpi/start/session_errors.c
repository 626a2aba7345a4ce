/* SPDX-License-Identifier: BSD-3-Clause */
/* Error handlers of sessions, wrong arguments, process sets and what info says; sessions alone. */
#include "../expect.h"

static int handled, last_code;
static MPI_Session last_session;

static void note(MPI_Session *session, int *code, ...)
{
    handled++;
    last_code = *code;
    last_session = *session;
}

static void note_of_comm(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled += 100;
    last_code = *code;
}

/* The call has failed with this class, and a handler was called so often since the last check. */
static void check(int code, int error_class, int times, int line)
{
    expect_equal(expect_class(code), error_class, "error class", __FILE__, line);
    expect_equal(handled, times, "calls of handlers", __FILE__, line);
    if (times > 0)
        expect_equal(last_code, code, "code that the handler got", __FILE__, line);
    handled = 0;
}

#define CHECK(call, error_class, times) check(call, error_class, times, __LINE__)

static MPI_Session open_with(MPI_Errhandler handler)
{
    MPI_Session session;
    EXPECT(MPI_Session_init(MPI_INFO_NULL, handler, &session), MPI_SUCCESS);
    return session;
}

/* Wrong arguments of MPI_Session_init, which has a handler of its own. */
static void test_opening(MPI_Errhandler handler, MPI_Errhandler of_comm)
{
    MPI_Session session;
    MPI_Info info;
    CHECK(MPI_Session_init(MPI_INFO_NULL, handler, NULL), MPI_ERR_ARG, 1);
    EXPECT(last_session == MPI_SESSION_NULL, 1);
    CHECK(MPI_Session_init((MPI_Info)0x17, handler, &session), MPI_ERR_INFO, 1);
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "many");
    CHECK(MPI_Session_init(info, handler, &session), MPI_ERR_INFO_VALUE, 1);
    MPI_Info_free(&info);
    /* These have none that could be called. */
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &session), MPI_ERR_ERRHANDLER, 0);
    CHECK(MPI_Session_init(MPI_INFO_NULL, of_comm, &session), MPI_ERR_ERRHANDLER, 0);
    CHECK(MPI_Session_create_errhandler(NULL, &of_comm), MPI_ERR_ARG, 0);
    CHECK(MPI_Session_create_errhandler(note, NULL), MPI_ERR_ARG, 0);
}

static void test_no_session(MPI_Session session)
{
    MPI_Info info;
    MPI_Group group;
    MPI_Errhandler handler;
    MPI_Request request;
    int n, length = 0;
    void *buffer;
    MPI_Count bytes;
    CHECK(MPI_Session_finalize(&session), MPI_ERR_SESSION, 0);
    CHECK(MPI_Session_get_info(session, &info), MPI_ERR_SESSION, 0);
    CHECK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n), MPI_ERR_SESSION, 0);
    CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, NULL), MPI_ERR_SESSION, 0);
    CHECK(MPI_Session_get_pset_info(session, "mpi://SELF", &info), MPI_ERR_SESSION, 0);
    CHECK(MPI_Group_from_session_pset(session, "mpi://SELF", &group), MPI_ERR_SESSION, 0);
    CHECK(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN), MPI_ERR_SESSION, 0);
    CHECK(MPI_Session_get_errhandler(session, &handler), MPI_ERR_SESSION, 0);
    CHECK(MPI_Session_call_errhandler(session, MPI_ERR_OTHER), MPI_ERR_SESSION, 0);
    CHECK(MPI_Session_attach_buffer(session, MPI_BUFFER_AUTOMATIC, 0), MPI_ERR_SESSION, 0);
    CHECK(MPI_Session_detach_buffer(session, &buffer, &n), MPI_ERR_SESSION, 0);
    CHECK(MPI_Session_detach_buffer_c(session, &buffer, &bytes), MPI_ERR_SESSION, 0);
    CHECK(MPI_Session_flush_buffer(session), MPI_ERR_SESSION, 0);
    CHECK(MPI_Session_iflush_buffer(session, &request), MPI_ERR_SESSION, 0);
}

static void test_set_arguments(MPI_Session session)
{
    MPI_Info info;
    MPI_Group group = MPI_GROUP_EMPTY;
    char name[MPI_MAX_PSET_NAME_LEN + 2];
    int n, length;
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    CHECK(MPI_Session_get_info(session, NULL), MPI_ERR_ARG, 1);
    EXPECT(last_session == session, 1);
    CHECK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, NULL), MPI_ERR_ARG, 1);
    CHECK(MPI_Session_get_num_psets(session, (MPI_Info)0x17, &n), MPI_ERR_INFO, 1);
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n);
    length = 0;
    CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name), MPI_ERR_ARG, 1);
    CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &length, name), MPI_ERR_ARG, 1);
    CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, NULL, name), MPI_ERR_ARG, 1);
    CHECK(MPI_Session_get_nth_pset(session, (MPI_Info)0x17, 0, &length, name), MPI_ERR_INFO, 1);
    length = 5;
    CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, NULL), MPI_ERR_ARG, 1);
    length = -1;
    CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, name), MPI_ERR_ARG, 1);
    CHECK(MPI_Session_get_pset_info(session, NULL, &info), MPI_ERR_ARG, 1);
    CHECK(MPI_Session_get_pset_info(session, name, &info), MPI_ERR_ARG, 1);
    CHECK(MPI_Session_get_pset_info(session, "mpi://NOBODY", &info), MPI_ERR_ARG, 1);
    CHECK(MPI_Session_get_pset_info(session, "mpi://SELF", NULL), MPI_ERR_ARG, 1);
    CHECK(MPI_Group_from_session_pset(session, NULL, &group), MPI_ERR_ARG, 1);
    CHECK(MPI_Group_from_session_pset(session, "mpi://SELF", NULL), MPI_ERR_ARG, 1);
    CHECK(MPI_Group_from_session_pset(session, "mpi://NOBODY", &group), MPI_SUCCESS, 0);
    EXPECT(group == MPI_GROUP_NULL, 1);
}

static void test_other_arguments(MPI_Session session, MPI_Errhandler of_comm)
{
    int n;
    void *buffer;
    CHECK(MPI_Session_finalize(NULL), MPI_ERR_ARG, 0);
    CHECK(MPI_Session_set_errhandler(session, of_comm), MPI_ERR_ERRHANDLER, 1);
    CHECK(MPI_Session_set_errhandler(session, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER, 1);
    CHECK(MPI_Session_get_errhandler(session, NULL), MPI_ERR_ARG, 1);
    CHECK(MPI_Session_attach_buffer(session, &n, -1), MPI_ERR_COUNT, 1);
    CHECK(MPI_Session_attach_buffer_c(session, NULL, 8), MPI_ERR_BUFFER, 1);
    CHECK(MPI_Session_detach_buffer(session, &buffer, &n), MPI_ERR_BUFFER, 1);
    CHECK(MPI_Session_detach_buffer(session, NULL, &n), MPI_ERR_ARG, 1);
    CHECK(MPI_Session_detach_buffer(session, &buffer, NULL), MPI_ERR_ARG, 1);
    CHECK(MPI_Session_iflush_buffer(session, NULL), MPI_ERR_ARG, 1);
}

static void test_from_group(MPI_Session session, MPI_Errhandler handler, MPI_Errhandler of_comm)
{
    MPI_Group self, others;
    MPI_Comm comm;
    char tag[MPI_MAX_STRINGTAG_LEN + 1];
    memset(tag, 't', sizeof(tag) - 1);
    tag[sizeof(tag) - 1] = '\0';
    MPI_Group_from_session_pset(session, "mpi://SELF", &self);
    CHECK(MPI_Comm_create_from_group(self, NULL, MPI_INFO_NULL, of_comm, &comm), MPI_ERR_ARG, 100);
    CHECK(MPI_Comm_create_from_group(self, tag, MPI_INFO_NULL, of_comm, &comm), MPI_ERR_ARG, 100);
    CHECK(MPI_Comm_create_from_group(self, "t", (MPI_Info)0x17, of_comm, &comm), MPI_ERR_INFO, 100);
    CHECK(MPI_Comm_create_from_group(self, "t", MPI_INFO_NULL, of_comm, NULL), MPI_ERR_ARG, 100);
    CHECK(MPI_Comm_create_from_group(MPI_GROUP_NULL, "t", MPI_INFO_NULL, of_comm, &comm),
          MPI_ERR_GROUP, 100);
    CHECK(MPI_Comm_create_from_group(self, "t", MPI_INFO_NULL, handler, &comm), MPI_ERR_ERRHANDLER,
          0);
    if (expect_size > 1) {
        MPI_Group all;
        MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
        MPI_Group_difference(all, self, &others);
        CHECK(MPI_Comm_create_from_group(others, "t", MPI_INFO_NULL, of_comm, &comm), MPI_ERR_GROUP,
              100);
        MPI_Group_free(&others);
        MPI_Group_free(&all);
    }
    /* What is left out of the tag's room is the final 0. */
    tag[MPI_MAX_STRINGTAG_LEN - 1] = '\0';
    CHECK(MPI_Comm_create_from_group(self, tag, MPI_INFO_NULL, of_comm, &comm), MPI_SUCCESS, 0);
    CHECK(MPI_Comm_set_errhandler(comm, handler), MPI_ERR_ERRHANDLER, 100);
    MPI_Comm_free(&comm);
    MPI_Group_free(&self);
}

static void test_handlers(MPI_Session session, MPI_Errhandler handler)
{
    MPI_Errhandler got;
    MPI_Info info;
    EXPECT(MPI_Session_call_errhandler(session, MPI_ERR_TAG), MPI_SUCCESS);
    EXPECT(handled, 1);
    EXPECT(last_code, MPI_ERR_TAG);
    handled = 0;
    MPI_Session_get_errhandler(session, &got);
    EXPECT(got == handler, 1);
    MPI_Errhandler_free(&got);
    MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN);
    MPI_Session_get_errhandler(session, &got);
    EXPECT(got == MPI_ERRORS_RETURN, 1);
    MPI_Errhandler_free(&got);
    CHECK(MPI_Session_get_pset_info(session, "mpi://NOBODY", &info), MPI_ERR_ARG, 0);
    MPI_Session_set_errhandler(session, handler);
    CHECK(MPI_Session_get_pset_info(session, "mpi://NOBODY", &info), MPI_ERR_ARG, 1);
}

/* No MPI_Init: these do not exist. */
static void test_no_world(void)
{
    int size;
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size), MPI_ERR_COMM, 0);
    CHECK(MPI_Barrier(MPI_COMM_WORLD), MPI_ERR_COMM, 0);
    CHECK(MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_SELF), MPI_ERR_COMM, 0);
}

static void expect_entry(MPI_Info info, const char *key, const char *expected)
{
    char value[64] = "";
    int length = sizeof(value), flag;
    MPI_Info_get_string(info, key, &length, value, &flag);
    EXPECT(flag, 1);
    if (expected != NULL)
        EXPECT_TEXT(value, expected);
}

static void test_info(MPI_Errhandler handler)
{
    static const char *const levels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                         "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};
    for (int i = 0; i < 4; i++) {
        MPI_Info info, used;
        MPI_Session session;
        MPI_Info_create(&info);
        MPI_Info_set(info, "thread_level", levels[i]);
        MPI_Info_set(info, "mpi_memory_alloc_kinds", "system");
        EXPECT(MPI_Session_init(info, handler, &session), MPI_SUCCESS);
        MPI_Session_get_info(session, &used);
        expect_entry(used, "thread_level", levels[i]);
        expect_entry(used, "mpi_memory_alloc_kinds", NULL);
        MPI_Info_free(&used);
        MPI_Info_free(&info);
        EXPECT(MPI_Session_finalize(&session), MPI_SUCCESS);
    }
}

static void check_set(MPI_Session session, const char *name, int *size_out, int *rank_out)
{
    MPI_Info info;
    MPI_Group group;
    char size[16];
    MPI_Group_from_session_pset(session, name, &group);
    MPI_Group_size(group, size_out);
    MPI_Group_rank(group, rank_out);
    MPI_Group_free(&group);
    snprintf(size, sizeof(size), "%d", *size_out);
    MPI_Session_get_pset_info(session, name, &info);
    expect_entry(info, "mpi_size", size);
    MPI_Info_free(&info);
}

static void check_no_set(MPI_Session session, const char *name)
{
    MPI_Group group = MPI_GROUP_EMPTY;
    EXPECT(MPI_Group_from_session_pset(session, name, &group), MPI_SUCCESS);
    EXPECT(group == MPI_GROUP_NULL, 1);
}

static void test_sets(MPI_Session session)
{
    int count, size, rank, seen = 0;
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count);
    for (int n = 0; n < count; n++) {
        char name[MPI_MAX_PSET_NAME_LEN], part[5] = "";
        int length = 0, whole;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, NULL);
        whole = length;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name);
        EXPECT(strlen(name) + 1, whole);
        length = sizeof(part);
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, part);
        EXPECT(length, whole);
        EXPECT(strncmp(name, part, 4), 0);
        check_set(session, name, &size, &rank);
        seen += strcmp(name, "mpi://WORLD") == 0 || strcmp(name, "mpi://SELF") == 0;
    }
    EXPECT(seen, 2);
    check_set(session, "MPI://self", &size, &rank);
    EXPECT(size, 1);
    EXPECT(rank, 0);
    check_no_set(session, "mpi://SEL");
    check_no_set(session, "mpi://SELF/");
    check_no_set(session, "mpi:/SELF");
    check_no_set(session, "");
    check_set(session, "mpi://WORLD", &expect_size, &expect_rank);
}

int main(void)
{
    MPI_Errhandler handler, of_comm;
    MPI_Session stale, session;
    MPI_Session_create_errhandler(note, &handler);
    EXPECT(MPI_Session_init(MPI_INFO_NULL, handler, &session), MPI_SUCCESS);
    MPI_Comm_create_errhandler(note_of_comm, &of_comm);
    test_sets(session);
    test_opening(handler, of_comm);
    test_set_arguments(session);
    test_other_arguments(session, of_comm);
    test_from_group(session, handler, of_comm);
    test_handlers(session, handler);
    test_no_world();
    stale = open_with(handler);
    last_session = stale;
    MPI_Session_finalize(&stale);
    test_no_session(MPI_SESSION_NULL);
    test_no_session(last_session);
    MPI_Session_finalize(&session);
    test_no_session(last_session);
    test_info(handler);
    MPI_Errhandler_free(&handler);
    MPI_Errhandler_free(&of_comm);
    return expect_failures != 0;
}
