/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/plan/job_plan.h"

#include "base/config.h"
#include "base/cpu.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/random.h"
#include "launch/plan/torch_options.h"
#include "mpi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_RANKS_OF_HOST = 4096 };

int wl_cores_available(void)
{
    weft_cpus_t cores = weft_cpus_allowed();
    return weft_cpus_count(&cores);
}

/* Copy those of the variables "A,B" that `from` has. */
static int take_listed(const char *list, const wl_variables_t *from, wl_variables_t *to)
{
    int err = MPI_SUCCESS;
    while (list != NULL && *list != '\0' && err == MPI_SUCCESS) {
        char name[256];
        size_t length = strcspn(list, ",");
        snprintf(name, sizeof(name), "%.*s", (int)length, list);
        const char *value = wl_variables_get(from, name);
        if (value != NULL)
            err = wl_variables_set(to, name, value);
        list += length + (list[length] == ',');
    }
    return err;
}

/* A PMIx setting for ranks and server alike that makes the start quicker: the store `hash` keeps
 * the job's information in memory and not in files. */
static int add_defaults(wl_variables_t *environment)
{
    if (wl_variables_get(environment, "PMIX_MCA_gds") != NULL)
        return MPI_SUCCESS;
    return wl_variables_set(environment, "PMIX_MCA_gds", "hash");
}

/* A PMIx server would not take a second process for a rank. A single rank meets nobody. */
static int let_ranks_rejoin(const wl_job_plan_t *plan, wl_variables_t *environment)
{
    bool is_named = wl_variables_get(environment, "WEFT_BOOTSTRAP") != NULL;
    int err = wl_variables_set(environment, "WEFT_REJOIN", "yes");
    if (err == MPI_SUCCESS && !is_named && plan->size > 1)
        err = wl_variables_set(environment, "WEFT_BOOTSTRAP", "environment");
    return err;
}

int wl_job_plan_apply_rules(const wl_job_plan_t *plan, const wl_variables_t *inherited,
                            wl_app_t *app)
{
    const wl_environment_rules_t *rules =
        app->rules.inheritance != WL_INHERIT_UNSET ? &app->rules : &plan->rules;
    int err = MPI_SUCCESS;
    if (rules->inheritance == WL_INHERIT_LISTED)
        err = take_listed(rules->list, inherited, &app->environment);
    else if (rules->inheritance != WL_INHERIT_NONE)
        err = wl_variables_merge(&app->environment, inherited);
    app->inherits_all =
        rules->inheritance == WL_INHERIT_ALL || rules->inheritance == WL_INHERIT_UNSET;
    if (err == MPI_SUCCESS)
        err = wl_variables_merge(&app->environment, &plan->rules.set);
    if (err == MPI_SUCCESS)
        err = wl_variables_merge(&app->environment, &app->rules.set);
    if (err == MPI_SUCCESS && plan->wants_report)
        err = wl_variables_set(&app->environment, "WEFT_REPORT", "1");
    return err;
}

static int complete_environment(const wl_job_plan_t *plan, const wl_variables_t *inherited,
                                wl_app_t *app)
{
    int err = wl_job_plan_apply_rules(plan, inherited, app);
    if (err == MPI_SUCCESS && plan->replaces_lost)
        err = let_ranks_rejoin(plan, &app->environment);
    return err == MPI_SUCCESS ? add_defaults(&app->environment) : err;
}

/* A port for programs that meet through MASTER_PORT: one that the system says is free. */
static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof(address);
    int fallback = 29500;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fallback;
    bool is_bound = bind(fd, (struct sockaddr *)&address, bytes) == 0 &&
                    getsockname(fd, (struct sockaddr *)&address, &bytes) == 0;
    close(fd);
    return is_bound ? ntohs(address.sin_port) : fallback;
}

/* What the user has set wins over the command line's hosts. */
static int add_meeting_point(wl_job_plan_t *plan)
{
    bool is_local = plan->placement.host_count == 1;
    const char *address = is_local ? "127.0.0.1" : plan->placement.hosts[0].name;
    int port = free_port();
    int err = MPI_SUCCESS;
    for (int i = 0; i < plan->app_count && err == MPI_SUCCESS; i++) {
        wl_variables_t *environment = &plan->apps[i].environment;
        err = wl_torch_add_variables(plan, environment);
        if (err == MPI_SUCCESS && wl_variables_get(environment, "MASTER_ADDR") == NULL)
            err = wl_variables_set(environment, "MASTER_ADDR", address);
        if (err == MPI_SUCCESS && wl_variables_get(environment, "MASTER_PORT") == NULL) {
            plan->apps[i].has_chosen_port = true;
            err = wl_variables_set_number(environment, "MASTER_PORT", port);
        }
    }
    return err;
}

/* An application without hosts of its own uses the hosts of the one before it; the first one uses
 * this host. */
static int settle_hosts(wl_job_plan_t *plan)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < plan->app_count && err == MPI_SUCCESS; i++) {
        wl_app_t *app = &plan->apps[i];
        if (app->hosts.count > 0 && app->file_hosts.count > 0) {
            wl_host_list_take_slots(&app->hosts, &app->file_hosts);
        } else if (app->file_hosts.count > 0) {
            app->hosts = app->file_hosts;
            app->file_hosts = (wl_host_list_t){0};
        } else if (app->hosts.count == 0 && i > 0) {
            err = wl_host_list_copy(&plan->apps[i - 1].hosts, &app->hosts);
        } else if (app->hosts.count == 0) {
            err = wl_host_list_add(&app->hosts, "localhost");
        }
    }
    return err;
}

/* If this host is the only one and has no slots given, it gets a rank per core. */
static int default_count(const wl_job_plan_t *plan, const wl_host_list_t *hosts)
{
    bool is_plain =
        hosts->count == 1 && hosts->hosts[0].slots == 0 && plan->placement_rules.per_host == 0;
    if (is_plain && wl_is_this_host(hosts->hosts[0].name))
        return plan->cores;
    return wl_placement_slots(hosts, &plan->placement_rules);
}

static int count_ranks(wl_job_plan_t *plan)
{
    long size = 0;
    for (int i = 0; i < plan->app_count; i++) {
        wl_app_t *app = &plan->apps[i];
        if (app->count == 0)
            app->count = default_count(plan, &app->hosts);
        app->first_rank = (int)size;
        size += app->count;
        if (size > WL_MOST_RANKS)
            return weft_fail(MPI_ERR_SPAWN, "%ld ranks were asked for; at most %d are started",
                             size, WL_MOST_RANKS);
    }
    plan->size = (int)size;
    return MPI_SUCCESS;
}

/* If no slots are given for this host, they are the number of its cores. */
static void give_slots_to_this_host(wl_job_plan_t *plan)
{
    for (int i = 0; i < plan->app_count; i++) {
        wl_listed_host_t *host = &plan->apps[i].hosts.hosts[0];
        if (plan->apps[i].hosts.count == 1 && host->slots == 0 && wl_is_this_host(host->name))
            host->slots = plan->cores;
    }
}

static int place_ranks(wl_job_plan_t *plan)
{
    wl_placement_part_t *parts = weft_alloc_array((size_t)plan->app_count, sizeof(*parts));
    if (parts == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "%d programs", plan->app_count);
    for (int i = 0; i < plan->app_count; i++)
        parts[i] = (wl_placement_part_t){&plan->apps[i].hosts, plan->apps[i].count};
    int err = wl_placement_make(parts, plan->app_count, &plan->placement_rules, &plan->placement);
    weft_free(parts);
    return err;
}

bool wl_job_plan_is_local(const wl_job_plan_t *plan)
{
    return plan->placement.host_count == 1 && wl_is_this_host(plan->placement.hosts[0].name);
}

const wl_app_t *wl_job_plan_app_of(const wl_job_plan_t *plan, int rank)
{
    const wl_app_t *app = plan->apps;
    while (rank >= app->first_rank + app->count)
        app++;
    return app;
}

static int check_sizes(const wl_job_plan_t *plan)
{
    for (int i = 0; i < plan->placement.host_count; i++) {
        const wl_placed_host_t *host = &plan->placement.hosts[i];
        if (host->count > MOST_RANKS_OF_HOST)
            return weft_fail(MPI_ERR_SPAWN,
                             "%d ranks would be on %s; on one host at most %d are started",
                             host->count, host->name, MOST_RANKS_OF_HOST);
    }
    return MPI_SUCCESS;
}

/* Refuse more ranks than cores on this host, whatever slots were given. */
static int check_cores(const wl_job_plan_t *plan)
{
    if (!plan->placement_rules.no_oversubscription || plan->size <= plan->cores ||
        !wl_job_plan_is_local(plan))
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_SPAWN,
                     "%d ranks were asked for with --nooversubscribe, but only %d cores can be "
                     "used",
                     plan->size, plan->cores);
}

static int settle_places(wl_job_plan_t *plan)
{
    int err = settle_hosts(plan);
    if (err == MPI_SUCCESS)
        err = count_ranks(plan);
    if (err != MPI_SUCCESS)
        return err;
    give_slots_to_this_host(plan);
    err = place_ranks(plan);
    if (err == MPI_SUCCESS)
        err = check_sizes(plan);
    return err == MPI_SUCCESS ? check_cores(plan) : err;
}

/* Make the name of the job, which others can see. */
static int name_job(wl_job_plan_t *plan)
{
    unsigned random;
    int err = weft_random(&random, sizeof(random));
    if (err == MPI_SUCCESS)
        snprintf(plan->id, sizeof(plan->id), "weft-%d-%08x", (int)getpid(), random);
    return err;
}

int wl_job_plan_read_hosts(wl_job_plan_t *plan)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < plan->app_count && err == MPI_SUCCESS; i++) {
        if (plan->apps[i].host_file != NULL)
            err = wl_host_list_add_file(&plan->apps[i].file_hosts, plan->apps[i].host_file);
    }
    return err;
}

/* What places ranks on real hosts does so on simulated ones: the list of hosts is made for it. */
static int list_simulated_hosts(const wl_job_plan_t *plan, wl_variables_t *environment)
{
    enum { HOSTS_MOST = 1000 };
    const wl_placement_rules_t *rules = &plan->placement_rules;
    char *end, list[HOSTS_MOST * 8] = "";
    long count = strtol(plan->simulated_hosts, &end, 10);
    int each = rules->is_by_node ? 1 : rules->per_host;
    if (*end != '\0' || each == 0 || count == 1 || count * each > plan->size ||
        count * each > HOSTS_MOST)
        return MPI_SUCCESS; /* as the option has it */
    size_t used = 0;
    for (long i = 0; i < count * each; i++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%ld", i == 0 ? "" : ",",
                                 i / each);
    return wl_variables_set(environment, "WEFT_SIMULATE_HOSTS", list);
}

static int simulate_hosts(wl_job_plan_t *plan)
{
    int err = MPI_SUCCESS;
    if (plan->simulated_hosts == NULL)
        return MPI_SUCCESS;
    if (!wl_job_plan_is_local(plan))
        return weft_fail(MPI_ERR_SPAWN, "--simulate-hosts is for ranks on this host alone");
    for (int i = 0; i < plan->app_count && err == MPI_SUCCESS; i++)
        err = list_simulated_hosts(plan, &plan->apps[i].environment);
    return err;
}

int wl_job_plan_complete(wl_job_plan_t *plan)
{
    wl_variables_t inherited;
    int err = wl_variables_inherit(&inherited);
    if (err != MPI_SUCCESS)
        return err;
    plan->cores = wl_cores_available();
    plan->replaces_lost = plan->survives_losses && plan->torch.max_restarts > 0;
    err = settle_places(plan);
    if (err == MPI_SUCCESS)
        err = wl_rank_files_check_size(&plan->files, plan->size);
    if (err == MPI_SUCCESS && !wl_job_plan_is_local(plan))
        wl_variables_forget_host(&inherited);
    for (int i = 0; i < plan->app_count && err == MPI_SUCCESS; i++)
        err = complete_environment(plan, &inherited, &plan->apps[i]);
    wl_variables_release(&inherited);
    if (err == MPI_SUCCESS)
        err = simulate_hosts(plan);
    if (err == MPI_SUCCESS)
        err = name_job(plan);
    return err == MPI_SUCCESS ? add_meeting_point(plan) : err;
}

int wl_job_plan_renew(wl_job_plan_t *plan)
{
    int port = free_port();
    int err = name_job(plan);
    plan->torch.restarts++;
    for (int i = 0; i < plan->app_count && err == MPI_SUCCESS; i++) {
        wl_variables_t *environment = &plan->apps[i].environment;
        err = wl_variables_set_number(environment, "TORCHELASTIC_RESTART_COUNT",
                                      plan->torch.restarts);
        if (err == MPI_SUCCESS && plan->apps[i].has_chosen_port)
            err = wl_variables_set_number(environment, "MASTER_PORT", port);
    }
    return err;
}

typedef enum rank_number {
    WORLD_RANK,
    WORLD_SIZE,
    LOCAL_RANK,
    LOCAL_SIZE,
    HOST_NUMBER,
    HOSTS,
    NUMBERS
} rank_number_t;

/* The variables that programs read before MPI_Init: the names of Open MPI, of MPICH and of
 * torchrun. */
static const struct {
    const char *name;
    rank_number_t number;
} rank_variables[] = {
    {"OMPI_COMM_WORLD_RANK", WORLD_RANK},
    {"OMPI_COMM_WORLD_SIZE", WORLD_SIZE},
    {"OMPI_COMM_WORLD_LOCAL_RANK", LOCAL_RANK},
    {"OMPI_COMM_WORLD_NODE_RANK", LOCAL_RANK},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", LOCAL_SIZE},
    {"OMPI_UNIVERSE_SIZE", WORLD_SIZE},
    {"MPI_LOCALRANKID", LOCAL_RANK},
    {"MPI_LOCALNRANKS", LOCAL_SIZE},
    {"RANK", WORLD_RANK},
    {"WORLD_SIZE", WORLD_SIZE},
    {"LOCAL_RANK", LOCAL_RANK},
    {"LOCAL_WORLD_SIZE", LOCAL_SIZE},
    {"GROUP_RANK", HOST_NUMBER},
    {"GROUP_WORLD_SIZE", HOSTS},
    {"ROLE_RANK", WORLD_RANK},
    {"ROLE_WORLD_SIZE", WORLD_SIZE},
};
enum { RANK_VARIABLES = sizeof(rank_variables) / sizeof(rank_variables[0]) };

int wl_job_plan_environment(const wl_job_plan_t *plan, int rank, wl_variables_t *out)
{
    const wl_placement_t *placement = &plan->placement;
    bool is_one = wl_torch_is_one_of_nodes(plan);
    const int numbers[NUMBERS] = {
        [WORLD_RANK] = wl_torch_world_rank(plan, rank),
        [WORLD_SIZE] = wl_torch_world_size(plan),
        [LOCAL_RANK] = placement->local_rank[rank],
        [LOCAL_SIZE] = placement->hosts[placement->host_of[rank]].count,
        [HOST_NUMBER] = is_one ? plan->torch.node_rank : placement->host_of[rank],
        [HOSTS] = is_one ? plan->torch.nodes : placement->host_count,
    };
    wl_variables_t result = {0};
    int err = wl_variables_merge(&result, &wl_job_plan_app_of(plan, rank)->environment);
    for (int i = 0; i < RANK_VARIABLES && err == MPI_SUCCESS; i++)
        err = wl_variables_set_number(&result, rank_variables[i].name,
                                      numbers[rank_variables[i].number]);
    if (err != MPI_SUCCESS) {
        wl_variables_release(&result);
        return err;
    }
    *out = result;
    return MPI_SUCCESS;
}

int wl_job_plan_want_host_facts(wl_job_plan_t *plan)
{
    plan->wants_host_facts = true;
    plan->host_facts =
        weft_alloc_zeroed((size_t)plan->placement.host_count, sizeof(*plan->host_facts));
    return plan->host_facts != NULL
               ? MPI_SUCCESS
               : weft_fail(MPI_ERR_NO_MEM, "a list of %d hosts", plan->placement.host_count);
}

void wl_job_plan_release(wl_job_plan_t *plan)
{
    for (int i = 0; plan->host_facts != NULL && i < plan->placement.host_count; i++)
        wl_variables_release(&plan->host_facts[i]);
    weft_free(plan->host_facts);
    for (int i = 0; i < plan->app_count; i++) {
        weft_free(plan->apps[i].path);
        weft_free(plan->apps[i].own_words);
        wl_host_list_release(&plan->apps[i].hosts);
        wl_host_list_release(&plan->apps[i].file_hosts);
        wl_variables_release(&plan->apps[i].rules.set);
        wl_variables_release(&plan->apps[i].environment);
    }
    weft_free(plan->apps);
    wl_placement_release(&plan->placement);
    wl_variables_release(&plan->rules.set);
    *plan = (wl_job_plan_t){0};
}
