/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Performance variables (MPI 5.0 section 15.3.7): a table of them stands beside the code that owns
 * the numbers; start-up lists the tables (mpi/tool_parts.c).
 *
 * The owner keeps a running total, or can say the level of something at this moment. Sessions and
 * handles (pvar_handle.c) make values out of that, each handle its own:
 *
 *   counter, aggregate, timer   what the total has grown by while the handle was started
 *   high-water mark             the highest level while it was started
 *   all other classes           the level; such a variable is continuous and readonly
 *
 * Totals on hot paths are counted only while a handle wants them: the owner tests `watched`.
 */
#ifndef WEFT_TOOL_PVAR_H
#define WEFT_TOOL_PVAR_H

#include "tool/category.h"
#include "tool/enumeration.h"
#include "base/list.h"
#include "mpi.h"

#include <stdbool.h>
#include <stdint.h>

/** One element of a value; its type says which member. */
typedef union weft_value {
    unsigned long long count; /* MPI_UNSIGNED_LONG_LONG */
    double real;              /* MPI_DOUBLE */
    int state;                /* MPI_INT */
} weft_value_t;

/** The handles that want to know the highest level of something. */
typedef struct weft_high_water {
    weft_list_t handles; /* of those that are started; next is NULL before the first */
    int watched;         /* how many */
} weft_high_water_t;

typedef struct weft_pvar weft_pvar_t;
struct weft_pvar {
    const char *name, *help;
    int pvar_class; /* MPI_T_PVAR_CLASS_ */
    int verbosity;
    weft_category_t category;
    MPI_Datatype type;
    const weft_enum_t *items; /* of a state; NULL: none */
    bool is_of_comm;          /* bound to a communicator: `object` below */
    /** How many elements it has; NULL: one. */
    int (*elements)(const void *object);
    /** The total or level now. With the library's lock, at any time, also before MPI_Init. */
    void (*read)(const weft_pvar_t *pvar, const void *object, weft_value_t *out);
    const void *source; /* for `read` */
    int *watched;       /* raised by one for each started handle; NULL: nobody needs to know */
    weft_high_water_t *high_water; /* of a high-water mark: who is told of new levels */
};

typedef struct weft_pvar_table {
    const weft_pvar_t *rows;
    int count;
} weft_pvar_table_t;

/** A `read` for a uint64_t, or a size_t, at `source`. */
void weft_pvar_read_count(const weft_pvar_t *pvar, const void *object, weft_value_t *out);

/** See weft_high_water_note(). */
void weft_high_water_tell(weft_high_water_t *high_water, uint64_t level);

/** The level has risen. Costs a load where nobody wants to know. */
static inline void weft_high_water_note(weft_high_water_t *high_water, uint64_t level)
{
    if (__builtin_expect(high_water->watched != 0, 0))
        weft_high_water_tell(high_water, level);
}

/** An object to which handles may be bound is about to go: they name none from now on. */
void weft_pvars_unbind(const void *object);

/* ---- for src/mpi; all with the tool's lock ---- */

int weft_pvars_open(const weft_pvar_table_t *const *tables, int count);
void weft_pvars_close(void);

int weft_pvar_count(void);
const weft_pvar_t *weft_pvar(int index);

static inline bool weft_pvar_is_sum(const weft_pvar_t *pvar)
{
    return pvar->pvar_class == MPI_T_PVAR_CLASS_COUNTER ||
           pvar->pvar_class == MPI_T_PVAR_CLASS_AGGREGATE ||
           pvar->pvar_class == MPI_T_PVAR_CLASS_TIMER;
}

/** Readonly, and never started or stopped. */
static inline bool weft_pvar_is_continuous(const weft_pvar_t *pvar)
{
    return !weft_pvar_is_sum(pvar) && pvar->pvar_class != MPI_T_PVAR_CLASS_HIGHWATERMARK;
}

typedef struct weft_pvar_session weft_pvar_session_t;
typedef struct weft_pvar_handle weft_pvar_handle_t;

int weft_pvar_session_create(weft_pvar_session_t **out);
/** Frees its handles too. */
void weft_pvar_session_free(weft_pvar_session_t *session);
/** NULL: not a live one. Any address may be given. */
weft_pvar_session_t *weft_pvar_session_of(MPI_T_pvar_session session);

int weft_pvar_handle_create(weft_pvar_session_t *session, const weft_pvar_t *pvar,
                            const void *object, weft_pvar_handle_t **out);
void weft_pvar_handle_free(weft_pvar_handle_t *handle);
/** NULL: not a live handle of this session. */
weft_pvar_handle_t *weft_pvar_handle_of(const weft_pvar_session_t *session,
                                        MPI_T_pvar_handle handle);
int weft_pvar_elements(const weft_pvar_handle_t *handle);

/** What is done to one handle, or to all of a session. */
typedef int (*weft_pvar_action_t)(weft_pvar_handle_t *handle);

int weft_pvar_start(weft_pvar_handle_t *handle);
int weft_pvar_stop(weft_pvar_handle_t *handle);
int weft_pvar_reset(weft_pvar_handle_t *handle);
/** For all handles of the session but those that can only be read and always run. */
int weft_pvar_all(weft_pvar_session_t *session, weft_pvar_action_t action);

/** MPI_T_ERR_INVALID_HANDLE: the object that the handle was bound to is gone. */
int weft_pvar_read(weft_pvar_handle_t *handle, void *out);
int weft_pvar_write(weft_pvar_handle_t *handle, const void *value);
/** MPI_T_ERR_PVAR_NO_ATOMIC: the variable can only be read. */
int weft_pvar_readreset(weft_pvar_handle_t *handle, void *out);

#endif
