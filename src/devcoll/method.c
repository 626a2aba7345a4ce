/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/method.h"

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
