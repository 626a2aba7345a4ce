/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/gdr_api.h"

#include <dlfcn.h>

bool weft_gdr_find(void *library, weft_gdr_api_t *out)
{
    bool are_all = true;
#define FIND(result, name, arguments)                                                              \
    *(void **)&out->name = dlsym(library, #name);                                                  \
    are_all = are_all && out->name != NULL;
    WEFT_GDR_FUNCTIONS(FIND)
#undef FIND
    return are_all;
}
