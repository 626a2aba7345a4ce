/* SPDX-License-Identifier: BSD-3-Clause */
/* A call with device memory, done by a function that takes host memory alone. */
#ifndef WEFT_DEVCOLL_HOST_RUN_H
#define WEFT_DEVCOLL_HOST_RUN_H

#include "coll/coll.h"
#include "coll/device_calls.h"

/** As weft_device_calls->run_on_host. */
int wefti_run_on_host(weft_coll_t coll, const weft_coll_args_t *args, const weft_host_run_t *run);

#endif
