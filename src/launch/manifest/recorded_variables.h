/* SPDX-License-Identifier: BSD-3-Clause */
/* Which variables of the environment a manifest records. */
#ifndef WEFT_LAUNCH_MANIFEST_RECORDED_VARIABLES_H
#define WEFT_LAUNCH_MANIFEST_RECORDED_VARIABLES_H

#include <stdbool.h>

/** Does a variable matter for what a job does, and is it no secret? `entry` is "NAME=VALUE". */
bool wl_is_recorded(const char *entry);

/** Does the name of a variable say that its value is a secret: TOKEN, SECRET, PASSWORD, KEY or the
 *  like? `name` may go on with '='. */
bool wl_is_secret(const char *name);

#endif
