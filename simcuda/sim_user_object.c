/* SPDX-License-Identifier: BSD-3-Clause */
/* User objects. A graph holds references to them for the program; their destructors tell it when
 * the graph, all that was instantiated from it and all launches have ended. */
#include "sim_graph.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct sim_user_object {
    sim_object_t object;
    unsigned references;
    CUhostFn destroy;
    void *data;
};

static sim_user_object_t *object_of(CUuserObject handle)
{
    return sim_object_find(SIM_USER_OBJECT, handle);
}

/* ---- destructors ---- */

typedef struct last_calls {
    uint64_t begin_ns;
    size_t count;
    struct {
        CUhostFn destroy;
        void *data;
    } calls[];
} last_calls_t;

static void *run_calls(void *given)
{
    last_calls_t *last = given;
    uint64_t begin_ns = last->begin_ns;
    struct timespec begin = {(time_t)(begin_ns / 1000000000), (long)(begin_ns % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &begin, NULL);
    sim_host_function(true);
    for (size_t i = 0; i < last->count; i++)
        last->calls[i].destroy(last->calls[i].data);
    free(last);
    return NULL;
}

/* Releases one reference for each entry of `list`, which stays the caller's. */
static void release(sim_user_object_t *const *list, size_t count)
{
    last_calls_t *last = sim_alloc(sizeof(*last) + count * sizeof(last->calls[0]));
    pthread_t thread;
    last->begin_ns = sim_late_until(true);
    for (size_t i = 0; i < count; i++) {
        sim_user_object_t *object = list[i];
        if (--object->references > 0)
            continue;
        last->calls[last->count].destroy = object->destroy;
        last->calls[last->count++].data = object->data;
        sim_object_release(object);
    }
    if (last->count == 0)
        free(last);
    else if (pthread_create(&thread, NULL, run_calls, last) == 0)
        pthread_detach(thread);
    else
        sim_die("no thread for a destructor");
}

/* ---- held references ---- */

static void hold(sim_held_t *held, sim_user_object_t *object, unsigned count)
{
    held->list = realloc(held->list, (held->count + count) * sizeof(*held->list));
    if (held->list == NULL)
        sim_die("no memory for %zu references", held->count + count);
    for (unsigned i = 0; i < count; i++)
        held->list[held->count++] = object;
}

void sim_held_copy(sim_held_t *to, const sim_held_t *from)
{
    for (size_t i = 0; i < from->count; i++) {
        from->list[i]->references++;
        hold(to, from->list[i], 1);
    }
}

void sim_held_release(sim_held_t *held)
{
    if (held->count > 0)
        release(held->list, held->count);
    free(held->list);
    *held = (sim_held_t){NULL, 0};
}

/* ---- entry points ---- */

static CUresult create_user_object(CUuserObject *out, void *data, CUhostFn destroy,
                                   unsigned references)
{
    sim_user_object_t *object = sim_object_create(SIM_USER_OBJECT, sizeof(*object));
    object->references = references;
    object->destroy = destroy;
    object->data = data;
    *out = (CUuserObject)object;
    return CUDA_SUCCESS;
}

CUresult cuUserObjectCreate(CUuserObject *out, void *data, CUhostFn destroy, unsigned references,
                            unsigned flags)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && (out == NULL || destroy == NULL || references == 0 ||
                                   flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC))
        result = CUDA_ERROR_INVALID_VALUE;
    return sim_end(result ? result : create_user_object(out, data, destroy, references));
}

CUresult cuUserObjectRetain(CUuserObject handle, unsigned count)
{
    CUresult result = sim_begin(__func__);
    sim_user_object_t *object = object_of(handle);
    if (result == CUDA_SUCCESS && (object == NULL || count == 0))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        object->references += count;
    return sim_end(result);
}

CUresult cuUserObjectRelease(CUuserObject handle, unsigned count)
{
    CUresult result = sim_begin(__func__);
    sim_user_object_t *object = object_of(handle);
    if (result == CUDA_SUCCESS && (object == NULL || count == 0 || count > object->references))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        object->references -= count - 1;
        release(&object, 1);
    }
    return sim_end(result);
}

static CUresult retain(sim_graph_t *graph, CUuserObject handle, unsigned count, unsigned flags)
{
    sim_user_object_t *object = object_of(handle);
    bool is_moved = flags == CU_GRAPH_USER_OBJECT_MOVE;
    if (graph == NULL || object == NULL || count == 0 || (flags != 0 && !is_moved))
        return CUDA_ERROR_INVALID_VALUE;
    hold(&graph->held, object, count);
    if (!is_moved)
        object->references += count;
    else if (object->references < count) /* real drivers do not count what the program has */
        object->references = count;
    return CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count, unsigned flags)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : retain(sim_graph_of(graph), object, count, flags));
}

static CUresult give_up(sim_graph_t *graph, sim_user_object_t *object, unsigned count)
{
    size_t found = 0;
    for (size_t i = 0; graph != NULL && i < graph->held.count; i++)
        found += graph->held.list[i] == object;
    if (object == NULL || count == 0 || found < count)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = graph->held.count; i > 0 && count > 0; i--) {
        if (graph->held.list[i - 1] != object)
            continue;
        memmove(graph->held.list + i - 1, graph->held.list + i,
                (graph->held.count - i) * sizeof(*graph->held.list));
        graph->held.count--;
        count--;
        release(&object, 1);
    }
    return CUDA_SUCCESS;
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned count)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : give_up(sim_graph_of(graph), object_of(object), count));
}
