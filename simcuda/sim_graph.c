/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_graph.h"

#include <stdlib.h>
#include <string.h>

/* What is launched: the work of a graph's nodes, in which indices stand for nodes. */
typedef struct sim_exec {
    sim_object_t object;
    unsigned references; /* of the handle, and of launches */
    sim_work_t **works;
    bool *needs; /* count * count: row needs column */
    size_t count;
    sim_held_t held;
    sim_op_t *last; /* its last launch: the next one waits for it */
} sim_exec_t;

sim_graph_t *sim_graph_of(CUgraph handle)
{
    return sim_object_find(SIM_GRAPH, handle);
}

sim_graph_t *sim_graph_create(void)
{
    return sim_object_create(SIM_GRAPH, sizeof(sim_graph_t));
}

sim_node_t *sim_graph_add(sim_graph_t *graph, sim_work_t *work, sim_node_t *const *needs,
                          size_t count)
{
    sim_node_t *node = sim_object_create(SIM_NODE, sizeof(*node));
    graph->nodes = realloc(graph->nodes, (graph->count + 1) * sizeof(*graph->nodes));
    if (graph->nodes == NULL)
        sim_die("no memory for %zu nodes", graph->count + 1);
    node->index = graph->count;
    node->work = work;
    node->needs = sim_alloc(count * sizeof(*node->needs));
    node->need_count = count;
    if (count > 0)
        memcpy(node->needs, needs, count * sizeof(*needs));
    graph->nodes[graph->count++] = node;
    return node;
}

void sim_graph_release(sim_graph_t *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        sim_node_t *node = graph->nodes[i];
        sim_work_release(node->work);
        free(node->needs);
        sim_object_release(node);
    }
    free(graph->nodes);
    sim_held_release(&graph->held);
    sim_object_release(graph);
}

/* ---- graphs ---- */

CUresult cuGraphCreate(CUgraph *out, unsigned flags)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && (out == NULL || flags != 0))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *out = (CUgraph)sim_graph_create();
    return sim_end(result);
}

CUresult cuGraphDestroy(CUgraph handle)
{
    CUresult result = sim_begin(__func__);
    sim_graph_t *graph = sim_graph_of(handle);
    if (result == CUDA_SUCCESS && graph == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        sim_graph_release(graph);
    return sim_end(result);
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
    CUresult result = sim_begin(__func__);
    const sim_graph_t *graph = sim_graph_of(handle);
    if (result == CUDA_SUCCESS && (graph == NULL || count == NULL))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return sim_end(result);
    for (size_t i = 0; nodes != NULL && i < *count; i++)
        nodes[i] = i < graph->count ? (CUgraphNode)graph->nodes[i] : NULL;
    if (nodes == NULL || *count > graph->count)
        *count = graph->count;
    return sim_end(CUDA_SUCCESS);
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *out)
{
    CUresult result = sim_begin(__func__);
    const sim_node_t *node = sim_object_find(SIM_NODE, handle);
    if (result == CUDA_SUCCESS && (node == NULL || out == NULL))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *out = node->work->type;
    return sim_end(result);
}

/* ---- executable graphs ---- */

static sim_exec_t *exec_of(CUgraphExec handle)
{
    return sim_object_find(SIM_EXEC, handle);
}

static void drop_works(sim_exec_t *exec)
{
    for (size_t i = 0; i < exec->count; i++)
        sim_work_release(exec->works[i]);
    free(exec->works);
    free(exec->needs);
    sim_held_release(&exec->held);
}

static void take_works(sim_exec_t *exec, const sim_graph_t *graph)
{
    exec->count = graph->count;
    sim_held_copy(&exec->held, &graph->held);
    exec->works = sim_alloc(graph->count * sizeof(*exec->works));
    exec->needs = sim_alloc(graph->count * graph->count);
    for (size_t i = 0; i < graph->count; i++) {
        const sim_node_t *node = graph->nodes[i];
        exec->works[i] = node->work;
        node->work->references++;
        for (size_t k = 0; k < node->need_count; k++)
            exec->needs[i * graph->count + node->needs[k]->index] = true;
    }
}

static void release_exec(sim_exec_t *exec)
{
    if (--exec->references > 0)
        return;
    drop_works(exec);
    sim_op_release(exec->last);
    free(exec);
}

static CUresult instantiate(CUgraphExec *out, const sim_graph_t *graph)
{
    if (out == NULL || graph == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    sim_exec_t *exec = sim_object_create(SIM_EXEC, sizeof(*exec));
    exec->references = 1;
    take_works(exec, graph);
    *out = (CUgraphExec)exec;
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    CUresult result = sim_begin(__func__);
    (void)flags;
    return sim_end(result ? result : instantiate(out, sim_graph_of(graph)));
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *parameters)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && parameters == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        result = instantiate(out, sim_graph_of(graph));
        parameters->hErrNode_out = NULL;
        parameters->result_out =
            result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
    }
    return sim_end(result);
}

CUresult cuGraphExecDestroy(CUgraphExec handle)
{
    CUresult result = sim_begin(__func__);
    sim_exec_t *exec = exec_of(handle);
    if (result == CUDA_SUCCESS && exec == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        sim_object_forget(exec);
        release_exec(exec);
    }
    return sim_end(result);
}

/* What nodes do may differ, but not their number or their types. */
static CUresult update(sim_exec_t *exec, const sim_graph_t *graph,
                       CUgraphExecUpdateResultInfo *info)
{
    if (exec == NULL || graph == NULL || info == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *info = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_SUCCESS};
    bool is_same = exec->count == graph->count;
    for (size_t i = 0; is_same && i < graph->count; i++)
        is_same = exec->works[i]->type == graph->nodes[i]->work->type;
    if (!is_same) {
        info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    if (exec->last != NULL)
        sim_op_wait(exec->last);
    drop_works(exec);
    take_works(exec, graph);
    return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : update(exec_of(exec), sim_graph_of(graph), info));
}

/* ---- launching ---- */

typedef struct launch {
    sim_exec_t *exec;
} graph_launch_t;

/* A node at random among those that are not done but have all that they need: nodes without an
 * order in the graph get none here. */
static size_t choose_next(const sim_exec_t *exec, const bool *is_done)
{
    size_t chosen = 0, candidates = 0;
    for (size_t i = 0; i < exec->count; i++) {
        bool is_ready = !is_done[i];
        for (size_t k = 0; is_ready && k < exec->count; k++)
            is_ready = !exec->needs[i * exec->count + k] || is_done[k];
        if (is_ready && sim_random() % ++candidates == 0)
            chosen = i;
    }
    return chosen;
}

static CUresult run_graph(sim_work_t *work)
{
    const sim_exec_t *exec = ((graph_launch_t *)work->arguments)->exec;
    bool *is_done = sim_alloc(exec->count);
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < exec->count && result == CUDA_SUCCESS; i++) {
        sim_lock();
        size_t next = choose_next(exec, is_done);
        sim_unlock();
        if (exec->works[next]->run != NULL)
            result = exec->works[next]->run(exec->works[next]);
        is_done[next] = true;
    }
    free(is_done);
    return result;
}

static void drop_launch(sim_work_t *work)
{
    release_exec(((graph_launch_t *)work->arguments)->exec);
}

/* Events outside the graph are awaited before all of it and recorded after all of it. */
static void touch_events(sim_stream_t *stream, const sim_exec_t *exec, CUgraphNodeType type)
{
    for (size_t i = 0; i < exec->count; i++) {
        const sim_named_event_t *named = (sim_named_event_t *)exec->works[i]->arguments;
        sim_event_t *event = exec->works[i]->type == type ? sim_event_of(named->handle) : NULL;
        if (event != NULL && type == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
            sim_event_await(stream, event);
        else if (event != NULL)
            sim_event_record(stream, event);
    }
}

static sim_work_t *launch_work(sim_stream_t *stream, sim_exec_t *exec)
{
    sim_work_t *work =
        sim_work_create(stream->context, CU_GRAPH_NODE_TYPE_GRAPH, sizeof(graph_launch_t));
    *(graph_launch_t *)work->arguments = (graph_launch_t){exec};
    exec->references++;
    work->run = run_graph;
    work->drop = drop_launch;
    return work;
}

static CUresult launch_graph(sim_exec_t *exec, CUstream handle)
{
    sim_stream_t *stream;
    CUresult result = sim_stream_of(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (exec == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture != NULL)
        return sim_submit(stream, launch_work(stream, exec), false);
    result = sim_may_enqueue(stream);
    if (result != CUDA_SUCCESS)
        return result;
    touch_events(stream, exec, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
    sim_op_t *op;
    sim_enqueue(stream, launch_work(stream, exec), exec->last, &op);
    sim_op_release(exec->last);
    exec->last = op;
    touch_events(stream, exec, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : launch_graph(exec_of(exec), stream));
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream handle)
{
    sim_stream_t *stream;
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && exec_of(exec) == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    return sim_end(result ? result : sim_stream_of(handle, &stream));
}
