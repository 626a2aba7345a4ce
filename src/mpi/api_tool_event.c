/* SPDX-License-Identifier: BSD-3-Clause */
/* Types of events and their sources (MPI 5.0 section 15.3.8); api_tool_callback.c: registrations.
 * */
#include "mpi/api.h"

#include "mpi/tool_call.h"
#include "object/info.h"
#include "base/clock.h"

#include <string.h>

/* An info without hints: Weft knows none. `out` NULL: the tool does not want it. */
static int give_empty_info(MPI_Info *out)
{
    weft_info_t *info;
    if (out == NULL)
        return MPI_SUCCESS;
    if (weft_info_create(&info) != MPI_SUCCESS)
        return weft_tool_fail(MPI_T_ERR_MEMORY, "no memory for an info");
    *out = weft_info_handle(info);
    return MPI_SUCCESS;
}

/* ---- sources ---- */

static int check_source(int index)
{
    return weft_tool_check_index(index, WEFT_EVENT_SOURCES, "source_index");
}

/** How many sources events have (section 15.3.8). */
WEFT_API(MPI_T_source_get_num);
int PMPI_T_source_get_num(int *num_sources)
{
    int err = weft_tool_begin("MPI_T_source_get_num");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(num_sources, "num_sources");
    if (err == MPI_SUCCESS)
        *num_sources = WEFT_EVENT_SOURCES;
    return weft_tool_end(err);
}

/** What a source of events is (section 15.3.8). Any output may be NULL.
 *  @param[out] ordering  MPI_T_SOURCE_UNORDERED, since a callback that may call all of MPI gets
 *          its events later
 *  @param[out] ticks_per_second  of the clock that gives the time stamps
 *  @param[out] max_ticks  the largest time stamp
 *  @param[out] info  a new info, which the tool frees; it is empty
 *  @error MPI_T_ERR_INVALID_INDEX  there is no source of this index
 *  @note The one source is the process; its clock is the system's monotonic one, which all
 *          processes of a host share. */
WEFT_API(MPI_T_source_get_info);
int PMPI_T_source_get_info(int source_index, char *name, int *name_len, char *desc, int *desc_len,
                           MPI_T_source_order *ordering, MPI_Count *ticks_per_second,
                           MPI_Count *max_ticks, MPI_Info *info)
{
    weft_tool_text_t name_text = {name, name_len}, help_text = {desc, desc_len};
    int err = weft_tool_begin("MPI_T_source_get_info");
    if (err == MPI_SUCCESS)
        err = check_source(source_index);
    if (err == MPI_SUCCESS)
        err = weft_tool_check_text(name_text, "name_len");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_text(help_text, "desc_len");
    if (err == MPI_SUCCESS)
        err = give_empty_info(info);
    if (err != MPI_SUCCESS)
        return weft_tool_end(err);
    weft_tool_give_text(name_text, "process");
    weft_tool_give_text(help_text,
                        "Everything within this process; the clock is the system's monotonic "
                        "one, in nanoseconds");
    if (ordering != NULL)
        *ordering = MPI_T_SOURCE_UNORDERED;
    if (ticks_per_second != NULL)
        *ticks_per_second = 1000000000;
    if (max_ticks != NULL)
        *max_ticks = INT64_MAX;
    return weft_tool_end(MPI_SUCCESS);
}

/** The time by the clock of a source (section 15.3.8).
 *  @param[out] timestamp  in ticks, as those of events
 *  @error MPI_T_ERR_INVALID_INDEX  there is no source of this index
 *  @error MPI_T_ERR_INVALID  timestamp is NULL */
WEFT_API(MPI_T_source_get_timestamp);
int PMPI_T_source_get_timestamp(int source_index, MPI_Count *timestamp)
{
    int err = weft_tool_begin("MPI_T_source_get_timestamp");
    if (err == MPI_SUCCESS)
        err = check_source(source_index);
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(timestamp, "timestamp");
    if (err == MPI_SUCCESS)
        *timestamp = weft_clock_ns();
    return weft_tool_end(err);
}

/* ---- types ---- */

/** How many types of events there are (section 15.3.8). */
WEFT_API(MPI_T_event_get_num);
int PMPI_T_event_get_num(int *num_events)
{
    int err = weft_tool_begin("MPI_T_event_get_num");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(num_events, "num_events");
    if (err == MPI_SUCCESS)
        *num_events = weft_event_count();
    return weft_tool_end(err);
}

static int check_event_info(int index, weft_tool_text_t name, weft_tool_text_t help,
                            const int *num_elements)
{
    int err = weft_tool_check_index(index, weft_event_count(), "event_index");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_text(name, "name_len");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_text(help, "desc_len");
    if (err == MPI_SUCCESS && num_elements != NULL && *num_elements < 0)
        err = weft_tool_fail(MPI_T_ERR_INVALID, "num_elements is %d, but must be at least 0",
                             *num_elements);
    return err;
}

static void give_elements(const weft_event_type_t *type, MPI_Datatype *types, MPI_Aint *offsets,
                          int *num_elements)
{
    for (int i = 0; num_elements != NULL && i < *num_elements && i < type->names->count; i++) {
        if (types != NULL)
            types[i] = type->elements[i].type;
        if (offsets != NULL)
            offsets[i] = (MPI_Aint)type->elements[i].offset;
    }
    weft_tool_give_int(num_elements, type->names->count);
}

/** What a type of event is (section 15.3.8). Any output may be NULL.
 *  @param[out] array_of_datatypes  the types of its elements, as many as there is room for
 *  @param[out] array_of_displacements  where they are in what MPI_T_event_copy gives
 *  @param[in,out] num_elements  the room in both arrays; becomes how many elements there are.
 *          NULL: the arrays stay as they are
 *  @param[out] enumtype  the names of the elements
 *  @param[out] info  a new info, which the tool frees; it is empty
 *  @param[out] bind  MPI_T_BIND_NO_OBJECT, or MPI_T_BIND_MPI_COMM
 *  @error MPI_T_ERR_INVALID_INDEX  there is no type of event of this index
 *  @error MPI_T_ERR_INVALID  a length is negative */
WEFT_API(MPI_T_event_get_info);
int PMPI_T_event_get_info(int event_index, char *name, int *name_len, int *verbosity,
                          MPI_Datatype array_of_datatypes[], MPI_Aint array_of_displacements[],
                          int *num_elements, MPI_T_enum *enumtype, MPI_Info *info, char *desc,
                          int *desc_len, int *bind)
{
    weft_tool_text_t name_text = {name, name_len}, help_text = {desc, desc_len};
    int err = weft_tool_begin("MPI_T_event_get_info");
    if (err == MPI_SUCCESS)
        err = check_event_info(event_index, name_text, help_text, num_elements);
    if (err == MPI_SUCCESS)
        err = give_empty_info(info);
    if (err != MPI_SUCCESS)
        return weft_tool_end(err);
    const weft_event_type_t *type = weft_event_type(event_index);
    weft_tool_give_text(name_text, type->name);
    weft_tool_give_text(help_text, type->help);
    weft_tool_give_int(verbosity, type->verbosity);
    weft_tool_give_int(bind, type->is_of_comm ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT);
    give_elements(type, array_of_datatypes, array_of_displacements, num_elements);
    if (enumtype != NULL)
        *enumtype = weft_enum_handle(type->names);
    return weft_tool_end(MPI_SUCCESS);
}

/** The index of the type of event of a name (section 15.3.8).
 *  @error MPI_T_ERR_INVALID_NAME  there is none
 *  @error MPI_T_ERR_INVALID  name or event_index is NULL */
WEFT_API(MPI_T_event_get_index);
int PMPI_T_event_get_index(const char *name, int *event_index)
{
    int found = 0, err = weft_tool_begin("MPI_T_event_get_index");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(name, "name");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(event_index, "event_index");
    while (err == MPI_SUCCESS && found < weft_event_count() &&
           strcmp(weft_event_type(found)->name, name) != 0)
        found++;
    if (err == MPI_SUCCESS && found == weft_event_count())
        err = weft_tool_fail(MPI_T_ERR_INVALID_NAME, "there is no type of event %s", name);
    if (err == MPI_SUCCESS)
        *event_index = found;
    return weft_tool_end(err);
}

/* ---- instances, within a callback ---- */

static int check_instance(MPI_T_event_instance handle, const void *output, const char *name,
                          const weft_event_instance_t **out)
{
    *out = weft_event_instance_of(handle);
    if (*out == NULL)
        return weft_tool_fail(MPI_T_ERR_INVALID_HANDLE,
                              "event_instance is not the event of the callback that runs");
    return weft_tool_check_pointer(output, name);
}

/** One element of an event (section 15.3.8), within the callback that got it.
 *  @param[in] element_index  from 0; MPI_T_event_get_info says which there are
 *  @param[out] buffer  room for an element of its type
 *  @error MPI_T_ERR_INVALID_HANDLE  event_instance is not what the callback that runs got
 *  @error MPI_T_ERR_INVALID_INDEX  there is no element of this index
 *  @error MPI_T_ERR_INVALID  buffer is NULL
 *  @see MPI_T_event_copy */
WEFT_API(MPI_T_event_read);
int PMPI_T_event_read(MPI_T_event_instance event_instance, int element_index, void *buffer)
{
    const weft_event_instance_t *instance;
    int err = weft_tool_begin("MPI_T_event_read");
    if (err == MPI_SUCCESS)
        err = check_instance(event_instance, buffer, "buffer", &instance);
    if (err == MPI_SUCCESS)
        err = weft_tool_check_index(element_index, instance->type->names->count, "element_index");
    if (err != MPI_SUCCESS)
        return weft_tool_end(err);
    const weft_event_element_t *element = &instance->type->elements[element_index];
    size_t bytes = element->type == MPI_INT ? sizeof(int) : sizeof(unsigned long long);
    memcpy(buffer, (const char *)instance->data + element->offset, bytes);
    return weft_tool_end(MPI_SUCCESS);
}

/** All elements of an event (section 15.3.8), within the callback that got it.
 *  @param[out] buffer  the elements at their displacements: room up to the end of the last
 *  @error MPI_T_ERR_INVALID_HANDLE  event_instance is not what the callback that runs got
 *  @error MPI_T_ERR_INVALID  buffer is NULL
 *  @see MPI_T_event_read, MPI_T_event_get_info */
WEFT_API(MPI_T_event_copy);
int PMPI_T_event_copy(MPI_T_event_instance event_instance, void *buffer)
{
    const weft_event_instance_t *instance;
    int err = weft_tool_begin("MPI_T_event_copy");
    if (err == MPI_SUCCESS)
        err = check_instance(event_instance, buffer, "buffer", &instance);
    if (err != MPI_SUCCESS)
        return weft_tool_end(err);
    const weft_event_element_t *last = &instance->type->elements[instance->type->names->count - 1];
    size_t bytes = last->type == MPI_INT ? sizeof(int) : sizeof(unsigned long long);
    memcpy(buffer, instance->data, last->offset + bytes); /* without padding behind it */
    return weft_tool_end(MPI_SUCCESS);
}

/** When an event happened (section 15.3.8), within the callback that got it.
 *  @param[out] event_timestamp  in ticks of its source
 *  @error MPI_T_ERR_INVALID_HANDLE  event_instance is not what the callback that runs got
 *  @error MPI_T_ERR_INVALID  event_timestamp is NULL
 *  @see MPI_T_source_get_info */
WEFT_API(MPI_T_event_get_timestamp);
int PMPI_T_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count *event_timestamp)
{
    const weft_event_instance_t *instance;
    int err = weft_tool_begin("MPI_T_event_get_timestamp");
    if (err == MPI_SUCCESS)
        err = check_instance(event_instance, event_timestamp, "event_timestamp", &instance);
    if (err == MPI_SUCCESS)
        *event_timestamp = instance->time_ns;
    return weft_tool_end(err);
}

/** The source of an event (section 15.3.8), within the callback that got it.
 *  @error MPI_T_ERR_INVALID_HANDLE  event_instance is not what the callback that runs got
 *  @error MPI_T_ERR_INVALID  source_index is NULL */
WEFT_API(MPI_T_event_get_source);
int PMPI_T_event_get_source(MPI_T_event_instance event_instance, int *source_index)
{
    const weft_event_instance_t *instance;
    int err = weft_tool_begin("MPI_T_event_get_source");
    if (err == MPI_SUCCESS)
        err = check_instance(event_instance, source_index, "source_index", &instance);
    if (err == MPI_SUCCESS)
        *source_index = 0;
    return weft_tool_end(err);
}
