/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command lines of mpirun to a complete plan, which then goes through a message. The input is a
 * line for each word; what follows a line "%%" is a file, whose path takes the place of the word
 * FILE.
 * fuzz: runs=15000 most=300 of=launch/plan,launch/loop,launch/tree,base
 */
#include "long_list.h"

#include "base/fail.h"
#include "base/memory.h"
#include "launch/plan/launch_options.h"
#include "launch/tree/plan_message.h"
#include "mpi.h"

enum { WORDS_MOST = 64, RANKS_MOST = 4096 };

static int split(char *text, char **words)
{
    static char path[64];
    char *file = strstr(text, "\n%%\n");
    if (file != NULL)
        *file = '\0';
    snprintf(path, sizeof(path), "%s",
             fuzz_file(file == NULL ? "" : file + 4, //
                       file == NULL ? 0 : strlen(file + 4)));
    int count = 0;
    words[count++] = "mpirun";
    for (char *next = text; next != NULL && count < WORDS_MOST; count++) {
        char *word = strsep(&next, "\n");
        words[count] = strcmp(word, "FILE") == 0 ? path : word;
    }
    words[count] = NULL;
    return count;
}

/* A plan that was completed arrives whole at the daemons. */
static void send_plan(const wl_job_plan_t *plan)
{
    wl_writer_t writer = {0};
    wl_received_plan_t received;
    wl_plan_write(plan, "/", NULL, &writer);
    const wl_message_t message = {.body = wl_queue_front(&writer.body),
                                  .bytes = wl_queue_bytes(&writer.body)};
    if (wl_plan_read(&message, &received) != MPI_SUCCESS) {
        fprintf(stderr, "%s\n", weft_fail_text());
        fuzz_expect(false, "a plan is refused by the daemons");
    }
    fuzz_expect(received.plan.size == plan->size, "a plan has changed");
    for (int i = 0; i < received.plan.app_count; i++)
        weft_free(received.plan.apps[i].arguments);
    wl_job_plan_release(&received.plan);
    wl_queue_release(&received.text);
    wl_writer_release(&writer);
}

static void use_plan(const wl_job_plan_t *plan)
{
    for (int i = 0; i < 2; i++) {
        wl_variables_t environment;
        int rank = i == 0 ? 0 : plan->size - 1;
        fuzz_expect(wl_job_plan_app_of(plan, rank)->arguments[0] != NULL, "there is no program");
        if (wl_job_plan_environment(plan, rank, &environment) == MPI_SUCCESS)
            wl_variables_release(&environment);
    }
    if (plan->size <= RANKS_MOST)
        send_plan(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = fuzz_text(data, bytes), *words[WORDS_MOST + 1];
    if (fuzz_has_long_list(text)) {
        free(text);
        return 0;
    }
    int count = split(text, words);
    wl_words_t line = {0};
    wl_job_plan_t plan = {0};
    int err = wl_options_expand(count, words, &line);
    if (err == MPI_SUCCESS)
        err = wl_options_parse(line.count, line.words, &plan);
    if (err == MPI_SUCCESS && !plan.wants_help && !plan.wants_version) {
        err = wl_job_plan_read_hosts(&plan);
        if (err == MPI_SUCCESS)
            err = wl_job_plan_complete(&plan);
        if (err == MPI_SUCCESS)
            use_plan(&plan);
    }
    fuzz_expect(err == MPI_SUCCESS || weft_fail_text()[0] != '\0', "a refusal has no text");
    wl_job_plan_release(&plan);
    wl_words_release(&line);
    free(text);
    return 0;
}
