/* SPDX-License-Identifier: BSD-3-Clause */
/* A build without a JSON library. */
#include "launch/manifest/manifest.h"

#include "base/fail.h"
#include "launch/plan/launch_options.h"
#include "mpi.h"

static int manifest_refuse(const char *option)
{
    return weft_fail(
        MPI_ERR_UNSUPPORTED_OPERATION,
        "%s: this build of Weft has no manifests, since configure did not find jansson "
        "(the Debian package libjansson-dev has it)",
        option);
}

int wl_rerun_expand(wl_words_t *command, wl_manifest_t **then_out)
{
    const char *path;
    int end;
    *then_out = NULL;
    return wl_options_find(command, "rerun", &path, &end) < 0 ? MPI_SUCCESS
                                                              : manifest_refuse("--rerun");
}

int wl_manifest_begin(const wl_job_plan_t *plan, char *const *words, wl_manifest_t *then,
                      wl_manifest_t **out)
{
    (void)words, (void)then;
    *out = NULL;
    return plan->manifest == NULL ? MPI_SUCCESS : manifest_refuse("--manifest");
}

int wl_manifest_end(wl_manifest_t *manifest, int exit_code, const wl_recorded_end_t *ends)
{
    (void)manifest, (void)exit_code, (void)ends;
    return MPI_SUCCESS;
}

void wl_manifest_release(wl_manifest_t *manifest)
{
    (void)manifest;
}
