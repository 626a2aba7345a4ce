/* SPDX-License-Identifier: BSD-3-Clause */
/* The tool information interface: begin and end, enumerations, categories (MPI 5.0 sections 15.3.4,
 * 15.3.5 and 15.3.9). */
#include "mpi/api.h"

#include "mpi/tool_call.h"
#include "mpi/tool_parts.h"
#include "tool/category.h"
#include "tool/cvar.h"

/* ---- begin and end ---- */

static int check_thread_level(int required)
{
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                 MPI_THREAD_MULTIPLE};
    for (int i = 0; i < 4; i++) {
        if (required == levels[i])
            return MPI_SUCCESS;
    }
    return weft_tool_fail(MPI_T_ERR_INVALID, "required is %d, which is no level of threads",
                          required);
}

/** Begin to use the tool information interface (section 15.3.4). It may be called any number of
 *  times, before MPI_Init and after MPI_Finalize too; as many calls of MPI_T_finalize end it.
 *  @param[in] required  the least that the tool needs, one of MPI_THREAD_SINGLE to
 *          MPI_THREAD_MULTIPLE
 *  @param[out] provided  what there is
 *  @error MPI_T_ERR_INVALID  required is no level of threads, or provided is NULL
 *  @error MPI_T_ERR_CANNOT_INIT  there is no memory
 *  @note Every level is provided: provided is always MPI_THREAD_MULTIPLE.
 *  @see MPI_T_finalize */
WEFT_API(MPI_T_init_thread);
int PMPI_T_init_thread(int required, int *provided)
{
    weft_tool_begin("MPI_T_init_thread"); /* it need not be open */
    int err = check_thread_level(required);
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(provided, "provided");
    const weft_tool_parts_t *parts = weft_tool_parts();
    if (err == MPI_SUCCESS && (parts == NULL || weft_tool_open(parts) != MPI_SUCCESS))
        err = weft_tool_fail(MPI_T_ERR_CANNOT_INIT, "no memory for the tool information interface");
    if (err == MPI_SUCCESS)
        *provided = MPI_THREAD_MULTIPLE;
    return weft_tool_end(err);
}

/** End one use of the tool information interface (section 15.3.4). The last one frees all its
 *  handles and sessions; no callback is called after it.
 *  @error MPI_T_ERR_NOT_INITIALIZED  there were no more calls of MPI_T_init_thread than of this
 *          function
 *  @see MPI_T_init_thread */
WEFT_API(MPI_T_finalize);
int PMPI_T_finalize(void)
{
    int err = weft_tool_begin("MPI_T_finalize");
    if (err == MPI_SUCCESS)
        err = weft_tool_close();
    return weft_tool_end(err);
}

/* ---- enumerations ---- */

static int check_enum(MPI_T_enum handle, const weft_enum_t **out)
{
    *out = weft_enum_of(handle);
    if (*out != NULL)
        return MPI_SUCCESS;
    return weft_tool_fail(MPI_T_ERR_INVALID_HANDLE, "enumtype is no enumeration");
}

/** The name of an enumeration, and how many items it has (section 15.3.5).
 *  @param[in] enumtype  of MPI_T_cvar_get_info, MPI_T_pvar_get_info or MPI_T_event_get_info
 *  @param[out] num  how many items; may be NULL
 *  @error MPI_T_ERR_INVALID_HANDLE  enumtype is no enumeration, or MPI_T_ENUM_NULL
 *  @see MPI_T_enum_get_item */
WEFT_API(MPI_T_enum_get_info);
int PMPI_T_enum_get_info(MPI_T_enum enumtype, int *num, char *name, int *name_len)
{
    const weft_enum_t *names;
    weft_tool_text_t text = {name, name_len};
    int err = weft_tool_begin("MPI_T_enum_get_info");
    if (err == MPI_SUCCESS)
        err = check_enum(enumtype, &names);
    if (err == MPI_SUCCESS)
        err = weft_tool_check_text(text, "name_len");
    if (err == MPI_SUCCESS) {
        weft_tool_give_int(num, names->count);
        weft_tool_give_text(text, names->name);
    }
    return weft_tool_end(err);
}

/** The value and the name of an item of an enumeration (section 15.3.5).
 *  @param[in] enumtype  of MPI_T_cvar_get_info, MPI_T_pvar_get_info or MPI_T_event_get_info
 *  @param[in] indx  which item, from 0
 *  @param[out] value  its value; may be NULL
 *  @error MPI_T_ERR_INVALID_HANDLE  enumtype is no enumeration, or MPI_T_ENUM_NULL
 *  @error MPI_T_ERR_INVALID_ITEM  there is no item of this index
 *  @see MPI_T_enum_get_info */
WEFT_API(MPI_T_enum_get_item);
int PMPI_T_enum_get_item(MPI_T_enum enumtype, int indx, int *value, char *name, int *name_len)
{
    const weft_enum_t *names;
    weft_tool_text_t text = {name, name_len};
    int err = weft_tool_begin("MPI_T_enum_get_item");
    if (err == MPI_SUCCESS)
        err = check_enum(enumtype, &names);
    if (err == MPI_SUCCESS && (indx < 0 || indx >= names->count))
        err = weft_tool_fail(MPI_T_ERR_INVALID_ITEM, "indx is %d, but %s has items 0 to %d", indx,
                             names->name, names->count - 1);
    if (err == MPI_SUCCESS)
        err = weft_tool_check_text(text, "name_len");
    if (err == MPI_SUCCESS) {
        weft_tool_give_int(value, indx);
        weft_tool_give_text(text, names->items[indx]);
    }
    return weft_tool_end(err);
}

/* ---- categories ---- */

static int check_category(int index)
{
    return weft_tool_check_index(index, WEFT_CATEGORY_COUNT, "cat_index");
}

static int count_members(int category, weft_member_t kind)
{
    return weft_category_members((weft_category_t)category, kind, 0, NULL);
}

/** How many categories there are (section 15.3.9). */
WEFT_API(MPI_T_category_get_num);
int PMPI_T_category_get_num(int *num_cat)
{
    int err = weft_tool_begin("MPI_T_category_get_num");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(num_cat, "num_cat");
    if (err == MPI_SUCCESS)
        *num_cat = WEFT_CATEGORY_COUNT;
    return weft_tool_end(err);
}

/** Name, description and contents of a category (section 15.3.9). Any output may be NULL.
 *  @param[out] num_cvars  control variables that belong to it, without those of its subcategories
 *  @param[out] num_pvars  the same of performance variables
 *  @param[out] num_categories  its direct subcategories
 *  @error MPI_T_ERR_INVALID_INDEX  there is no category of this index
 *  @see MPI_T_category_get_num_events */
WEFT_API(MPI_T_category_get_info);
int PMPI_T_category_get_info(int cat_index, char *name, int *name_len, char *desc, int *desc_len,
                             int *num_cvars, int *num_pvars, int *num_categories)
{
    weft_tool_text_t name_text = {name, name_len}, help_text = {desc, desc_len};
    int err = weft_tool_begin("MPI_T_category_get_info");
    if (err == MPI_SUCCESS)
        err = check_category(cat_index);
    if (err == MPI_SUCCESS)
        err = weft_tool_check_text(name_text, "name_len");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_text(help_text, "desc_len");
    if (err == MPI_SUCCESS) {
        weft_tool_give_text(name_text, weft_category_name((weft_category_t)cat_index));
        weft_tool_give_text(help_text, weft_category_help((weft_category_t)cat_index));
        weft_tool_give_int(num_cvars, count_members(cat_index, WEFT_MEMBER_CVAR));
        weft_tool_give_int(num_pvars, count_members(cat_index, WEFT_MEMBER_PVAR));
        weft_tool_give_int(num_categories, count_members(cat_index, WEFT_MEMBER_CATEGORY));
    }
    return weft_tool_end(err);
}

/** The index of the category of a name (section 15.3.9).
 *  @error MPI_T_ERR_INVALID_NAME  there is none
 *  @error MPI_T_ERR_INVALID  name or cat_index is NULL */
WEFT_API(MPI_T_category_get_index);
int PMPI_T_category_get_index(const char *name, int *cat_index)
{
    int err = weft_tool_begin("MPI_T_category_get_index");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(name, "name");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(cat_index, "cat_index");
    int found = err == MPI_SUCCESS ? (int)weft_category_named(name) : 0;
    if (err == MPI_SUCCESS && found == WEFT_CATEGORY_COUNT)
        err = weft_tool_fail(MPI_T_ERR_INVALID_NAME, "there is no category %s", name);
    if (err == MPI_SUCCESS)
        *cat_index = found;
    return weft_tool_end(err);
}

/** How many types of events belong to a category, without its subcategories (section 15.3.9).
 *  @error MPI_T_ERR_INVALID_INDEX  there is no category of this index
 *  @see MPI_T_category_get_info */
WEFT_API(MPI_T_category_get_num_events);
int PMPI_T_category_get_num_events(int cat_index, int *num_events)
{
    int err = weft_tool_begin("MPI_T_category_get_num_events");
    if (err == MPI_SUCCESS)
        err = check_category(cat_index);
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(num_events, "num_events");
    if (err == MPI_SUCCESS)
        *num_events = count_members(cat_index, WEFT_MEMBER_EVENT);
    return weft_tool_end(err);
}

static int check_indices(int category, int len, const int indices[])
{
    int err = check_category(category);
    if (err == MPI_SUCCESS && len < 0)
        err = weft_tool_fail(MPI_T_ERR_INVALID, "len is %d, but must be at least 0", len);
    if (err == MPI_SUCCESS && len > 0)
        err = weft_tool_check_pointer(indices, "indices");
    return err;
}

static int give_members(const char *name, weft_member_t kind, int category, int len, int *indices)
{
    int err = weft_tool_begin(name);
    if (err == MPI_SUCCESS)
        err = check_indices(category, len, indices);
    if (err == MPI_SUCCESS)
        weft_category_members((weft_category_t)category, kind, len, indices);
    return weft_tool_end(err);
}

/** The indices of the control variables of a category (section 15.3.9).
 *  @param[in] len  the length of indices; if there are more, the first len are stored
 *  @param[out] indices  as many as there are, ascending; may be NULL if len is 0
 *  @error MPI_T_ERR_INVALID_INDEX  there is no category of this index
 *  @error MPI_T_ERR_INVALID  len is negative, or indices is NULL */
WEFT_API(MPI_T_category_get_cvars);
int PMPI_T_category_get_cvars(int cat_index, int len, int indices[])
{
    return give_members("MPI_T_category_get_cvars", WEFT_MEMBER_CVAR, cat_index, len, indices);
}

/** The indices of the performance variables of a category (section 15.3.9).
 *  @copydoc MPI_T_category_get_cvars */
WEFT_API(MPI_T_category_get_pvars);
int PMPI_T_category_get_pvars(int cat_index, int len, int indices[])
{
    return give_members("MPI_T_category_get_pvars", WEFT_MEMBER_PVAR, cat_index, len, indices);
}

/** The indices of the types of events of a category (section 15.3.9).
 *  @copydoc MPI_T_category_get_cvars */
WEFT_API(MPI_T_category_get_events);
int PMPI_T_category_get_events(int cat_index, int len, int indices[])
{
    return give_members("MPI_T_category_get_events", WEFT_MEMBER_EVENT, cat_index, len, indices);
}

/** The indices of the direct subcategories of a category (section 15.3.9).
 *  @copydoc MPI_T_category_get_cvars */
WEFT_API(MPI_T_category_get_categories);
int PMPI_T_category_get_categories(int cat_index, int len, int indices[])
{
    return give_members("MPI_T_category_get_categories", WEFT_MEMBER_CATEGORY, cat_index, len,
                        indices);
}

/** A number that changes when categories do (section 15.3.9).
 *  @param[out] update_number  alike in two calls if nothing has changed between them
 *  @note Weft's categories, and what is in them, never change. */
WEFT_API(MPI_T_category_changed);
int PMPI_T_category_changed(int *update_number)
{
    int err = weft_tool_begin("MPI_T_category_changed");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(update_number, "update_number");
    if (err == MPI_SUCCESS)
        *update_number = 0;
    return weft_tool_end(err);
}
