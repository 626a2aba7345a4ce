/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/wait_pvars.h"

weft_waits_t weft_waits;

static void read_time(const weft_pvar_t *pvar, const void *object, weft_value_t *out)
{
    (void)pvar;
    (void)object;
    out->real = 1e-9 * (double)weft_waits.ns;
}

static const weft_pvar_t wait_pvars[] = {
    {.name = "wait_time",
     .help = "Seconds that calls of MPI have waited for something, of waits that are over",
     .pvar_class = MPI_T_PVAR_CLASS_TIMER,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_PROGRESS,
     .type = MPI_DOUBLE,
     .read = read_time,
     .watched = &weft_waits.watched},
    {.name = "waits",
     .help = "Times that a call of MPI has waited for something that had not happened yet",
     .pvar_class = MPI_T_PVAR_CLASS_COUNTER,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_PROGRESS,
     .type = MPI_UNSIGNED_LONG_LONG,
     .read = weft_pvar_read_count,
     .source = &weft_waits.count,
     .watched = &weft_waits.watched},
    {.name = "wait_sleeps",
     .help = "Times that a wait has gone to sleep in the kernel",
     .pvar_class = MPI_T_PVAR_CLASS_COUNTER,
     .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
     .category = WEFT_CATEGORY_PROGRESS,
     .type = MPI_UNSIGNED_LONG_LONG,
     .read = weft_pvar_read_count,
     .source = &weft_waits.sleeps},
};

const weft_pvar_table_t weft_wait_pvars = {wait_pvars, sizeof(wait_pvars) / sizeof(wait_pvars[0])};
