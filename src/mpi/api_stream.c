/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of devices and their communicators (mpix.h). The _enqueue functions are in the files of
 * their operations. */
#include "mpi/api.h"

#include "mpi/check.h"
#include "mpi/leaks.h"
#include "comm/comm_make.h"
#include "stream/conduit.h"
#include "stream/stream.h"
#include "base/fail.h"

#include <inttypes.h>
#include <string.h>

/* ---- bytes as text ---- */

enum { HEX_BYTES_MOST = (MPI_MAX_INFO_VAL - 1) / 2, HANDLE_BYTES_MOST = 16 };

static int check_hex(MPI_Info handle, const char *key, const void *value, int bytes,
                     weft_info_t **info_out)
{
    int err = weft_check_own_info(handle, info_out);
    if (err == MPI_SUCCESS)
        err = weft_check_text(key, MPI_MAX_INFO_KEY - 1, MPI_ERR_INFO_KEY, "key");
    if (err == MPI_SUCCESS && key[0] == '\0')
        err = weft_fail(MPI_ERR_INFO_KEY, "key is empty");
    if (err == MPI_SUCCESS)
        err = weft_check_input(value, "value");
    if (err == MPI_SUCCESS && (bytes < 1 || bytes > HEX_BYTES_MOST))
        err = weft_fail(MPI_ERR_INFO_VALUE, "value_size is %d, but must be from 1 to %d", bytes,
                        HEX_BYTES_MOST);
    return err;
}

static void write_hex(const unsigned char *bytes, int count, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < count; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

static int digit_of(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    if (letter >= 'a' && letter <= 'f')
        return letter - 'a' + 10;
    return letter >= 'A' && letter <= 'F' ? letter - 'A' + 10 : -1;
}

static int read_hex(const char *text, unsigned char *out, size_t *bytes_out)
{
    size_t length = strlen(text);
    bool is_hex = length % 2 == 0 && length > 0 && length <= 2 * HANDLE_BYTES_MOST;
    for (size_t i = 0; is_hex && i < length; i++)
        is_hex = digit_of(text[i]) >= 0;
    if (!is_hex)
        return weft_fail(MPI_ERR_INFO_VALUE,
                         "info key \"value\" is \"%.64s\", but must be a stream's handle as "
                         "MPIX_Info_set_hex writes it",
                         text);
    for (size_t i = 0; i < length / 2; i++)
        out[i] = (unsigned char)(digit_of(text[2 * i]) << 4 | digit_of(text[2 * i + 1]));
    *bytes_out = length / 2;
    return MPI_SUCCESS;
}

/** Sets a key of an info to bytes, written as hexadecimal digits, so that a handle of another
 *  library can be put into it (mpix.h). May be called at any time.
 *  @param[in] value  value_size bytes
 *  @param[in] value_size  1 or more; two digits for each byte must fit into MPI_MAX_INFO_VAL
 *  @error MPI_ERR_INFO_KEY  key is empty or too long
 *  @error MPI_ERR_INFO_VALUE  value_size is out of its range
 *  @see MPIX_Stream_create, MPI_Info_set */
WEFT_API(MPIX_Info_set_hex);
int PMPIX_Info_set_hex(MPI_Info handle, const char *key, const void *value, int value_size)
{
    char text[2 * HEX_BYTES_MOST + 1];
    weft_call_t call = weft_call_begin_anytime("MPIX_Info_set_hex");
    weft_info_t *info;
    int err = check_hex(handle, key, value, value_size, &info);
    if (err == MPI_SUCCESS) {
        write_hex(value, value_size, text);
        err = weft_info_set(info, key, text);
    }
    return weft_call_end_anytime(&call, err);
}

/* ---- streams ---- */

static int check_stream(MPIX_Stream handle, weft_stream_t **out)
{
    *out = weft_stream_of(handle);
    if (*out != NULL)
        return MPI_SUCCESS;
    if (handle == MPIX_STREAM_NULL)
        return weft_fail(MPI_ERR_ARG, "stream is MPIX_STREAM_NULL");
    if (weft_is_predefined(handle))
        return weft_fail(MPI_ERR_ARG, "stream is 0x%" PRIxPTR ", which is no MPIX_Stream handle",
                         (uintptr_t)handle);
    return weft_fail(MPI_ERR_ARG,
                     "stream is a handle that was freed, or no MPIX_Stream handle at all");
}

/* The stream's handle in an info; 0 bytes: the info has none. */
static int read_handle(const weft_info_t *info, unsigned char *out, size_t *bytes_out)
{
    const char *type = info == NULL ? NULL : weft_info_get(info, "type");
    *bytes_out = 0;
    if (type == NULL)
        return MPI_SUCCESS;
    if (strcmp(type, "cudaStream_t") != 0)
        return weft_fail(MPI_ERR_INFO_VALUE,
                         "info key \"type\" is \"%.64s\", but must be \"cudaStream_t\"", type);
    const char *value = weft_info_get(info, "value");
    if (value == NULL)
        return weft_fail(
            MPI_ERR_INFO_NOKEY,
            "info key \"type\" is there, but \"value\" is not: the stream's handle, to "
            "be set by MPIX_Info_set_hex");
    return read_hex(value, out, bytes_out);
}

/** Makes a handle for a CUDA stream of the program, whose communicators can put operations into the
 *  stream (mpix.h). The first one starts a thread of Weft, and from then on all MPI calls take a
 *  lock. Destroy the CUDA stream after MPIX_Stream_free.
 *  @param[in] info  key "type" is "cudaStream_t", and key "value" the stream, set by
 *      MPIX_Info_set_hex; without "type" the stream belongs to no device, and nothing can be
 *      enqueued
 *  @error MPI_ERR_INFO_VALUE  "type" or "value" is something else
 *  @error MPI_ERR_ARG  the handle in "value" is not as long as a cudaStream_t, or is
 *      cudaStreamPerThread
 *  @error MPI_ERR_INFO_NOKEY  there is "type", but no "value"
 *  @error MPI_ERR_OTHER  WEFT_DEVICE=no switches devices off, the program does not use CUDA, or its
 *      driver is older than 11.4 or refuses
 *  @see MPIX_Stream_comm_create, MPIX_Stream_free, MPIX_Info_set_hex */
WEFT_API(MPIX_Stream_create);
int PMPIX_Stream_create(MPI_Info info_handle, MPIX_Stream *out)
{
    weft_call_t call = weft_call_begin("MPIX_Stream_create");
    weft_info_t *info;
    weft_stream_t *stream;
    unsigned char handle[HANDLE_BYTES_MOST];
    size_t bytes = 0;
    int err = weft_check_info(info_handle, &info);
    if (err == MPI_SUCCESS)
        err = weft_check_output(out, "stream");
    if (err == MPI_SUCCESS)
        err = read_handle(info, handle, &bytes);
    if (err == MPI_SUCCESS)
        err = weft_stream_create(bytes == 0 ? NULL : handle, bytes, &stream);
    if (err == MPI_SUCCESS)
        *out = (MPIX_Stream)stream;
    return weft_call_end(&call, err);
}

/** Frees the handle of a stream (mpix.h). Operations that were enqueued still run, and MPI_Finalize
 *  waits for them; nothing more can be enqueued on communicators of the stream.
 *  @param[in,out] stream  becomes MPIX_STREAM_NULL
 *  @see MPIX_Stream_create */
WEFT_API(MPIX_Stream_free);
int PMPIX_Stream_free(MPIX_Stream *handle)
{
    weft_call_t call = weft_call_begin("MPIX_Stream_free");
    weft_stream_t *stream;
    int err = weft_check_output(handle, "stream");
    if (err == MPI_SUCCESS)
        err = check_stream(*handle, &stream);
    if (err == MPI_SUCCESS) {
        weft_stream_free(stream);
        *handle = MPIX_STREAM_NULL;
    }
    return weft_call_end(&call, err);
}

/* ---- communicators ---- */

/** Makes a copy of a communicator whose enqueued operations run in the order of a stream (mpix.h).
 *  Collective over comm; each rank gives a stream of its own. Ordinary calls may use the new
 *  communicator too, while no enqueued operation on it is under way.
 *  @param[in] comm  an intracommunicator
 *  @param[in] stream  this rank's stream, or MPIX_STREAM_NULL: it cannot enqueue
 *  @error MPI_ERR_COMM  comm is no communicator, or an intercommunicator
 *  @see MPIX_Stream_create, MPIX_Send_enqueue, MPIX_Allreduce_enqueue */
WEFT_API(MPIX_Stream_comm_create);
int PMPIX_Stream_comm_create(MPI_Comm comm_handle, MPIX_Stream handle, MPI_Comm *newcomm)
{
    weft_call_t call = weft_call_begin("MPIX_Stream_comm_create");
    weft_comm_t *comm, *copy;
    weft_stream_t *stream = NULL;
    int err = weft_check_intracomm(&call, comm_handle, "comm", &comm);
    if (err == MPI_SUCCESS && handle != MPIX_STREAM_NULL)
        err = check_stream(handle, &stream);
    if (err == MPI_SUCCESS)
        err = weft_check_output(newcomm, "newcomm");
    if (err == MPI_SUCCESS)
        err = weft_comm_dup(comm, &copy);
    if (err == MPI_SUCCESS && stream != NULL)
        weft_stream_attach(stream, copy);
    if (err == MPI_SUCCESS && (err = weft_conduit_agree(copy, stream)) != MPI_SUCCESS)
        weft_comm_release(copy);
    if (err == MPI_SUCCESS)
        *newcomm = weft_give_comm(call.name, copy);
    return weft_call_end(&call, err);
}

/** Gives the stream of a communicator (mpix.h).
 *  @param[in] idx  0: a communicator has one stream
 *  @param[out] stream  MPIX_STREAM_NULL if it has none, or if the stream was freed
 *  @error MPI_ERR_ARG  idx is not 0
 *  @see MPIX_Stream_comm_create */
WEFT_API(MPIX_Comm_get_stream);
int PMPIX_Comm_get_stream(MPI_Comm comm_handle, int idx, MPIX_Stream *stream)
{
    weft_call_t call = weft_call_begin("MPIX_Comm_get_stream");
    weft_comm_t *comm;
    int err = weft_check_comm(&call, comm_handle, &comm);
    if (err == MPI_SUCCESS && idx != 0)
        err =
            weft_fail(MPI_ERR_ARG, "idx is %d, but must be 0: a communicator has one stream", idx);
    if (err == MPI_SUCCESS)
        err = weft_check_output(stream, "stream");
    if (err == MPI_SUCCESS) {
        weft_stream_t *own = weft_stream_of_comm(comm);
        *stream = weft_stream_of(own) == NULL ? MPIX_STREAM_NULL : (MPIX_Stream)own;
    }
    return weft_call_end(&call, err);
}
