/* SPDX-License-Identifier: BSD-3-Clause */
#include "tool/category.h"

#include "tool/cvar.h"
#include "tool/event.h"
#include "tool/pvar.h"

#include <string.h>

static const struct {
    const char *key, *name, *help;
    weft_category_t parent; /* itself: none */
} categories[WEFT_CATEGORY_COUNT] = {
#define CATEGORY(key, name, parent, help) {#key, name, help, WEFT_CATEGORY_##parent},
    WEFT_CATEGORIES(CATEGORY)
#undef CATEGORY
};

const char *weft_category_name(weft_category_t category)
{
    return categories[category].name;
}

const char *weft_category_help(weft_category_t category)
{
    return categories[category].help;
}

weft_category_t weft_category_keyed(const char *key)
{
    int i = 0;
    while (i < WEFT_CATEGORY_COUNT && strcmp(categories[i].key, key) != 0)
        i++;
    return (weft_category_t)i;
}

weft_category_t weft_category_named(const char *name)
{
    int i = 0;
    while (i < WEFT_CATEGORY_COUNT && strcmp(categories[i].name, name) != 0)
        i++;
    return (weft_category_t)i;
}

static int members_of_all(weft_member_t kind)
{
    switch (kind) {
    case WEFT_MEMBER_CVAR:
        return weft_cvar_count();
    case WEFT_MEMBER_PVAR:
        return weft_pvar_count();
    case WEFT_MEMBER_EVENT:
        return weft_event_count();
    default:
        return WEFT_CATEGORY_COUNT;
    }
}

static weft_category_t category_of_member(weft_member_t kind, int index)
{
    switch (kind) {
    case WEFT_MEMBER_CVAR:
        return weft_cvar(index)->category;
    case WEFT_MEMBER_PVAR:
        return weft_pvar(index)->category;
    case WEFT_MEMBER_EVENT:
        return weft_event_type(index)->category;
    default:
        return categories[index].parent == (weft_category_t)index ? WEFT_CATEGORY_COUNT
                                                                  : categories[index].parent;
    }
}

int weft_category_members(weft_category_t category, weft_member_t kind, int room, int *indices)
{
    int found = 0, all = members_of_all(kind);
    for (int i = 0; i < all; i++) {
        if (category_of_member(kind, i) != category)
            continue;
        if (found < room)
            indices[found] = i;
        found++;
    }
    return found;
}
