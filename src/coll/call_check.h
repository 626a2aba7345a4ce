/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WEFT_CHECK=collectives: do all ranks of a communicator call the same collectives with the same
 * arguments? Each rank tells its right neighbour about each of its calls, and compares what its
 * left neighbour tells with its own call. Ranks that disagree end the job with a text that names
 * both calls, instead of waiting for ever or taking each other's data.
 *
 * Compared are the collective, the form, the root, the operation, the type of its operands, and the
 * bytes of a block; the counts of the v and w forms differ between ranks, and are not.
 */
#ifndef WEFT_COLL_CALL_CHECK_H
#define WEFT_COLL_CALL_CHECK_H

#include "coll/coll.h"
#include "base/own_symbol.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum weft_call_form {
    WEFT_CALL_BLOCKING,
    WEFT_CALL_NONBLOCKING,
    WEFT_CALL_PERSISTENT,
} weft_call_form_t;

/** Is it wanted? Fixed at start-up. */
extern WEFT_OWN_SYMBOL bool weft_checks_collectives;

/** Set weft_checks_collectives from the configuration. */
void weft_call_check_open(void);
void weft_call_check_close(void);

/** Check a call, of which all ranks must give `bytes`. A blocking one waits for the neighbour's
 * call. Returns MPI_SUCCESS, MPI_ERR_NO_MEM, or the error of a message; does not return if the
 * ranks disagree. */
int weft_call_check(weft_coll_t coll, const weft_coll_args_t *args, weft_call_form_t form,
                    size_t bytes);

/** Wait for the neighbours' calls that have not been compared yet, since this rank's did not need
 * them. To be called when this rank has told that it ends. Does not return if a call that the
 * neighbour never made is missing. */
void weft_call_checks_end(void);

#endif
