/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/error_code.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"
#include "mpix.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const texts[] = {
    [MPI_SUCCESS] = "no error",
    [MPI_ERR_BUFFER] = "bad buffer pointer",
    [MPI_ERR_COUNT] = "bad count",
    [MPI_ERR_TYPE] = "bad datatype",
    [MPI_ERR_TAG] = "bad tag",
    [MPI_ERR_COMM] = "bad communicator",
    [MPI_ERR_RANK] = "bad rank",
    [MPI_ERR_REQUEST] = "bad request",
    [MPI_ERR_ROOT] = "bad root",
    [MPI_ERR_GROUP] = "bad group",
    [MPI_ERR_OP] = "bad reduction operation",
    [MPI_ERR_TOPOLOGY] = "bad topology",
    [MPI_ERR_DIMS] = "bad dimensions",
    [MPI_ERR_ARG] = "bad argument",
    [MPI_ERR_UNKNOWN] = "unknown error",
    [MPI_ERR_TRUNCATE] = "a message is longer than the buffer for it",
    [MPI_ERR_OTHER] = "another error, which the message of the call describes",
    [MPI_ERR_INTERN] = "error inside the MPI library",
    [MPI_ERR_PENDING] = "the request is neither complete nor failed",
    [MPI_ERR_IN_STATUS] = "the error codes are in the statuses",
    [MPI_ERR_ACCESS] = "permission denied",
    [MPI_ERR_AMODE] = "bad access mode of a file",
    [MPI_ERR_ASSERT] = "bad assertion argument",
    [MPI_ERR_BAD_FILE] = "bad file name",
    [MPI_ERR_BASE] = "bad base of a window or of allocated memory",
    [MPI_ERR_CONVERSION] = "a user's data conversion function failed",
    [MPI_ERR_DISP] = "bad displacement",
    [MPI_ERR_DUP_DATAREP] = "a data representation of this name is there already",
    [MPI_ERR_FILE_EXISTS] = "the file exists",
    [MPI_ERR_FILE_IN_USE] = "the file is open somewhere",
    [MPI_ERR_FILE] = "bad file handle",
    [MPI_ERR_INFO_KEY] = "bad info key",
    [MPI_ERR_INFO_NOKEY] = "the info has no such key",
    [MPI_ERR_INFO_VALUE] = "bad info value",
    [MPI_ERR_INFO] = "bad info object",
    [MPI_ERR_IO] = "input or output failed",
    [MPI_ERR_KEYVAL] = "bad keyval",
    [MPI_ERR_LOCKTYPE] = "bad lock type",
    [MPI_ERR_NAME] = "no service of this name is published",
    [MPI_ERR_NO_MEM] = "out of memory",
    [MPI_ERR_NOT_SAME] = "ranks gave different values for an argument that must be the same",
    [MPI_ERR_NO_SPACE] = "no space left on the file system",
    [MPI_ERR_NO_SUCH_FILE] = "there is no such file",
    [MPI_ERR_PORT] = "bad port name",
    [MPI_ERR_QUOTA] = "quota exceeded",
    [MPI_ERR_READ_ONLY] = "the file or file system is read-only",
    [MPI_ERR_RMA_ATTACH] = "memory cannot be attached to the window",
    [MPI_ERR_RMA_CONFLICT] = "accesses to a window conflict",
    [MPI_ERR_RMA_RANGE] = "the memory is not part of the window",
    [MPI_ERR_RMA_SHARED] = "memory cannot be shared",
    [MPI_ERR_RMA_SYNC] = "wrong synchronisation of one-sided communication",
    [MPI_ERR_SERVICE] = "bad service name",
    [MPI_ERR_SIZE] = "bad size",
    [MPI_ERR_SPAWN] = "processes could not be started",
    [MPI_ERR_UNSUPPORTED_DATAREP] = "the data representation is not supported",
    [MPI_ERR_UNSUPPORTED_OPERATION] = "the operation is not supported",
    [MPI_ERR_WIN] = "bad window",
    [MPI_ERR_RMA_FLAVOR] = "the window was made in another way than the call needs",
    [MPI_ERR_PROC_ABORTED] = "a process has ended that the operation needs",
    [MPI_ERR_VALUE_TOO_LARGE] = "a value does not fit into the argument for it",
    [MPI_ERR_SESSION] = "bad session",
    [MPI_ERR_ERRHANDLER] = "bad error handler",
    [MPI_ERR_ABI] = "the binary interface does not allow it",
};

static const char *const tool_texts[] = {
    "the tool interface cannot be initialised",
    "the tool variable is not accessible",
    "the tool interface is not initialised",
    "not supported by the tool interface",
    "the tool interface is out of memory",
    "bad use of the tool interface",
    "bad index in the tool interface",
    "bad item in the tool interface",
    "bad session of the tool interface",
    "bad handle of the tool interface",
    "the tool interface knows no such name",
    "the tool interface has no more handles",
    "the tool interface has no more sessions",
    "the control variable cannot be set now",
    "the control variable can never be set",
    "the performance variable cannot be written",
    "the performance variable cannot be started or stopped",
    "the performance variable cannot be read and reset at once",
};

static const char *const fault_texts[] = {
    "a process that the operation needs has failed",
    "a process that might have sent the message has failed; the receive waits on",
    "the communicator was revoked",
};

enum {
    CLASSES = sizeof(texts) / sizeof(texts[0]),
    TOOL_CLASSES = sizeof(tool_texts) / sizeof(tool_texts[0]),
    FAULT_CLASSES = sizeof(fault_texts) / sizeof(fault_texts[0]),
    FIRST_CODE = MPI_ERR_LASTCODE + 1,
    FIRST_MISSING = 0x2000, /* codes for functions that are missing */
    MISSING_MOST = 512,
};

_Static_assert(CLASSES == MPI_ERR_ABI + 1, "a class has no text");
_Static_assert(TOOL_CLASSES == MPI_T_ERR_PVAR_NO_ATOMIC - MPI_T_ERR_CANNOT_INIT + 1,
               "a class of the tool interface has no text");

_Static_assert(FAULT_CLASSES == MPIX_ERR_REVOKED - MPIX_ERR_PROC_FAILED + 1,
               "a class of fault tolerance has no text");

/* A user's class or code; a class is its own class. */
typedef struct code {
    bool is_used;
    int error_class;
    char *text; /* NULL: none */
} code_t;

static code_t *codes; /* [room] by code - FIRST_CODE */
static int room;

int weft_error_last_used = MPI_ERR_LASTCODE;

static code_t *user_code(int code)
{
    if (code < FIRST_CODE || code > weft_error_last_used || !codes[code - FIRST_CODE].is_used)
        return NULL;
    return &codes[code - FIRST_CODE];
}

/* Functions that are missing and were called, with the text of each; by code - FIRST_MISSING. */
static struct missing {
    const char *function;
    char text[MPI_MAX_OBJECT_NAME];
} missing[MISSING_MOST];
static int missing_count;

_Static_assert(FIRST_MISSING > MPI_T_ERR_PVAR_NO_ATOMIC && FIRST_MISSING > MPI_ERR_ABI &&
                   FIRST_MISSING + MISSING_MOST <= MPIX_ERR_PROC_FAILED &&
                   MPIX_ERR_REVOKED <= MPI_ERR_LASTCODE,
               "codes for missing functions are no classes, and not the user's");

int weft_error_of_missing(const char *function)
{
    int i = 0;
    while (i < missing_count && strcmp(missing[i].function, function) != 0)
        i++;
    if (i == MISSING_MOST)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (i == missing_count) {
        snprintf(missing[i].text, sizeof(missing[i].text),
                 "%s is not implemented in this version of Weft", function);
        missing[i].function = function;
        missing_count++;
    }
    return FIRST_MISSING + i;
}

static bool is_missing(int code)
{
    return code >= FIRST_MISSING && code < FIRST_MISSING + missing_count;
}

const char *weft_error_text(int code)
{
    if (is_missing(code))
        return missing[code - FIRST_MISSING].text;
    if (code >= 0 && code < CLASSES)
        return texts[code];
    if (code >= MPI_T_ERR_CANNOT_INIT && code < MPI_T_ERR_CANNOT_INIT + TOOL_CLASSES)
        return tool_texts[code - MPI_T_ERR_CANNOT_INIT];
    if (code >= MPIX_ERR_PROC_FAILED && code < MPIX_ERR_PROC_FAILED + FAULT_CLASSES)
        return fault_texts[code - MPIX_ERR_PROC_FAILED];
    const code_t *own = user_code(code);
    if (own == NULL)
        return NULL;
    return own->text == NULL ? "" : own->text;
}

int weft_error_class(int code)
{
    const code_t *own = user_code(code);
    if (own != NULL)
        return own->error_class;
    if (is_missing(code))
        return MPI_ERR_UNSUPPORTED_OPERATION;
    return weft_error_text(code) == NULL ? -1 : code;
}

static bool is_class(int code)
{
    return code >= 0 && weft_error_class(code) == code;
}

/* The first number that is free; -1: no memory. */
static int take_code(void)
{
    int used = weft_error_last_used - MPI_ERR_LASTCODE, slot = 0;
    while (slot < used && codes[slot].is_used)
        slot++;
    if (slot == room) {
        int wider = room == 0 ? 16 : 2 * room;
        code_t *grown = weft_realloc(codes, (size_t)wider * sizeof(*grown));
        if (grown == NULL)
            return -1;
        codes = grown;
        room = wider;
    }
    if (slot == used)
        weft_error_last_used++;
    return FIRST_CODE + slot;
}

static int add_code(int error_class, int *out)
{
    int code = take_code();
    if (code < 0)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for an error code");
    codes[code - FIRST_CODE] =
        (code_t){.is_used = true, .error_class = error_class < 0 ? code : error_class};
    *out = code;
    return MPI_SUCCESS;
}

int weft_error_add_class(int *class_out)
{
    return add_code(-1, class_out);
}

int weft_error_add_code(int error_class, int *code_out)
{
    if (!is_class(error_class))
        return weft_fail(MPI_ERR_ARG, "errorclass is %d, which is no error class", error_class);
    return add_code(error_class, code_out);
}

static int find_user_code(int code, const char *name, code_t **out)
{
    *out = user_code(code);
    if (*out == NULL)
        return weft_fail(MPI_ERR_ARG,
                         "%s is %d, which is no error class or code that this program has added",
                         name, code);
    return MPI_SUCCESS;
}

int weft_error_add_text(int code, const char *text)
{
    code_t *own;
    int err = find_user_code(code, "errorcode", &own);
    if (err != MPI_SUCCESS)
        return err;
    char *copy = weft_strdup(text);
    if (copy == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for an error text");
    weft_free(own->text);
    own->text = copy;
    return MPI_SUCCESS;
}

/* The program must have removed the text before (section 9.5). */
static int free_code(code_t *own)
{
    if (own->text != NULL)
        return weft_fail(MPI_ERR_ARG, "error code %d still has a text",
                         (int)(own - codes) + FIRST_CODE);
    *own = (code_t){.is_used = false};
    while (weft_error_last_used >= FIRST_CODE && !codes[weft_error_last_used - FIRST_CODE].is_used)
        weft_error_last_used--;
    return MPI_SUCCESS;
}

static bool has_codes(int error_class)
{
    for (int code = FIRST_CODE; code <= weft_error_last_used; code++) {
        const code_t *own = user_code(code);
        if (own != NULL && code != error_class && own->error_class == error_class)
            return true;
    }
    return false;
}

int weft_error_remove_class(int error_class)
{
    code_t *own;
    int err = find_user_code(error_class, "errorclass", &own);
    if (err != MPI_SUCCESS)
        return err;
    if (own->error_class != error_class)
        return weft_fail(MPI_ERR_ARG, "errorclass is %d, which is an error code", error_class);
    if (has_codes(error_class))
        return weft_fail(MPI_ERR_ARG, "errorclass is %d, which still has error codes", error_class);
    return free_code(own);
}

int weft_error_remove_code(int code)
{
    code_t *own;
    int err = find_user_code(code, "errorcode", &own);
    if (err != MPI_SUCCESS)
        return err;
    if (own->error_class == code)
        return weft_fail(MPI_ERR_ARG, "errorcode is %d, which is an error class", code);
    return free_code(own);
}

int weft_error_remove_text(int code)
{
    code_t *own;
    int err = find_user_code(code, "errorcode", &own);
    if (err != MPI_SUCCESS)
        return err;
    if (own->text == NULL)
        return weft_fail(MPI_ERR_ARG, "error code %d has no text", code);
    weft_free(own->text);
    own->text = NULL;
    return MPI_SUCCESS;
}
