/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A doubly linked list whose links live in the elements; the head is a link as well, so neither
 * insertion nor removal has a special case.
 *
 *   head <-> first <-> ... <-> last <-> head
 */
#ifndef WEFT_BASE_LIST_H
#define WEFT_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct weft_link {
    struct weft_link *next, *previous;
} weft_link_t;

typedef weft_link_t weft_list_t;

/** The element whose member `member` is this link. */
#define WEFT_ELEMENT(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

static inline void weft_list_init(weft_list_t *list)
{
    list->next = list->previous = list;
}

static inline bool weft_list_is_empty(const weft_list_t *list)
{
    return list->next == list;
}

static inline void weft_list_append(weft_list_t *list, weft_link_t *link)
{
    link->next = list;
    link->previous = list->previous;
    list->previous->next = link;
    list->previous = link;
}

static inline void weft_list_remove(weft_link_t *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    link->next = link->previous = link;
}

/** Remove a link that is not looked at again before it is appended. */
static inline void weft_list_unlink(weft_link_t *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
}

/** The first link, removed; NULL when the list is empty. */
static inline weft_link_t *weft_list_pop(weft_list_t *list)
{
    if (weft_list_is_empty(list))
        return NULL;
    weft_link_t *first = list->next;
    weft_list_remove(first);
    return first;
}

#endif
