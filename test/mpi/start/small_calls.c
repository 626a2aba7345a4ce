/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of one process that no other test is about: handles as integers, fields of a status,
 * addresses, threads, attributes by their names of MPI 1, and some more. */
#include "expect.h"

#include <pthread.h>
#include <sys/utsname.h>

/* There and back; null handles, too. */
#define SAME(Kind, handle) EXPECT(MPI_##Kind##_fromint(MPI_##Kind##_toint(handle)) == (handle), 1)

static void ignore_error(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
}

static void test_handles(void)
{
    MPI_Group group;
    MPI_Info info;
    MPI_Errhandler handler;
    MPI_Request request;
    MPI_Message message;
    MPI_Session session;
    int number = 1, got = 0;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Info_create(&info);
    MPI_Comm_create_errhandler(ignore_error, &handler);
    MPI_Irecv(&got, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &request);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    SAME(Group, group);
    SAME(Group, MPI_GROUP_NULL);
    SAME(Group, MPI_GROUP_EMPTY);
    SAME(Info, info);
    SAME(Info, MPI_INFO_NULL);
    SAME(Errhandler, handler);
    SAME(Errhandler, MPI_ERRORS_RETURN);
    SAME(Errhandler, MPI_ERRHANDLER_NULL);
    SAME(Request, request);
    SAME(Request, MPI_REQUEST_NULL);
    SAME(Session, session);
    SAME(Session, MPI_SESSION_NULL);
    SAME(File, MPI_FILE_NULL);
    SAME(Win, MPI_WIN_NULL);
    SAME(Message, MPI_MESSAGE_NULL);
    SAME(Message, MPI_MESSAGE_NO_PROC);
    EXPECT(MPI_Group_toint(group) != MPI_Group_toint(MPI_GROUP_NULL), 1);
    MPI_Send(&number, 1, MPI_INT, 0, 3, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(got, 1);
    MPI_Isend(&number, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &request);
    MPI_Mprobe(0, 3, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
    SAME(Message, message);
    MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Session_finalize(&session);
    MPI_Errhandler_free(&handler);
    MPI_Info_free(&info);
    MPI_Group_free(&group);
}

static void test_status(void)
{
    MPI_Status status;
    int value;
    memset(&status, 0, sizeof(status));
    EXPECT(MPI_Status_set_source(&status, 5), MPI_SUCCESS);
    EXPECT(MPI_Status_set_tag(&status, 6), MPI_SUCCESS);
    EXPECT(MPI_Status_set_error(&status, MPI_ERR_TAG), MPI_SUCCESS);
    EXPECT(status.MPI_SOURCE, 5);
    EXPECT(MPI_Status_get_source(&status, &value), MPI_SUCCESS);
    EXPECT(value, 5);
    EXPECT(MPI_Status_get_tag(&status, &value), MPI_SUCCESS);
    EXPECT(value, 6);
    EXPECT(MPI_Status_get_error(&status, &value), MPI_SUCCESS);
    EXPECT(value, MPI_ERR_TAG);
    EXPECT_ERROR(MPI_Status_get_tag(&status, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Status_get_source(MPI_STATUS_IGNORE, &value), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Status_set_error(MPI_STATUS_IGNORE, 0), MPI_ERR_ARG);
}

static void test_addresses(void)
{
    char bytes[16];
    MPI_Aint first, last, lower, extent;
    MPI_Datatype vector;
    MPI_Get_address(&bytes[0], &first);
    MPI_Get_address(&bytes[15], &last);
    EXPECT(MPI_Aint_diff(last, first), 15);
    EXPECT(MPI_Aint_add(first, 15) == last, 1);
    MPI_Type_create_resized(MPI_INT, -8, 32, &vector);
    EXPECT(MPI_Type_get_true_extent(vector, &lower, &extent), MPI_SUCCESS);
    EXPECT(lower, 0);
    EXPECT(extent, (MPI_Aint)sizeof(int));
    MPI_Type_free(&vector);
}

/* ---- threads ---- */

static void *ask_thread(void *flag)
{
    MPI_Is_thread_main(flag);
    return NULL;
}

static void test_threads(void)
{
    int is_main = 0, is_other_main = 1, level;
    pthread_t thread;
    EXPECT(MPI_Is_thread_main(&is_main), MPI_SUCCESS);
    EXPECT(is_main, 1);
    pthread_create(&thread, NULL, ask_thread, &is_other_main);
    pthread_join(thread, NULL);
    EXPECT(is_other_main, 0);
    EXPECT(MPI_Query_thread(&level), MPI_SUCCESS);
    EXPECT(level, MPI_THREAD_MULTIPLE);
    EXPECT(MPI_Pcontrol(1), MPI_SUCCESS);
    EXPECT(MPI_Wtick() > 0 && MPI_Wtick() < 1, 1);
}

/* ---- facts ---- */

static void test_versions(void)
{
    int major = 0, minor = -1, length = 0;
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    EXPECT(MPI_Get_version(&major, &minor), MPI_SUCCESS);
    EXPECT(major, MPI_VERSION);
    EXPECT(minor, MPI_SUBVERSION);
    EXPECT(MPI_Abi_get_version(&major, &minor), MPI_SUCCESS);
    EXPECT(major, MPI_ABI_VERSION);
    EXPECT(minor, MPI_ABI_SUBVERSION);
    EXPECT(MPI_Get_library_version(text, &length), MPI_SUCCESS);
    EXPECT(length, strlen(text));
    EXPECT(strncmp(text, "Weft ", 5), 0);
}

/* What works at any time checks its outputs, too. */
static void test_missing_outputs(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int number = 0;
    EXPECT(MPI_Initialized(&number), MPI_SUCCESS);
    EXPECT(number, 1);
    EXPECT(MPI_Finalized(&number), MPI_SUCCESS);
    EXPECT(number, 0);
    EXPECT_ERROR(MPI_Get_version(NULL, &number), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Get_version(&number, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Abi_get_version(NULL, &number), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Abi_get_version(&number, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Get_library_version(NULL, &number), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Get_library_version(text, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Initialized(NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Finalized(NULL), MPI_ERR_ARG);
}

static void test_host_and_time(void)
{
    struct utsname machine;
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    uname(&machine);
    EXPECT(MPI_Get_processor_name(name, &length), MPI_SUCCESS);
    EXPECT(length, strlen(name));
    EXPECT_TEXT(name, machine.nodename);
    double before = MPI_Wtime();
    while (MPI_Wtime() <= before)
        continue;
    EXPECT(MPI_Wtime() - before < 100, 1); /* in seconds */
}

/* ---- attributes by their names of MPI 1 ---- */

static int deleted;

static int note_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

static void test_old_attributes(void)
{
    int keyval, flag, own = 7, *got;
    EXPECT(MPI_Keyval_create(MPI_NULL_COPY_FN, note_delete, &keyval, NULL), MPI_SUCCESS);
    EXPECT(MPI_Attr_put(MPI_COMM_SELF, keyval, &own), MPI_SUCCESS);
    EXPECT(MPI_Attr_get(MPI_COMM_SELF, keyval, &got, &flag), MPI_SUCCESS);
    EXPECT(flag && got == &own, 1);
    EXPECT(MPI_Attr_delete(MPI_COMM_SELF, keyval), MPI_SUCCESS);
    EXPECT(deleted, 1);
    EXPECT(MPI_Attr_get(MPI_COMM_SELF, keyval, &got, &flag), MPI_SUCCESS);
    EXPECT(flag, 0);
    EXPECT(MPI_Keyval_free(&keyval), MPI_SUCCESS);
    EXPECT(keyval, MPI_KEYVAL_INVALID);
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    expect_begin();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    test_handles();
    test_status();
    test_addresses();
    test_threads();
    test_old_attributes();
    test_versions();
    test_missing_outputs();
    test_host_and_time();
    return expect_end();
}
