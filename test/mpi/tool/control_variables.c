/* SPDX-License-Identifier: BSD-3-Clause */
/* Control variables: what they are, reading, and writing with real effects before MPI_Init and
 * while MPI runs (MPI 5.0 section 15.3.6). */
#include "variables.h"

#include <limits.h>

enum { SMALL_EAGER = 64, MESSAGE = 1000 };

static void check_each(void)
{
    int count = 0;
    EXPECT_T(MPI_T_cvar_get_num(&count));
    EXPECT(count >= 30, 1);
    for (int i = 0; i < count; i++) {
        char name[128], help[512];
        int room = sizeof(name), help_room = sizeof(help), verbosity, bind, scope, index, elements;
        MPI_Datatype type;
        MPI_T_enum names;
        EXPECT_T(MPI_T_cvar_get_info(i, name, &room, &verbosity, &type, &names, help, &help_room,
                                     &bind, &scope));
        EXPECT(strncmp(name, "WEFT_", 5), 0);
        EXPECT(room, (int)strlen(name) + 1);
        EXPECT(help_room, (int)strlen(help) + 1);
        EXPECT(bind, MPI_T_BIND_NO_OBJECT);
        EXPECT(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL,
               1);
        EXPECT(scope == MPI_T_SCOPE_CONSTANT || scope == MPI_T_SCOPE_LOCAL ||
                   scope == MPI_T_SCOPE_ALL_EQ,
               1);
        EXPECT(type == MPI_INT || type == MPI_UNSIGNED_LONG || type == MPI_CHAR, 1);
        EXPECT(names == MPI_T_ENUM_NULL || type == MPI_INT, 1);
        EXPECT_T(MPI_T_cvar_get_index(name, &index));
        EXPECT(index, i);
        MPI_T_cvar_handle handle;
        EXPECT_T(MPI_T_cvar_handle_alloc(i, NULL, &handle, &elements));
        EXPECT(type == MPI_CHAR ? elements >= 1024 : elements == 1, 1);
        char *value = malloc((size_t)elements * sizeof(long));
        memset(value, 1, (size_t)elements * sizeof(long));
        EXPECT_T(MPI_T_cvar_read(handle, value));
        if (type == MPI_CHAR)
            EXPECT(memchr(value, 0, (size_t)elements) != NULL, 1);
        free(value);
        EXPECT_T(MPI_T_cvar_handle_free(&handle));
        EXPECT(handle == MPI_T_CVAR_HANDLE_NULL, 1);
    }
}

/* Section 15.3.3: a short buffer gets what fits, and the length says what would have fitted. */
static void check_strings(void)
{
    int index, room = 6, all = sizeof("WEFT_EAGER_MAX");
    char name[32] = "................";
    EXPECT_T(MPI_T_cvar_get_index("WEFT_EAGER_MAX", &index));
    EXPECT_T(MPI_T_cvar_get_info(index, name, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    EXPECT_TEXT(name, "WEFT_");
    EXPECT(room, all);
    EXPECT(name[6], '.');
    room = 0;
    name[0] = '#';
    EXPECT_T(MPI_T_cvar_get_info(index, name, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    EXPECT(name[0], '#');
    EXPECT(room, all);
    room = 3;
    EXPECT_T(MPI_T_cvar_get_info(index, NULL, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    EXPECT(room, all);
    EXPECT_T(MPI_T_cvar_get_info(index, name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    EXPECT(name[0], '#');
    room = all;
    EXPECT_T(MPI_T_cvar_get_info(index, name, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    EXPECT_TEXT(name, "WEFT_EAGER_MAX");
}

static unsigned long read_size(const char *name)
{
    unsigned long value = 0;
    MPI_T_cvar_handle handle = cvar_handle(name);
    EXPECT_T(MPI_T_cvar_read(handle, &value));
    EXPECT_T(MPI_T_cvar_handle_free(&handle));
    return value;
}

static int write_size(const char *name, unsigned long value)
{
    MPI_T_cvar_handle handle = cvar_handle(name);
    int err = MPI_T_cvar_write(handle, &value);
    EXPECT_T(MPI_T_cvar_handle_free(&handle));
    return err;
}

static int read_int(const char *name)
{
    int value = INT_MIN;
    MPI_T_cvar_handle handle = cvar_handle(name);
    EXPECT_T(MPI_T_cvar_read(handle, &value));
    EXPECT_T(MPI_T_cvar_handle_free(&handle));
    return value;
}

static int write_int(const char *name, int value)
{
    MPI_T_cvar_handle handle = cvar_handle(name);
    int err = MPI_T_cvar_write(handle, &value);
    EXPECT_T(MPI_T_cvar_handle_free(&handle));
    return err;
}

static int write_word(const char *name, const char *word)
{
    int index = -1;
    MPI_T_enum names = MPI_T_ENUM_NULL;
    EXPECT_T(MPI_T_cvar_get_index(name, &index));
    EXPECT_T(MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, &names, NULL, NULL, NULL, NULL));
    return write_int(name, item_value(names, word));
}

static void check_texts(void)
{
    MPI_T_cvar_handle handle = cvar_handle("WEFT_COLL_TUNING");
    char text[4096] = "", long_text[2000];
    EXPECT_T(MPI_T_cvar_write(handle, "a tuning file"));
    EXPECT_T(MPI_T_cvar_read(handle, text));
    EXPECT_TEXT(text, "a tuning file");
    memset(long_text, 'x', sizeof(long_text)); /* without an end */
    EXPECT(MPI_T_cvar_write(handle, long_text), MPI_T_ERR_INVALID);
    EXPECT_T(MPI_T_cvar_read(handle, text));
    EXPECT_TEXT(text, "a tuning file");
    EXPECT_T(MPI_T_cvar_write(handle, ""));
    EXPECT_T(MPI_T_cvar_read(handle, text));
    EXPECT_TEXT(text, "");
    EXPECT_T(MPI_T_cvar_handle_free(&handle));
}

/* Values that a variable cannot take leave it as it is. */
static void check_values(void)
{
    int before = read_int("WEFT_TIMEOUT");
    EXPECT(write_int("WEFT_TIMEOUT", 0), MPI_T_ERR_INVALID);
    EXPECT(write_int("WEFT_TIMEOUT", -1), MPI_T_ERR_INVALID);
    EXPECT(read_int("WEFT_TIMEOUT"), before);
    EXPECT_T(write_int("WEFT_TIMEOUT", before + 1));
    EXPECT(read_int("WEFT_TIMEOUT"), before + 1);
    EXPECT_T(write_int("WEFT_TIMEOUT", before));
    EXPECT(write_int("WEFT_CHECK_ARGS", 2), MPI_T_ERR_INVALID);
    EXPECT(write_int("WEFT_CHECK_ARGS", -1), MPI_T_ERR_INVALID);
    EXPECT(read_int("WEFT_CHECK_ARGS"), 1);
    EXPECT_T(write_int("WEFT_CHECK_ARGS", 0));
    EXPECT(read_int("WEFT_CHECK_ARGS"), 0);
    EXPECT_T(write_int("WEFT_CHECK_ARGS", 1));
    int level = read_int("WEFT_LOG");
    EXPECT_T(write_word("WEFT_LOG", "error"));
    EXPECT(read_int("WEFT_LOG"), 0);
    EXPECT_T(write_int("WEFT_LOG", level));
}

/* A message above the limit waits for its receive; one below it does not. */
static void check_eager_limit(void)
{
    static char data[MESSAGE];
    int right = (expect_rank + 1) % expect_size,
        left = (expect_rank + expect_size - 1) % expect_size;
    MPI_T_pvar_session session;
    MPI_Request request;
    int is_over = -1;
    EXPECT_T(MPI_T_pvar_session_create(&session));
    MPI_Barrier(MPI_COMM_WORLD);
    int is_shm = strcmp(transport_to(session, right), "shm") == 0;
    MPI_Isend(data, MESSAGE, MPI_BYTE, right, 0, MPI_COMM_WORLD, &request);
    MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
    if (is_shm)
        EXPECT(is_over, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(data, MESSAGE, MPI_BYTE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(data, SMALL_EAGER, MPI_BYTE, right, 0, MPI_COMM_WORLD, &request);
    MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
    if (is_shm)
        EXPECT(is_over, 1);
    MPI_Recv(data, MESSAGE, MPI_BYTE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_T(MPI_T_pvar_session_free(&session));
}

static void check_while_running(void)
{
    int word = 0;
    EXPECT_ERROR(MPI_Send(&word, 1, MPI_INT, expect_size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    EXPECT(read_size("WEFT_EAGER_MAX"), SMALL_EAGER);
    EXPECT(write_size("WEFT_EAGER_MAX", 128), MPI_T_ERR_CVAR_SET_NOT_NOW);
    EXPECT(read_size("WEFT_EAGER_MAX"), SMALL_EAGER);
    EXPECT(write_int("WEFT_LAUNCH_RADIX", 4), MPI_T_ERR_CVAR_SET_NEVER);
    EXPECT(write_word("WEFT_SHM", "file"), MPI_T_ERR_CVAR_SET_NOT_NOW);
    unsigned long most = read_size("WEFT_UNEXPECTED_MAX");
    EXPECT_T(write_size("WEFT_UNEXPECTED_MAX", most / 2));
    EXPECT(read_size("WEFT_UNEXPECTED_MAX"), most / 2);
    EXPECT_T(write_size("WEFT_UNEXPECTED_MAX", most));
    check_values();
}

int main(void)
{
    int provided = -1;
    EXPECT_T(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    check_each();
    check_strings();
    check_texts();
    check_values();
    EXPECT(write_int("WEFT_LAUNCH_RADIX", 4), MPI_T_ERR_CVAR_SET_NEVER);
    EXPECT_T(write_size("WEFT_EAGER_MAX", SMALL_EAGER));
    EXPECT_T(write_word("WEFT_INITIAL_ERRHANDLER", "mpi_errors_return"));
    MPI_Init(NULL, NULL);
    expect_begin();
    check_each();
    check_eager_limit();
    check_while_running();
    int code = expect_end();
    EXPECT(write_size("WEFT_EAGER_MAX", 128), MPI_T_ERR_CVAR_SET_NOT_NOW);
    check_each();
    EXPECT_T(MPI_T_finalize());
    return code != 0 || expect_failures != 0;
}
