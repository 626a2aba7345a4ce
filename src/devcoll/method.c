/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/method.h"

#include "devcoll/bound_buffers.h"
#include "devcoll/task_private.h"
#include "coll/tuning.h"

const weft_device_method_t *const weft_device_methods[WEFT_METHODS] = {
    [WEFT_METHOD_MULTICAST] = &wefti_multicast_method,
    [WEFT_METHOD_LL] = &wefti_ll_method,
    [WEFT_METHOD_DIRECT] = &wefti_direct_method,
    [WEFT_METHOD_HIERARCHICAL] = &wefti_hierarchical_method,
    [WEFT_METHOD_P2P] = &wefti_p2p_method,
    [WEFT_METHOD_STAGED] = &wefti_staged_method,
};

weft_method_index_t weft_device_method_choose(weft_coll_t coll, int ranks, size_t bytes,
                                              unsigned possible, int *line_out)
{
    weft_method_choice_t choice = weft_tuning_choose_method(coll, ranks, bytes, possible);
    if (line_out != NULL)
        *line_out = choice.line;
    return choice.line == 0 ? WEFT_METHOD_STAGED : (weft_method_index_t)choice.method;
}

/* ---- beginning, and what tools can count ---- */

static uint64_t method_calls[WEFT_METHODS];

void wefti_method_begin(weft_task_t *task)
{
    if (task->fetch_until_ns == 0) /* else it was counted when it began to wait */
        method_calls[task->method]++;
    weft_device_methods[task->method]->begin(task);
}

#define METHOD_PVAR(key, label)                                                                    \
    {                                                                                              \
        .name = "device_calls_" label,                                                             \
        .help = "Collectives with device memory that this rank has begun by the method " label,    \
        .pvar_class = MPI_T_PVAR_CLASS_COUNTER, .verbosity = MPI_T_VERBOSITY_USER_DETAIL,          \
        .category = WEFT_CATEGORY_DEVICE, .type = MPI_UNSIGNED_LONG_LONG,                          \
        .read = weft_pvar_read_count, .source = &method_calls[key]                                 \
    }

static const weft_pvar_t method_pvars[] = {
    METHOD_PVAR(WEFT_METHOD_MULTICAST, "multicast"),
    METHOD_PVAR(WEFT_METHOD_LL, "ll"),
    METHOD_PVAR(WEFT_METHOD_DIRECT, "direct"),
    METHOD_PVAR(WEFT_METHOD_HIERARCHICAL, "hierarchical"),
    METHOD_PVAR(WEFT_METHOD_P2P, "p2p"),
    METHOD_PVAR(WEFT_METHOD_STAGED, "staged"),
    {.name = "device_calls_bound",
     .help = "Those by multicast of which the switch has read or written the program's buffers "
             "itself, on this rank",
     .pvar_class = MPI_T_PVAR_CLASS_COUNTER,
     .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
     .category = WEFT_CATEGORY_DEVICE,
     .type = MPI_UNSIGNED_LONG_LONG,
     .read = weft_pvar_read_count,
     .source = &wefti_bound_calls},
};

const weft_pvar_table_t weft_device_method_pvars = {method_pvars,
                                                    sizeof(method_pvars) / sizeof(method_pvars[0])};
