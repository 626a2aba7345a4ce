/* SPDX-License-Identifier: BSD-3-Clause */
#include "tool/cvar.h"

#include "tool/tool.h"
#include "base/config.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "base/pool.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_ROOM = 1024 }; /* at least: longer ones come from the environment only */

struct weft_cvar_handle {
    bool is_live; /* first: see weft_pool_each */
    const weft_cvar_t *cvar;
    int elements;
};

static weft_cvar_t *cvars;
static weft_pool_t handles = WEFT_POOL(weft_cvar_handle_t);

/* ---- what the rows are for a tool ---- */

static const weft_enum_t truths = {"truth", 2, {"no", "yes"}};

typedef struct choices {
    weft_enum_t names;
    char text[]; /* the words, which the names point to */
} choices_t;

static choices_t **chosen; /* [rows] NULL where a row has no such list */

/* "auto|no" as an enumeration; NULL: the row is no choice among words, or there is no memory. */
static choices_t *choices_of(const weft_config_row_t *row)
{
    if (row->kind != WEFT_CONFIG_TEXT || strchr(row->unit, '|') == NULL)
        return NULL;
    size_t bytes = strlen(row->unit) + 1;
    choices_t *made = weft_alloc_zeroed(1, sizeof(*made) + bytes);
    if (made == NULL)
        return NULL;
    memcpy(made->text, row->unit, bytes);
    made->names.name = row->name;
    bool has_default = false;
    for (char *word = made->text; word != NULL && made->names.count < WEFT_ENUM_ITEMS;) {
        char *end = strchr(word, '|');
        if (end != NULL)
            *end++ = '\0';
        made->names.items[made->names.count++] = word;
        has_default = has_default || strcmp(word, row->fallback) == 0;
        word = end;
    }
    if (has_default)
        return made;
    weft_free(made);
    return NULL;
}

static MPI_Datatype type_of_row(const weft_config_row_t *row, const weft_enum_t *items)
{
    if (row->kind == WEFT_CONFIG_SIZE)
        return MPI_UNSIGNED_LONG;
    return row->kind == WEFT_CONFIG_TEXT && items == NULL ? MPI_CHAR : MPI_INT;
}

static int scope_of(weft_config_change_t change)
{
    switch (change) {
    case WEFT_CHANGE_NEVER:
        return MPI_T_SCOPE_CONSTANT;
    case WEFT_CHANGE_BEFORE_ALIKE:
        return MPI_T_SCOPE_ALL_EQ;
    default:
        return MPI_T_SCOPE_LOCAL;
    }
}

static int describe_row(int index)
{
    weft_config_row_t row = weft_config_row(index);
    weft_cvar_t *cvar = &cvars[index];
    chosen[index] = choices_of(&row);
    if (row.kind == WEFT_CONFIG_BOOL)
        cvar->items = &truths;
    else if (chosen[index] != NULL)
        cvar->items = &chosen[index]->names;
    snprintf(cvar->name, sizeof(cvar->name), "WEFT_%s", row.name);
    cvar->help = row.help;
    cvar->index = index;
    cvar->category = weft_category_keyed(row.area);
    cvar->scope = scope_of(row.change);
    cvar->type = type_of_row(&row, cvar->items);
    cvar->verbosity = row.change == WEFT_CHANGE_BEFORE_ALIKE ? MPI_T_VERBOSITY_USER_DETAIL
                                                             : MPI_T_VERBOSITY_USER_BASIC;
    return weft_enum_show(cvar->items);
}

int weft_cvars_open(void)
{
    int count = weft_config_rows(), err = MPI_SUCCESS;
    weft_config_read();
    cvars = weft_alloc_zeroed((size_t)count, sizeof(*cvars));
    chosen = weft_alloc_zeroed((size_t)count, sizeof(*chosen));
    if (cvars == NULL || chosen == NULL)
        err = MPI_T_ERR_MEMORY;
    for (int i = 0; err == MPI_SUCCESS && i < count; i++)
        err = describe_row(i);
    return err;
}

void weft_cvars_close(void)
{
    for (int i = 0; chosen != NULL && i < weft_config_rows(); i++)
        weft_free(chosen[i]);
    weft_free(chosen);
    weft_free(cvars);
    chosen = NULL;
    cvars = NULL;
    weft_pool_close(&handles);
}

int weft_cvar_count(void)
{
    return weft_config_rows();
}

const weft_cvar_t *weft_cvar(int index)
{
    return &cvars[index];
}

/* ---- handles ---- */

int weft_cvar_handle_create(const weft_cvar_t *cvar, weft_cvar_handle_t **out)
{
    weft_cvar_handle_t *handle = weft_pool_take(&handles);
    if (handle == NULL)
        return MPI_T_ERR_OUT_OF_HANDLES;
    size_t length = strlen(weft_config_row(cvar->index).value);
    int text_room = length < TEXT_ROOM ? TEXT_ROOM : (int)length + 1;
    *handle = (weft_cvar_handle_t){true, cvar, .elements = cvar->type == MPI_CHAR ? text_room : 1};
    *out = handle;
    return MPI_SUCCESS;
}

void weft_cvar_handle_free(weft_cvar_handle_t *handle)
{
    handle->is_live = false;
    weft_pool_give(&handles, handle);
}

weft_cvar_handle_t *weft_cvar_handle_of(MPI_T_cvar_handle handle)
{
    weft_cvar_handle_t *found = (weft_cvar_handle_t *)handle;
    return weft_pool_owns(&handles, found) && found->is_live ? found : NULL;
}

int weft_cvar_elements(const weft_cvar_handle_t *handle)
{
    return handle->elements;
}

/* ---- values ---- */

/* The environment may have given a text that is not quite a word of the list. */
static int index_of_word(const weft_enum_t *names, const char *text)
{
    const char *nearest = weft_nearest(text, names->items, names->count);
    int i = 0;
    while (names->items[i] != nearest)
        i++;
    return i;
}

void weft_cvar_read(const weft_cvar_handle_t *handle, void *out)
{
    const weft_cvar_t *cvar = handle->cvar;
    weft_config_row_t row = weft_config_row(cvar->index);
    if (cvar->type == MPI_CHAR)
        snprintf(out, (size_t)handle->elements, "%s", row.value);
    else if (row.kind == WEFT_CONFIG_SIZE)
        *(unsigned long *)out = *(const size_t *)row.field;
    else if (row.kind == WEFT_CONFIG_BOOL)
        *(int *)out = *(const bool *)row.field;
    else if (row.kind == WEFT_CONFIG_TEXT)
        *(int *)out = index_of_word(cvar->items, row.value);
    else
        *(int *)out = *(const int *)row.field;
}

/* The value as a text that the environment could have given. */
static int text_of_value(const weft_cvar_handle_t *handle, const void *value, char *text,
                         size_t room)
{
    const weft_cvar_t *cvar = handle->cvar;
    if (cvar->items != NULL) {
        int item = *(const int *)value;
        if (item < 0 || item >= cvar->items->count)
            return weft_tool_fail(MPI_T_ERR_INVALID, "%s: the value is %d, but must be 0 to %d",
                                  cvar->name, item, cvar->items->count - 1);
        snprintf(text, room, "%s", cvar->items->items[item]);
    } else if (cvar->type == MPI_UNSIGNED_LONG) {
        snprintf(text, room, "%lu", *(const unsigned long *)value);
    } else if (cvar->type == MPI_INT) {
        snprintf(text, room, "%d", *(const int *)value);
    } else if (memchr(value, '\0', (size_t)handle->elements) == NULL) {
        return weft_tool_fail(MPI_T_ERR_INVALID, "%s: the text does not end within its %d letters",
                              cvar->name, handle->elements);
    } else {
        snprintf(text, room, "%s", (const char *)value);
    }
    return MPI_SUCCESS;
}

static int may_write(const weft_cvar_t *cvar, bool has_started)
{
    weft_config_change_t change = weft_config_row(cvar->index).change;
    if (change == WEFT_CHANGE_NEVER)
        return weft_tool_fail(MPI_T_ERR_CVAR_SET_NEVER, "%s cannot be set by a rank", cvar->name);
    if (change != WEFT_CHANGE_ANYTIME && has_started)
        return weft_tool_fail(MPI_T_ERR_CVAR_SET_NOT_NOW,
                              "%s can be set until MPI is initialised only", cvar->name);
    return MPI_SUCCESS;
}

int weft_cvar_write(const weft_cvar_handle_t *handle, bool has_started, const void *value)
{
    enum { NUMBER_ROOM = 64 };
    size_t room = (size_t)handle->elements + NUMBER_ROOM;
    int err = may_write(handle->cvar, has_started);
    if (err != MPI_SUCCESS)
        return err;
    char *text = weft_alloc(room);
    if (text == NULL)
        return MPI_T_ERR_MEMORY;
    err = text_of_value(handle, value, text, room);
    if (err == MPI_SUCCESS) {
        int set = weft_config_set(handle->cvar->index, text);
        if (set == MPI_ERR_NO_MEM)
            err = MPI_T_ERR_MEMORY;
        else if (set != MPI_SUCCESS)
            err = weft_tool_fail(MPI_T_ERR_INVALID, "%s cannot be %s", handle->cvar->name, text);
    }
    weft_free(text);
    return err;
}
