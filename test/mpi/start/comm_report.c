/* SPDX-License-Identifier: BSD-3-Clause */
/* MPIX_Comm_report: every rank gets the report of the ranks of a communicator, whole or cut off. */
#include "expect.h"

#include <mpix.h>
#include <stdlib.h>
#include <string.h>

static void expect_words(const char *text, const char *const words[], int count)
{
    for (int i = 0; i < count; i++) {
        EXPECT_TEXT(strstr(text, words[i]) == NULL ? text : words[i], words[i]);
    }
}

/* The whole report of `comm`; the caller frees it. */
static char *report_of(MPI_Comm comm, int form)
{
    int length = -1, again = -1;
    EXPECT(MPIX_Comm_report(comm, form, 0, NULL, &length), MPI_SUCCESS);
    char *text = malloc((size_t)length + 1);
    EXPECT(MPIX_Comm_report(comm, form, length + 1, text, &again), MPI_SUCCESS);
    EXPECT(again, length);
    EXPECT((int)strlen(text), length);
    return text;
}

static void check_same_everywhere(MPI_Comm comm, const char *text)
{
    int length = (int)strlen(text);
    char *others = malloc((size_t)length + 1);
    strcpy(others, text);
    MPI_Bcast(others, length + 1, MPI_CHAR, 0, comm);
    EXPECT(strcmp(others, text), 0);
    free(others);
}

static void check_comm(MPI_Comm comm)
{
    int size;
    char count[64], json_count[64];
    MPI_Comm_size(comm, &size);
    snprintf(count, sizeof(count), "weft: %d rank%s on ", size, size == 1 ? "" : "s");
    snprintf(json_count, sizeof(json_count), "\"ranks\": %d,", size);
    const char *const words[] = {count, "same host", "other hosts", "libmpi_abi " WEFT_VERSION};
    const char *const members[] = {json_count,          "{\"version\": \"" WEFT_VERSION "\"",
                                   "\"hosts\": [",      "\"warnings\": [",
                                   "\"same_host\": \"", "\"gpus\": ["};
    char *text = report_of(comm, MPIX_REPORT_TEXT), *json = report_of(comm, MPIX_REPORT_JSON);
    expect_words(text, words, 4);
    expect_words(json, members, 6);
    EXPECT(json[0], '{');
    check_same_everywhere(comm, text);
    check_same_everywhere(comm, json);
    free(text);
    free(json);
}

static void check_cut_off(void)
{
    char text[8];
    int length;
    memset(text, 'x', sizeof(text));
    EXPECT(MPIX_Comm_report(MPI_COMM_WORLD, MPIX_REPORT_TEXT, 6, text, &length), MPI_SUCCESS);
    EXPECT(strcmp(text, "weft:"), 0);
    EXPECT(text[6], 'x');
    EXPECT(length > 6, 1);
}

int main(int argc, char **argv)
{
    MPI_Comm odd_or_even;
    int rank;
    MPI_Init(&argc, &argv);
    expect_begin();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &odd_or_even);
    check_comm(MPI_COMM_WORLD);
    check_comm(odd_or_even);
    check_comm(MPI_COMM_SELF);
    check_cut_off();
    MPI_Comm_free(&odd_or_even);
    return expect_end();
}
