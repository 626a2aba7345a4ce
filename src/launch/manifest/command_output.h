/* SPDX-License-Identifier: BSD-3-Clause */
/* What another program prints, for a manifest. */
#ifndef WEFT_LAUNCH_MANIFEST_COMMAND_OUTPUT_H
#define WEFT_LAUNCH_MANIFEST_COMMAND_OUTPUT_H

#include <stdbool.h>

/**
 * Run words[0], looked for in PATH, with /dev/null as stdin and stderr, and wait for it,
 * WEFT_TIMEOUT at most: where that is over, `launcher` says so on stderr.
 * returns  its stdout as a text, to be given to weft_free(); NULL: it was not found, or has not
 *          ended with 0 in time
 */
char *wl_command_output(const char *launcher, const char *const words[]);

#endif
