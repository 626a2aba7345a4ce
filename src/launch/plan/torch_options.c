/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The options of torchrun, so that one of its command lines does the same under mpirun: how many
 * processes on how many nodes, where they meet, and Python programs.
 */
#include "launch/plan/torch_options.h"

#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "launch/plan/launch_options.h"
#include "launch/plan/launch_options_private.h"
#include "mpi.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RENDEZVOUS_PORT = 29400, /* torchrun's own defaults */
    MASTER_PORT = 29500,
    HIGHEST_PORT = 65535,
};

/* ---- options ---- */

static int count_words(const char *list)
{
    int count = list[0] != '\0';
    for (const char *c = list; *c != '\0'; c++)
        count += *c == ',';
    return count;
}

/* The GPUs that ranks of this host would see; mpirun has no driver loaded. */
static int count_gpus(void)
{
    const char *visible = weft_environment("CUDA_VISIBLE_DEVICES");
    int count = 0;
    if (visible != NULL)
        return count_words(visible);
    DIR *folder = opendir("/proc/driver/nvidia/gpus");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    if (folder != NULL)
        closedir(folder);
    return count;
}

int wli_torch_set_per_node(const wli_given_t *given)
{
    const char *text = given->values[0];
    long count = 0;
    given->plan->torch.is_given = true;
    if (strcmp(text, "cpu") == 0)
        count = wl_cores_available();
    else if (strcmp(text, "gpu") == 0 || strcmp(text, "auto") == 0)
        count = count_gpus();
    else if (wl_options_number(given->word, text, INT_MAX, &count) != MPI_SUCCESS)
        return weft_fail(MPI_ERR_ARG, "%s wants a whole number, gpu, cpu or auto, not \"%s\"",
                         given->word, text);
    if (count == 0 && strcmp(text, "gpu") == 0)
        return weft_fail(MPI_ERR_ARG, "--nproc-per-node gpu: this host has no GPU");
    given->plan->placement_rules.per_host = count == 0 ? wl_cores_available() : (int)count;
    return MPI_SUCCESS;
}

/* "2", or "2:2" */
int wli_torch_set_nodes(const wli_given_t *given)
{
    char *end;
    const char *text = given->values[0];
    long least = strtol(text, &end, 10), most = least;
    if (end != text && *end == ':')
        most = strtol(end + 1, &end, 10);
    if (end == text || *end != '\0' || least < 1 || most > INT_MAX)
        return weft_fail(MPI_ERR_ARG, "%s wants the number of nodes, not \"%s\"", given->word,
                         text);
    if (least != most)
        return weft_fail(MPI_ERR_ARG,
                         "--nnodes %s: the number of nodes cannot change while a job runs; "
                         "expected is one number",
                         text);
    given->plan->torch.is_given = true;
    given->plan->torch.nodes = (int)most;
    return MPI_SUCCESS;
}

int wli_torch_set_node_rank(const wli_given_t *given)
{
    char *end;
    long rank = strtol(given->values[0], &end, 10);
    if (end == given->values[0] || *end != '\0' || rank < 0 || rank >= INT_MAX)
        return weft_fail(MPI_ERR_ARG, "%s wants the number of this node, from 0, not \"%s\"",
                         given->word, given->values[0]);
    given->plan->torch.is_given = given->plan->torch.has_node_rank = true;
    given->plan->torch.node_rank = (int)rank;
    return MPI_SUCCESS;
}

/* The text of the port in "host:29400" or "[fd00::1]:29400"; NULL in a host, or an address of IPv6,
 * without a port. */
static const char *port_in(const char *endpoint)
{
    const char *last = strrchr(endpoint, ':'), *first = strchr(endpoint, ':');
    const char *bracket = strchr(endpoint, ']');
    bool has_port = last != NULL && (bracket != NULL ? last > bracket : first == last);
    return has_port ? last + 1 : NULL;
}

int wli_torch_set_endpoint(const wli_given_t *given)
{
    const char *text = port_in(given->values[0]);
    char *end = NULL;
    long port = text == NULL ? 0 : strtol(text, &end, 10);
    if (text != NULL && (end == text || *end != '\0' || port < 0 || port > HIGHEST_PORT))
        return weft_fail(MPI_ERR_ARG, "--rdzv-endpoint %s: the port is \"%s\"; expected is 0 to %d",
                         given->values[0], text, HIGHEST_PORT);
    given->plan->torch.is_given = true;
    given->plan->torch.endpoint = given->values[0];
    return MPI_SUCCESS;
}

int wli_torch_set_address(const wli_given_t *given)
{
    given->plan->torch.is_given = true;
    given->plan->torch.address = given->values[0];
    return MPI_SUCCESS;
}

int wli_torch_set_port(const wli_given_t *given)
{
    given->plan->torch.is_given = true;
    return wl_options_number(given->word, given->values[0], HIGHEST_PORT, &given->plan->torch.port);
}

int wli_torch_set_id(const wli_given_t *given)
{
    given->plan->torch.is_given = true;
    given->plan->torch.id = given->values[0];
    return MPI_SUCCESS;
}

int wli_torch_set_role(const wli_given_t *given)
{
    given->plan->torch.role = given->values[0];
    return MPI_SUCCESS;
}

int wli_torch_be_alone(const wli_given_t *given)
{
    given->plan->torch.is_given = true;
    return MPI_SUCCESS;
}

int wli_torch_take_module(const wli_given_t *given)
{
    given->app->is_module = true;
    return MPI_SUCCESS;
}

int wli_torch_take_script(const wli_given_t *given)
{
    given->app->is_script = true;
    return MPI_SUCCESS;
}

int wli_torch_take_program(const wli_given_t *given)
{
    given->app->is_no_script = true;
    return MPI_SUCCESS;
}

/* ---- Python programs ---- */

static bool is_executable(const wl_app_t *app)
{
    char path[PATH_MAX];
    const char *name = app->arguments[0];
    bool has_folder = app->directory != NULL && name[0] != '/';
    snprintf(path, sizeof(path), "%s%s%s", has_folder ? app->directory : "", has_folder ? "/" : "",
             name);
    return access(path, X_OK) == 0;
}

/* torchrun gives a script to Python whatever its mode is; mpirun starts one that can be executed.
 */
static bool is_for_python(const wl_job_plan_t *plan, const wl_app_t *app)
{
    const char *name = app->arguments[0];
    size_t length = name == NULL ? 0 : strlen(name);
    if (name == NULL || app->is_no_script)
        return false;
    if (app->is_module || app->is_script)
        return true;
    bool is_named_so = length > 3 && strcmp(name + length - 3, ".py") == 0;
    return is_named_so && (plan->torch.is_given || !is_executable(app));
}

/* "python3 -u [-m]" in front of the words, as torchrun does: -u, so that output comes as it is
 * written. */
static int start_by_python(wl_app_t *app)
{
    enum { WORDS_MOST = 3 };
    static char python[] = "python3", unbuffered[] = "-u", module[] = "-m";
    char *chosen = (char *)weft_environment("PYTHON_EXEC");
    size_t count = 0, front = 0;
    while (app->arguments[count] != NULL)
        count++;
    char **words = weft_alloc_array(count + WORDS_MOST + 1, sizeof(*words));
    if (words == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "the words of a command");
    words[front++] = chosen != NULL && chosen[0] != '\0' ? chosen : python;
    words[front++] = unbuffered;
    if (app->is_module)
        words[front++] = module;
    memcpy(words + front, app->arguments, (count + 1) * sizeof(*words));
    app->arguments = app->own_words = words;
    return MPI_SUCCESS;
}

/* ---- all options are read ---- */

static bool names_hosts(const wl_job_plan_t *plan)
{
    for (int i = 0; i < plan->app_count; i++) {
        if (plan->apps[i].hosts.count > 0 || plan->apps[i].host_file != NULL)
            return true;
    }
    return false;
}

static int check_node_rank(const wl_job_plan_t *plan)
{
    const wl_torch_t *torch = &plan->torch;
    int nodes = torch->nodes > 0 ? torch->nodes : 1;
    if (torch->node_rank >= nodes)
        return weft_fail(MPI_ERR_ARG, "--node-rank is %d; expected is 0 to %d, as --nnodes is %d",
                         torch->node_rank, nodes - 1, nodes);
    if (nodes > 1 && names_hosts(plan))
        return weft_fail(MPI_ERR_ARG,
                         "--node-rank starts the ranks of this node alone, so hosts cannot be "
                         "named; without it mpirun starts those of all hosts");
    if (nodes > 1 && torch->endpoint == NULL && torch->address == NULL)
        return weft_fail(MPI_ERR_ARG,
                         "--node-rank wants --rdzv-endpoint HOST:PORT, or --master-addr and "
                         "--master-port, so that the nodes find each other");
    if (nodes > 1 && plan->app_count > 1)
        return weft_fail(MPI_ERR_ARG, "--node-rank is for one program, without ':'");
    return MPI_SUCCESS;
}

static int check_nodes(wl_job_plan_t *plan)
{
    wl_torch_t *torch = &plan->torch;
    if (torch->has_node_rank)
        return check_node_rank(plan);
    if (torch->nodes <= 1)
        return MPI_SUCCESS;
    if (!names_hosts(plan) && weft_environment("SLURM_JOB_ID") == NULL)
        return weft_fail(MPI_ERR_ARG,
                         "--nnodes %d wants the hosts (-host A,B or -hostfile FILE), or "
                         "--node-rank on each of them",
                         torch->nodes);
    return MPI_SUCCESS;
}

/* torchrun starts one process a node if it is not told how many. */
static void settle_counts(wl_job_plan_t *plan)
{
    wl_torch_t *torch = &plan->torch;
    bool is_counted = plan->apps[0].count > 0 || plan->placement_rules.per_host > 0;
    if (torch->is_given && !is_counted)
        plan->placement_rules.per_host = 1;
    if (torch->nodes > 1 && !torch->has_node_rank && plan->app_count == 1 &&
        plan->apps[0].count == 0)
        plan->apps[0].count = torch->nodes * plan->placement_rules.per_host;
}

int wl_torch_settle(wl_job_plan_t *plan)
{
    int err = check_nodes(plan);
    if (err == MPI_SUCCESS)
        settle_counts(plan);
    for (int i = 0; i < plan->app_count && err == MPI_SUCCESS; i++) {
        if (is_for_python(plan, &plan->apps[i]))
            err = start_by_python(&plan->apps[i]);
    }
    return err;
}

/* ---- variables ---- */

bool wl_torch_is_one_of_nodes(const wl_job_plan_t *plan)
{
    return plan->torch.has_node_rank && plan->torch.nodes > 1;
}

int wl_torch_world_rank(const wl_job_plan_t *plan, int rank)
{
    return wl_torch_is_one_of_nodes(plan) ? plan->torch.node_rank * plan->size + rank : rank;
}

int wl_torch_world_size(const wl_job_plan_t *plan)
{
    return wl_torch_is_one_of_nodes(plan) ? plan->torch.nodes * plan->size : plan->size;
}

/* "host", "host:29400", "[fd00::1]:29400", and an address of IPv6 without a port */
static void split_endpoint(const char *endpoint, char host[256], long *port)
{
    const char *text = port_in(endpoint);
    int length = text != NULL ? (int)(text - endpoint) - 1 : (int)strlen(endpoint);
    bool is_bracketed = endpoint[0] == '[' && length > 2 && endpoint[length - 1] == ']';
    snprintf(host, 256, "%.*s", is_bracketed ? length - 2 : length, endpoint + is_bracketed);
    *port = text != NULL ? strtol(text, NULL, 10) : RENDEZVOUS_PORT;
}

/* Where the command line says that ranks meet; it wins over the environment. */
static int add_named_place(const wl_job_plan_t *plan, wl_variables_t *environment)
{
    const wl_torch_t *torch = &plan->torch;
    char host[256] = "";
    long port = 0;
    if (torch->endpoint != NULL)
        split_endpoint(torch->endpoint, host, &port);
    if (torch->address != NULL) {
        snprintf(host, sizeof(host), "%s", torch->address);
        port = torch->nodes > 1 ? MASTER_PORT : 0;
    }
    port = torch->port > 0 ? torch->port : port;
    int err = MPI_SUCCESS;
    if (host[0] != '\0')
        err = wl_variables_set(environment, "MASTER_ADDR", host);
    if (err == MPI_SUCCESS && port > 0)
        err = wl_variables_set_number(environment, "MASTER_PORT", port);
    return err;
}

/* Jobs of several mpiruns have the same id on all nodes; "none" is torchrun's. Where another
 * launcher has started this rank, mpirun has told it the job's. */
static const char *id_of(const wl_job_plan_t *plan)
{
    const char *told = weft_environment("TORCHELASTIC_RUN_ID");
    if (plan->torch.id != NULL)
        return plan->torch.id;
    if (wl_torch_is_one_of_nodes(plan))
        return "none";
    return plan->id[0] == '\0' && told != NULL ? told : plan->id;
}

int wl_torch_add_variables(const wl_job_plan_t *plan, wl_variables_t *environment)
{
    char most_restarts[16];
    snprintf(most_restarts, sizeof(most_restarts), "%d", plan->torch.max_restarts);
    const struct {
        const char *name, *value;
        bool replaces;
    } variables[] = {
        {"ROLE_NAME", plan->torch.role == NULL ? "default" : plan->torch.role, true},
        {"TORCHELASTIC_RUN_ID", id_of(plan), true},
        {"TORCHELASTIC_RESTART_COUNT", "0", true},
        {"TORCHELASTIC_MAX_RESTARTS", most_restarts, true},
        {"TORCHELASTIC_USE_AGENT_STORE", "False", true}, /* rank 0 has the store */
        {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1", false},
    };
    int err = add_named_place(plan, environment);
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]) && err == MPI_SUCCESS; i++) {
        if (variables[i].replaces || wl_variables_get(environment, variables[i].name) == NULL)
            err = wl_variables_set(environment, variables[i].name, variables[i].value);
    }
    /* As torchrun, which this command line was written for: else each process would start a thread
     * for each core. */
    if (err == MPI_SUCCESS && plan->torch.is_given && plan->placement_rules.per_host != 1 &&
        wl_variables_get(environment, "OMP_NUM_THREADS") == NULL)
        err = wl_variables_set(environment, "OMP_NUM_THREADS", "1");
    /* No PMIx server knows the ranks of the other nodes. */
    if (err == MPI_SUCCESS && wl_torch_is_one_of_nodes(plan))
        err = wl_variables_set(environment, "WEFT_BOOTSTRAP", "environment");
    return err;
}
