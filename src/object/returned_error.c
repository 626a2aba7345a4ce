/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/returned_error.h"

#include "base/fail.h"

#include <stdio.h>

static _Thread_local weft_returned_errors_t errors;

weft_returned_errors_t *weft_returned_errors(void)
{
    return &errors;
}

static void forget_statuses(void)
{
    for (int i = 1; i < WEFT_RETURNED_ERRORS_MOST; i++)
        errors.kept[i].error = MPI_SUCCESS;
}

/* An error of the program's own has the text that the program has given it. */
static bool is_of_program(int error)
{
    return error > MPI_ERR_LASTCODE;
}

static void keep(int at, int error, const char *call)
{
    const char *cause = weft_fail_text();
    bool has_text = cause[0] != '\0' && !is_of_program(error);
    errors.kept[at].error = has_text ? error : MPI_SUCCESS;
    errors.kept[at].more = 0;
    if (has_text)
        snprintf(errors.kept[at].text, sizeof(errors.kept[at].text), "%s: %s", call, cause);
}

void weft_returned_error_note(int error, const char *call)
{
    if (error != MPI_ERR_IN_STATUS)
        forget_statuses();
    keep(0, error, call);
}

void weft_returned_error_note_status(int error, const char *call, bool is_first)
{
    if (is_first)
        forget_statuses();
    int at = 1;
    while (at < WEFT_RETURNED_ERRORS_MOST && errors.kept[at].error != MPI_SUCCESS &&
           errors.kept[at].error != error)
        at++;
    if (at == WEFT_RETURNED_ERRORS_MOST)
        return;
    if (errors.kept[at].error == error)
        errors.kept[at].more++;
    else
        keep(at, error, call);
}

int weft_returned_error_text(int error, char *out)
{
    int at = 0;
    while (at < WEFT_RETURNED_ERRORS_MOST && errors.kept[at].error != error)
        at++;
    if (at == WEFT_RETURNED_ERRORS_MOST || error == MPI_SUCCESS)
        return 0;
    const int room = MPI_MAX_ERROR_STRING;
    int length = errors.kept[at].more == 0 ? snprintf(out, (size_t)room, "%s", errors.kept[at].text)
                                           : snprintf(out, (size_t)room, "%s (and %d more)",
                                                      errors.kept[at].text, errors.kept[at].more);
    return length < room ? length : room - 1;
}
