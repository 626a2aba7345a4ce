/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* strcasestr */
#include "launch/plan/launch_options_private.h"

#include "base/config.h"
#include "base/fail.h"
#include "base/nearest.h"
#include "base/simulated_link.h"
#include "launch/plan/host_list.h"
#include "launch/plan/launch_options.h"
#include "mpi.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int wl_options_number(const char *word, const char *text, long most, long *out)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < 1 || value > most)
        return weft_fail(MPI_ERR_ARG, "%s wants a whole number from 1 to %ld, not \"%s\"", word,
                         most, text);
    *out = value;
    return MPI_SUCCESS;
}

static int option_set_count(const wli_given_t *given)
{
    long count = 0;
    int err = wl_options_number(given->word, given->values[0], INT_MAX, &count);
    if (err == MPI_SUCCESS)
        given->app->count = (int)count;
    return err;
}

static int option_set_per_host(const wli_given_t *given)
{
    long count = 0;
    int err = wl_options_number(given->word, given->values[0], INT_MAX, &count);
    if (err == MPI_SUCCESS)
        given->plan->placement_rules.per_host = (int)count;
    return err;
}

static int option_set_one_per_host(const wli_given_t *given)
{
    given->plan->placement_rules.per_host = 1;
    return MPI_SUCCESS;
}

static int option_set_timeout(const wli_given_t *given)
{
    return wl_options_number(given->word, given->values[0], INT_MAX, &given->plan->timeout_s);
}

static int option_set_directory(const wli_given_t *given)
{
    given->app->directory = given->values[0];
    return MPI_SUCCESS;
}

static int set_pair(wl_variables_t *set, const wli_given_t *given)
{
    if (given->values[0][0] == '\0' || strchr(given->values[0], '=') != NULL)
        return weft_fail(MPI_ERR_ARG, "%s: \"%s\" is no name of a variable", given->word,
                         given->values[0]);
    return wl_variables_set(set, given->values[0], given->values[1]);
}

static int option_set_for_all(const wli_given_t *given)
{
    return set_pair(&given->plan->rules.set, given);
}

static int option_set_for_app(const wli_given_t *given)
{
    return set_pair(&given->app->rules.set, given);
}

/* -x NAME=VALUE sets, -x NAME passes on what mpirun has. */
static int option_export_variable(const wli_given_t *given)
{
    const char *text = given->values[0];
    const char *equals = strchr(text, '=');
    char name[256];
    size_t length = equals == NULL ? strlen(text) : (size_t)(equals - text);
    if (length == 0 || length >= sizeof(name))
        return weft_fail(MPI_ERR_ARG, "%s wants NAME or NAME=VALUE, not \"%s\"", given->word, text);
    snprintf(name, sizeof(name), "%.*s", (int)length, text);
    const char *value = equals == NULL ? weft_environment(name) : equals + 1;
    return value == NULL ? MPI_SUCCESS : wl_variables_set(&given->plan->rules.set, name, value);
}

static int inherit(wl_environment_rules_t *rules, wl_inheritance_t what, const char *list)
{
    rules->inheritance = what;
    rules->list = list;
    return MPI_SUCCESS;
}

static int option_list_for_all(const wli_given_t *given)
{
    return inherit(&given->plan->rules, WL_INHERIT_LISTED, given->values[0]);
}

static int option_list_for_app(const wli_given_t *given)
{
    return inherit(&given->app->rules, WL_INHERIT_LISTED, given->values[0]);
}

static int option_all_for_all(const wli_given_t *given)
{
    return inherit(&given->plan->rules, WL_INHERIT_ALL, NULL);
}

static int option_all_for_app(const wli_given_t *given)
{
    return inherit(&given->app->rules, WL_INHERIT_ALL, NULL);
}

static int option_none_for_all(const wli_given_t *given)
{
    return inherit(&given->plan->rules, WL_INHERIT_NONE, NULL);
}

static int option_none_for_app(const wli_given_t *given)
{
    return inherit(&given->app->rules, WL_INHERIT_NONE, NULL);
}

static int option_set_search(const wli_given_t *given)
{
    given->app->search = given->values[0];
    return MPI_SUCCESS;
}

static int option_set_output(const wli_given_t *given)
{
    given->plan->files.patterns[0] = given->values[0];
    return wl_rank_files_check(given->word, given->values[0]);
}

static int option_set_errors(const wli_given_t *given)
{
    given->plan->files.patterns[1] = given->values[0];
    return wl_rank_files_check(given->word, given->values[0]);
}

/* The option of Open MPI has words behind a ':'; the only one that matters, "nocopy", is what Weft
 * does anyway. */
static int option_set_output_folder(const wli_given_t *given)
{
    given->plan->files.folder = given->values[0];
    if (given->values[0][0] != '\0' && strchr(given->values[0], ':') == NULL)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_ARG,
                     "%s wants the name of a folder, without words behind a ':', not \"%s\"",
                     given->word, given->values[0]);
}

static int option_join_errors(const wli_given_t *given)
{
    given->plan->files.joins_errors = true;
    return MPI_SUCCESS;
}

/* Whether the job has that rank is checked when its size is known. */
static int option_set_input_rank(const wli_given_t *given)
{
    const char *text = given->values[0];
    char *end;
    long rank = strtol(text, &end, 10);
    bool is_none = strcmp(text, "none") == 0;
    if (!is_none && (end == text || *end != '\0' || rank < 0 || rank >= INT_MAX))
        return weft_fail(MPI_ERR_ARG, "%s wants the number of one rank, or none, not \"%s\"",
                         given->word, text);
    given->plan->files.input_rank = is_none ? WL_NO_RANK : (int)rank;
    return MPI_SUCCESS;
}

static int option_set_initial_errhandler(const wli_given_t *given)
{
    return wl_variables_set(&given->plan->rules.set, "WEFT_INITIAL_ERRHANDLER", given->values[0]);
}

/* A --configfile that gets here is the second one: the first was replaced by its words before
 * parsing. */
static int option_refuse_config_file(const wli_given_t *given)
{
    return weft_fail(MPI_ERR_ARG, "%s %s: there can be only one of it, and none within such a file",
                     given->word, given->values[0]);
}

static int option_tag_lines(const wli_given_t *given)
{
    given->plan->tags_lines = true;
    return MPI_SUCCESS;
}

static int option_forbid_oversubscription(const wli_given_t *given)
{
    given->plan->placement_rules.no_oversubscription = true;
    return MPI_SUCCESS;
}

static int option_be_quiet(const wli_given_t *given)
{
    given->plan->is_quiet = true;
    return MPI_SUCCESS;
}

static int option_want_help(const wli_given_t *given)
{
    given->plan->wants_help = true;
    return MPI_SUCCESS;
}

static int option_want_version(const wli_given_t *given)
{
    given->plan->wants_version = true;
    return MPI_SUCCESS;
}

static int option_add_hosts(const wli_given_t *given)
{
    return wl_host_list_add(&given->app->hosts, given->values[0]);
}

static int option_set_host_file(const wli_given_t *given)
{
    given->app->host_file = given->values[0];
    return MPI_SUCCESS;
}

static int option_want_report(const wli_given_t *given)
{
    given->plan->wants_report = true;
    return MPI_SUCCESS;
}

static int option_survive_losses(const wli_given_t *given)
{
    given->plan->survives_losses = true;
    return wl_variables_set(&given->plan->rules.set, "WEFT_RECOVERY", "yes");
}

static int option_set_manifest(const wli_given_t *given)
{
    given->plan->manifest = given->values[0];
    return given->values[0][0] != '\0'
               ? MPI_SUCCESS
               : weft_fail(MPI_ERR_ARG, "%s wants the name of a file", given->word);
}

/* As of --configfile: the first one was replaced by what it names. */
static int option_refuse_rerun(const wli_given_t *given)
{
    return weft_fail(MPI_ERR_ARG, "%s %s: there can be only one of it, in front of the first ':'",
                     given->word, given->values[0]);
}

static int option_set_launcher(const wli_given_t *given)
{
    given->plan->route.launcher = given->values[0];
    return MPI_SUCCESS;
}

static int option_set_agent(const wli_given_t *given)
{
    given->plan->route.agent = given->values[0];
    return MPI_SUCCESS;
}

static int option_set_prefix(const wli_given_t *given)
{
    given->plan->route.prefix = given->values[0];
    return MPI_SUCCESS;
}

static int option_set_interface(const wli_given_t *given)
{
    given->plan->route.interface = given->values[0];
    return MPI_SUCCESS;
}

/* One setting of Open MPI is obeyed: how to reach other hosts. */
static int option_set_foreign(const wli_given_t *given)
{
    if (strcmp(given->values[0], "plm_rsh_agent") == 0 ||
        strcmp(given->values[0], "plm_ssh_agent") == 0)
        given->plan->route.agent = given->values[1];
    return MPI_SUCCESS;
}

static int option_accept(const wli_given_t *given)
{
    (void)given;
    return MPI_SUCCESS;
}

/* Accepted without effect; a note tells the user. */
static int option_ignore(const wli_given_t *given)
{
    char *list = given->plan->ignored;
    size_t used = strlen(list);
    if (strstr(list, given->word) == NULL)
        snprintf(list + used, sizeof(given->plan->ignored) - used, "%s%s", used > 0 ? ", " : "",
                 given->word);
    return MPI_SUCCESS;
}

/* "ppr:4:node" */
static int set_ranks_per_resource(const wli_given_t *given, const char *text)
{
    char *end;
    long count = strtol(text, &end, 10);
    if (end == text || *end != ':' || count < 1 || count > INT_MAX)
        return weft_fail(MPI_ERR_ARG, "%s wants something like ppr:4:node, not \"%s\"", given->word,
                         given->values[0]);
    if (strncmp(end, ":node", 5) != 0)
        return option_ignore(given);
    given->plan->placement_rules.per_host = (int)count;
    return MPI_SUCCESS;
}

/* "node", "slot", "ppr:4:node", each perhaps with ":OVERSUBSCRIBE" or another word behind. */
static int option_set_mapping(const wli_given_t *given)
{
    const char *text = given->values[0];
    size_t length = strcspn(text, ":");
    given->plan->placement_rules.no_oversubscription |=
        strcasestr(text, ":nooversubscribe") != NULL;
    if (strncmp(text, "ppr:", 4) == 0)
        return set_ranks_per_resource(given, text + 4);
    if (length == 4 && strncmp(text, "node", length) == 0)
        given->plan->placement_rules.is_by_node = true;
    else if (length > 0 && (length != 4 || strncmp(text, "slot", length) != 0))
        return option_ignore(given);
    return MPI_SUCCESS;
}

static int option_set_binding(const wli_given_t *given)
{
    given->plan->is_unbound = strcmp(given->values[0], "none") == 0;
    return MPI_SUCCESS;
}

/* By how many hosts the ranks are spread is checked by them, who know their number. */
static int option_simulate_hosts(const wli_given_t *given)
{
    const char *text = given->values[0];
    if (text[0] == '\0' || strspn(text, "0123456789,") != strlen(text) || text[0] == ',')
        return weft_fail(MPI_ERR_ARG,
                         "%s wants a number of hosts, or the host of each rank as in 0,0,1,2, not "
                         "\"%s\"",
                         given->word, text);
    given->plan->simulated_hosts = text;
    return wl_variables_set(&given->plan->rules.set, "WEFT_SIMULATE_HOSTS", text);
}

static int option_simulate_link(const wli_given_t *given)
{
    weft_simulated_link_t link;
    if (!weft_simulated_link_read(given->values[0], &link))
        return weft_fail(MPI_ERR_ARG,
                         "%s wants a bandwidth and perhaps a latency, as in 10Gbit,20us, not "
                         "\"%s\"",
                         given->word, given->values[0]);
    return wl_variables_set(&given->plan->rules.set, "WEFT_SIMULATE_LINK", given->values[0]);
}

static int option_set_restarts(const wli_given_t *given)
{
    char *end;
    long count = strtol(given->values[0], &end, 10);
    if (end == given->values[0] || *end != '\0' || count < 0 || count > INT_MAX)
        return weft_fail(MPI_ERR_ARG, "%s wants a whole number from 0 to %d, not \"%s\"",
                         given->word, INT_MAX, given->values[0]);
    given->plan->torch.max_restarts = (int)count;
    return MPI_SUCCESS;
}

/* Where ranks meet is decided by the endpoint; these two kinds need no service. */
static int option_set_rendezvous(const wli_given_t *given)
{
    bool is_known =
        strcmp(given->values[0], "c10d") == 0 || strcmp(given->values[0], "static") == 0;
    return is_known ? MPI_SUCCESS : option_ignore(given);
}

static int option_want_mps(const wli_given_t *given)
{
    given->plan->wants_mps = true;
    return MPI_SUCCESS;
}

static const wli_option_t options[] = {
    {"n np c", "N", option_set_count, "Start N ranks of the program; default: one a core"},
    {"x", "NAME[=VALUE]", option_export_variable, "Set a variable for all programs, or pass it on"},
    {"genv", "NAME VALUE", option_set_for_all, "Set a variable for all programs"},
    {"genvlist", "A,B", option_list_for_all, "Pass on these variables only"},
    {"genvall", "", option_all_for_all, "Pass on all variables (the default)"},
    {"genvnone", "", option_none_for_all, "Pass on no variable"},
    {"env", "NAME VALUE", option_set_for_app, "As -genv, for this program"},
    {"envlist", "A,B", option_list_for_app, "As -genvlist, for this program"},
    {"envall", "", option_all_for_app, "As -genvall, for this program"},
    {"envnone", "", option_none_for_app, "As -genvnone, for this program"},
    {"wdir wd cwd", "DIR", option_set_directory, "Start this program in DIR"},
    {"path", "DIR:DIR", option_set_search, "Look for this program there instead of in PATH"},
    {"configfile", "FILE", option_refuse_config_file,
     "The rest is in FILE: a line for each part between ':', # for comments"},
    {"initial-errhandler", "NAME", option_set_initial_errhandler,
     "mpi_errors_abort, mpi_errors_are_fatal (the default) or mpi_errors_return"},
    {"stdin s", "RANK", option_set_input_rank,
     "Which rank has the input: a number, or none; default: 0"},
    {"outfile-pattern", "FILE", option_set_output,
     "Write stdout of each rank to a file: %r rank, %h host, %j job"},
    {"errfile-pattern", "FILE", option_set_errors, "The same for stderr"},
    {"output-filename", "DIR", option_set_output_folder,
     "Write to DIR/rank.R/stdout and stderr instead"},
    {"merge-stderr-to-stdout", "", option_join_errors,
     "Send stderr of each rank where its stdout goes"},
    {"l prepend-rank tag-output", "", option_tag_lines, "Begin each line of output with its rank"},
    {"timeout", "SECONDS", option_set_timeout, "End the job after that time; also MPIEXEC_TIMEOUT"},
    {"enable-recovery disable-auto-cleanup", "", option_survive_losses,
     "A rank that dies does not end the job, and MPI tells the others (WEFT_RECOVERY=yes)"},
    {"host hosts H hostlist", "A:2,B", option_add_hosts,
     "Hosts of this program and those behind it; A:2 takes 2 ranks"},
    {"hostfile f machinefile", "FILE", option_set_host_file,
     "The same from a file: `A:2` or `A slots=2` a line"},
    {"ppn N npernode perhost", "N", option_set_per_host, "Ranks on each host"},
    {"pernode rr", "", option_set_one_per_host, "One rank on each host, and round again"},
    {"map-by", "WHAT", option_set_mapping,
     "slot: fill hosts in order; node: take turns; ppr:N:node: as -ppn N"},
    {"bind-to binding", "WHAT", option_set_binding,
     "none: bind no rank; else each to its share of the cores, if there are enough"},
    {"mps", "", option_want_mps,
     "Ranks that share an NVIDIA GPU run side by side, by an MPS of this job; also WEFT_MPS=yes"},
    {"nooversubscribe", "", option_forbid_oversubscription, "Refuse more ranks than cores"},
    {"report", "", option_want_report, "Print what the job runs on and what costs it speed"},
    {"manifest", "FILE", option_set_manifest,
     "Write to a JSON file what is run, on what, and how it ends"},
    {"rerun", "FILE", option_refuse_rerun,
     "Run again what a manifest says, and name what is different now"},
    {"simulate-hosts", "N", option_simulate_hosts,
     "Ranks of this host as if they were on N hosts: no memory is shared between these"},
    {"simulate-link", "SPEED[,TIME]", option_simulate_link,
     "How fast the network between simulated hosts is, as in 10Gbit,20us"},
    {"launcher bootstrap", "NAME", option_set_launcher,
     "How to get to other hosts: ssh, slurm or prrte; also WEFT_LAUNCHER"},
    {"launch-agent launcher-exec bootstrap-exec", "PROGRAM", option_set_agent,
     "Start on another host by `PROGRAM HOST COMMAND`; default: ssh"},
    {"prefix", "DIR", option_set_prefix,
     "Where Weft lies on other hosts; default: where it lies here"},
    {"iface", "NAME", option_set_interface,
     "Network interface between mpirun and other hosts; default: any"},
    /* As torchrun has them; '_' in the place of '-' is the same. */
    {"nproc-per-node", "N", wli_torch_set_per_node,
     "As -ppn, for torchrun's scripts: a number, gpu (as many as there are), cpu or auto"},
    {"standalone", "", wli_torch_be_alone, "As torchrun: on this host, one rank unless told more"},
    {"nnodes", "N", wli_torch_set_nodes, "Ranks on N of the hosts, or on N nodes by --node-rank"},
    {"node-rank", "R", wli_torch_set_node_rank,
     "Start the ranks of node R only; each node has an mpirun of its own"},
    {"rdzv-endpoint", "HOST:PORT", wli_torch_set_endpoint,
     "Where rank 0 is, for MASTER_ADDR and MASTER_PORT"},
    {"master-addr", "HOST", wli_torch_set_address, "The same in two options"},
    {"master-port", "PORT", wli_torch_set_port, "The same"},
    {"rdzv-id", "ID", wli_torch_set_id, "The id of the job, alike on all nodes"},
    {"role", "NAME", wli_torch_set_role, "The name of ROLE_NAME"},
    {"max-restarts", "N", option_set_restarts,
     "Start the job again when a rank fails, or with --enable-recovery the lost rank, at most N "
     "times; default: 0"},
    {"m module", "", wli_torch_take_module, "The program is a Python module: python3 -m PROGRAM"},
    {"run-path", "", wli_torch_take_script, "The program is a script of Python, whatever its name"},
    {"no-python", "", wli_torch_take_program,
     "Execute the program, also if its name ends in .py; else python3 starts such a script"},
    {"q quiet", "", option_be_quiet, "No notes; errors are still told"},
    {"version V", "", option_want_version, "Show the version"},
    {"help h ?", "", option_want_help, "Show this help"},
    /* Accepted because scripts for other launchers have them; they change nothing here. */
    {"oversubscribe", "", option_accept, "More ranks than cores are always allowed"},
    {"allow-run-as-root", "", option_accept, "Always allowed"},
    {"mca prtemca", "NAME VALUE", option_set_foreign,
     "Open MPI's settings: plm_rsh_agent is obeyed, others have no effect"},
    {"soft", "LIST", option_accept, "No effect"},
    {"arch", "NAME", option_ignore, "No effect"},
    {"file", "FILE", option_ignore, "No effect"},
    {"v verbose", "", option_accept, "No effect"},
    {"rank-by", "WHAT", option_ignore, "No effect"},
    {"report-bindings", "", option_ignore, "No effect"},
    {"rdzv-backend", "NAME", option_set_rendezvous, "No effect: rank 0 is the meeting point"},
    {"rdzv-conf", "LIST", option_ignore, "No effect"},
    {"monitor-interval shutdown-timeout", "SECONDS", option_ignore, "No effect"},
    {"start-method event-log-handler signals-to-handle", "WORD", option_ignore, "No effect"},
    {"numa-binding", "WORD", option_ignore, "No effect: ranks are bound by --bind-to"},
    {"local-addr", "HOST", option_ignore, "No effect"},
    {"log-dir", "DIR", option_ignore, "No effect"},
    {"redirects r", "LIST", option_ignore, "No effect"},
    {"tee t", "LIST", option_ignore, "No effect"},
    {"local-ranks-filter", "LIST", option_ignore, "No effect"},
    {"logs-specs log-line-prefix-template", "TEXT", option_ignore, "No effect"},
    {"duplicate-stdout-filters duplicate-stderr-filters", "LIST", option_ignore, "No effect"},
};
enum { OPTIONS = sizeof(options) / sizeof(options[0]), NAMES_MOST = 4 * OPTIONS };

/* Walk over the words of "a b c"; NULL at the end. */
static const char *next_word(const char **rest, char word[32])
{
    size_t length = strcspn(*rest, " ");
    if (length == 0)
        return NULL;
    snprintf(word, 32, "%.*s", (int)length, *rest);
    *rest += length + ((*rest)[length] == ' ');
    return word;
}

int wli_option_arguments(const wli_option_t *option)
{
    char word[32];
    int count = 0;
    for (const char *rest = option->arguments; next_word(&rest, word) != NULL;)
        count++;
    return count;
}

const wli_option_t *wli_option_find(const char *name)
{
    for (int i = 0; i < OPTIONS; i++) {
        char word[32];
        for (const char *rest = options[i].names; next_word(&rest, word) != NULL;) {
            if (strcmp(word, name) == 0)
                return &options[i];
        }
    }
    return NULL;
}

int wli_option_refuse(const char *word, const char *name)
{
    static char words[NAMES_MOST][32];
    const char *names[NAMES_MOST];
    int count = 0;
    for (int i = 0; i < OPTIONS; i++) {
        const char *rest = options[i].names;
        while (count < NAMES_MOST && next_word(&rest, words[count]) != NULL) {
            names[count] = words[count];
            count++;
        }
    }
    const char *nearest = weft_nearest(name, names, count);
    return weft_fail(MPI_ERR_ARG, "there is no option %s; the nearest is %s%s (--help shows all)",
                     word, nearest[1] == '\0' ? "-" : "--", nearest);
}

static void print_option(const wli_option_t *option)
{
    char text[96] = "", word[32];
    for (const char *rest = option->names; next_word(&rest, word) != NULL;) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s%s%s", used > 0 ? ", " : "",
                 word[1] == '\0' ? "-" : "--", word);
    }
    size_t used = strlen(text);
    snprintf(text + used, sizeof(text) - used, " %s", option->arguments);
    printf("  %-38s %s\n", text, option->help);
}

void wl_options_print_help(const char *launcher)
{
    printf(
        "Usage: %s [option]... program [argument]... [: [option]... program [argument]...]...\n"
        "Starts ranks of programs, MPI or not, on this host or others. Options may begin with one\n"
        "dash or two; a value may follow after '='.\n\n",
        launcher);
    for (int i = 0; i < OPTIONS; i++)
        print_option(&options[i]);
    printf(
        "\nThe exit status is 0, or that of the rank that failed first (128 + n for signal n),\n"
        "or the code of MPI_Abort; 124 after --timeout, 127 and 126 when a program is not found\n"
        "or cannot be executed, 2 for a wrong command line.\n");
}
