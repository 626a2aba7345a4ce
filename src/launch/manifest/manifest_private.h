/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the parts of a manifest: manifest.c, manifest_facts.c, manifest_rerun.c. */
#ifndef WEFT_LAUNCH_MANIFEST_MANIFEST_PRIVATE_H
#define WEFT_LAUNCH_MANIFEST_MANIFEST_PRIVATE_H

#include "launch/manifest/manifest.h"

#include <jansson.h>

#define WLI_MANIFEST_SCHEMA "weft-manifest 1"

struct wl_manifest {
    const wl_job_plan_t *plan; /* NULL: it was read from a file */
    wl_manifest_t *then;       /* of a job that is run again; belongs to the caller */
    json_t *root;
};

/** Have jansson take its memory from weft_alloc(); to be called first, any number of times. */
void wli_manifest_use_memory(void);

/** A text as JSON has it: bytes that are no UTF-8 become '?'. NULL: null. */
json_t *wli_manifest_text(const char *text);

/** What `weft_info` says of the library and its build; null: it cannot be asked. */
json_t *wli_manifest_weft(const char *launcher);

/** Commit and dirtiness of the working directory; null: it belongs to no git repository. */
json_t *wli_manifest_git(const char *launcher);

/** Of each program: its path, its script if it is one of an interpreter, and their sha256. */
json_t *wli_manifest_programs(const wl_job_plan_t *plan);

/** Version and packages of the Python interpreter that the first such program uses; null: no
 *  program is one of Python, or it cannot be asked. */
json_t *wli_manifest_python(const wl_job_plan_t *plan);

/** Tell on stderr what differs in `parts`, names of members that end with NULL. */
void wli_manifest_compare(const char *launcher, const json_t *then, const json_t *now,
                          const char *const parts[]);

#endif
