/* SPDX-License-Identifier: BSD-3-Clause */
/* RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun, Kubernetes and people set them. */
#include "pmi/bootstrap_private.h"
#include "pmi/hub_private.h"
#include "pmi/torch_store_private.h"

#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With a token (WEFT_JOB_TOKEN) only who knows it can join. Without one the secret keeps jobs apart
 * that meet by accident, and port scanners out. */
void weft_hub_derive_secret(uint8_t out[WEFT_SECRET_BYTES])
{
    static const uint8_t label[WEFT_SECRET_BYTES] = "weft job token";
    const char *run = weft_environment("TORCHELASTIC_RUN_ID");
    char text[1024];
    int length =
        snprintf(text, sizeof(text), "%s\n%s", weft_config.JOB_TOKEN, run == NULL ? "" : run);
    size_t bytes = (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1;
    weft_keyed_hash(label, text, bytes, out);
}

static int check_port(const char *text)
{
    char *end;
    long port = strtol(text, &end, 10);
    if (end == text || *end != '\0' || port < 1 || port > 65535)
        return weft_fail(MPI_ERR_OTHER, "MASTER_PORT is %s; expected is 1 to 65535", text);
    return MPI_SUCCESS;
}

static int check_master(const weft_environment_ranks_t *ranks)
{
    const char *missing = ranks->address == NULL ? "MASTER_ADDR"
                          : ranks->port == NULL  ? "MASTER_PORT"
                                                 : NULL;
    if (missing != NULL)
        return weft_fail(MPI_ERR_OTHER,
                         "RANK and WORLD_SIZE are set, but %s is not: rank 0 listens at "
                         "MASTER_ADDR and MASTER_PORT; WEFT_BOOTSTRAP=singleton runs this process "
                         "alone",
                         missing);
    return check_port(ranks->port);
}

/* The key names the run and its restart, as the agent's store outlives the ranks. With WEFT_REJOIN
 * ranks meet that were started again a different number of times. */
static void name_run(const weft_environment_ranks_t *ranks, weft_torch_store_t *out)
{
    const char *run = weft_environment("TORCHELASTIC_RUN_ID");
    const char *restart = weft_environment("TORCHELASTIC_RESTART_COUNT");
    *out = (weft_torch_store_t){.address = ranks->address, .port = ranks->port};
    snprintf(out->prefix, sizeof(out->prefix), "weft/%.200s/%.20s", run == NULL ? "" : run,
             restart == NULL || weft_config.REJOIN ? "" : restart);
}

static bool is_torch_store(const void *state)
{
    return weft_torch_store_is_there(state);
}

static bool has_agent_store(void)
{
    const char *answer = weft_environment("TORCHELASTIC_USE_AGENT_STORE");
    return answer != NULL && strcmp(answer, "True") == 0;
}

static int environment_open(weft_pmi_job_t *out)
{
    static char job[300];
    static weft_torch_store_t store;
    weft_environment_ranks_t ranks;
    bool is_there;
    int err = weft_pmi_read_ranks(&ranks, &is_there);
    if (err != MPI_SUCCESS || !is_there)
        return err != MPI_SUCCESS ? err : MPI_ERR_UNSUPPORTED_OPERATION;
    err = check_master(&ranks);
    if (err != MPI_SUCCESS)
        return err;
    snprintf(job, sizeof(job), "%.250s:%s", ranks.address, ranks.port);
    err = weft_pmi_refuse_second_process(job, weft_environment("RANK"), "RANK");
    if (err != MPI_SUCCESS)
        return err;
    name_run(&ranks, &store);
    weft_hub_plan_t plan = {.self = {.rank = ranks.rank,
                                     .size = ranks.size,
                                     .state = &store,
                                     .put = weft_torch_store_put,
                                     .get = weft_torch_store_get},
                            .uses_store = has_agent_store(),
                            .address = ranks.address,
                            .port = ranks.port,
                            .is_store = is_torch_store,
                            .job = job};
    weft_hub_derive_secret(plan.secret);
    return weft_hub_join(&plan, out);
}

const weft_bootstrap_t weft_environment_bootstrap = {"environment", environment_open,
                                                     &weft_hub_calls};
