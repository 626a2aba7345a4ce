/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* strcasestr */
#include "launch/plan/launch_options.h"

#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "launch/plan/host_list.h"
#include "mpi.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An option in the command line, as the functions of the table see it. */
typedef struct given {
    wl_job_plan_t *plan;
    wl_app_t *app;    /* the one being described */
    const char *word; /* as written, with dashes */
    const char *values[2];
} given_t;

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

static int set_count(const given_t *given)
{
    long count = 0;
    int err = wl_options_number(given->word, given->values[0], INT_MAX, &count);
    if (err == MPI_SUCCESS)
        given->app->count = (int)count;
    return err;
}

static int set_per_host(const given_t *given)
{
    long count = 0;
    int err = wl_options_number(given->word, given->values[0], INT_MAX, &count);
    if (err == MPI_SUCCESS)
        given->plan->placement_rules.per_host = (int)count;
    return err;
}

static int set_one_per_host(const given_t *given)
{
    given->plan->placement_rules.per_host = 1;
    return MPI_SUCCESS;
}

static int set_timeout(const given_t *given)
{
    return wl_options_number(given->word, given->values[0], INT_MAX, &given->plan->timeout_s);
}

static int set_directory(const given_t *given)
{
    given->app->directory = given->values[0];
    return MPI_SUCCESS;
}

static int set_pair(wl_variables_t *set, const given_t *given)
{
    if (given->values[0][0] == '\0' || strchr(given->values[0], '=') != NULL)
        return weft_fail(MPI_ERR_ARG, "%s: \"%s\" is no name of a variable", given->word,
                         given->values[0]);
    return wl_variables_set(set, given->values[0], given->values[1]);
}

static int set_for_all(const given_t *given)
{
    return set_pair(&given->plan->rules.set, given);
}

static int set_for_app(const given_t *given)
{
    return set_pair(&given->app->rules.set, given);
}

/* -x NAME=VALUE sets, -x NAME passes on what mpirun has. */
static int export_variable(const given_t *given)
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

static int list_for_all(const given_t *given)
{
    return inherit(&given->plan->rules, WL_INHERIT_LISTED, given->values[0]);
}

static int list_for_app(const given_t *given)
{
    return inherit(&given->app->rules, WL_INHERIT_LISTED, given->values[0]);
}

static int all_for_all(const given_t *given)
{
    return inherit(&given->plan->rules, WL_INHERIT_ALL, NULL);
}

static int all_for_app(const given_t *given)
{
    return inherit(&given->app->rules, WL_INHERIT_ALL, NULL);
}

static int none_for_all(const given_t *given)
{
    return inherit(&given->plan->rules, WL_INHERIT_NONE, NULL);
}

static int none_for_app(const given_t *given)
{
    return inherit(&given->app->rules, WL_INHERIT_NONE, NULL);
}

static int set_search(const given_t *given)
{
    given->app->search = given->values[0];
    return MPI_SUCCESS;
}

static int set_output(const given_t *given)
{
    given->plan->files.patterns[0] = given->values[0];
    return wl_rank_files_check(given->word, given->values[0]);
}

static int set_errors(const given_t *given)
{
    given->plan->files.patterns[1] = given->values[0];
    return wl_rank_files_check(given->word, given->values[0]);
}

/* Open MPI's has words behind a ':', of which "nocopy" is what we do anyway. */
static int set_output_folder(const given_t *given)
{
    given->plan->files.folder = given->values[0];
    if (given->values[0][0] != '\0' && strchr(given->values[0], ':') == NULL)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_ARG,
                     "%s wants the name of a folder, without words behind a ':', not \"%s\"",
                     given->word, given->values[0]);
}

static int join_errors(const given_t *given)
{
    given->plan->files.joins_errors = true;
    return MPI_SUCCESS;
}

/* The job may be smaller, which shows later. */
static int set_input_rank(const given_t *given)
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

static int set_initial_errhandler(const given_t *given)
{
    return wl_variables_set(&given->plan->rules.set, "WEFT_INITIAL_ERRHANDLER", given->values[0]);
}

/* The first one was taken before anything was parsed. */
static int refuse_config_file(const given_t *given)
{
    return weft_fail(MPI_ERR_ARG, "%s %s: there can be only one of it, and none within such a file",
                     given->word, given->values[0]);
}

static int tag_lines(const given_t *given)
{
    given->plan->tags_lines = true;
    return MPI_SUCCESS;
}

static int forbid_oversubscription(const given_t *given)
{
    given->plan->placement_rules.no_oversubscription = true;
    return MPI_SUCCESS;
}

static int be_quiet(const given_t *given)
{
    given->plan->is_quiet = true;
    return MPI_SUCCESS;
}

static int want_help(const given_t *given)
{
    given->plan->wants_help = true;
    return MPI_SUCCESS;
}

static int want_version(const given_t *given)
{
    given->plan->wants_version = true;
    return MPI_SUCCESS;
}

static int add_hosts(const given_t *given)
{
    return wl_host_list_add(&given->app->hosts, given->values[0]);
}

static int set_host_file(const given_t *given)
{
    given->app->host_file = given->values[0];
    return MPI_SUCCESS;
}

static int want_report(const given_t *given)
{
    given->plan->wants_report = true;
    return MPI_SUCCESS;
}

static int set_launcher(const given_t *given)
{
    given->plan->route.launcher = given->values[0];
    return MPI_SUCCESS;
}

static int set_agent(const given_t *given)
{
    given->plan->route.agent = given->values[0];
    return MPI_SUCCESS;
}

static int set_prefix(const given_t *given)
{
    given->plan->route.prefix = given->values[0];
    return MPI_SUCCESS;
}

static int set_interface(const given_t *given)
{
    given->plan->route.interface = given->values[0];
    return MPI_SUCCESS;
}

/* Of Open MPI's settings the one that tells how to reach other hosts. */
static int set_foreign(const given_t *given)
{
    if (strcmp(given->values[0], "plm_rsh_agent") == 0 ||
        strcmp(given->values[0], "plm_ssh_agent") == 0)
        given->plan->route.agent = given->values[1];
    return MPI_SUCCESS;
}

static int accept(const given_t *given)
{
    (void)given;
    return MPI_SUCCESS;
}

/* Accepted without effect, which the user should know. */
static int ignore(const given_t *given)
{
    char *list = given->plan->ignored;
    size_t used = strlen(list);
    if (strstr(list, given->word) == NULL)
        snprintf(list + used, sizeof(given->plan->ignored) - used, "%s%s", used > 0 ? ", " : "",
                 given->word);
    return MPI_SUCCESS;
}

/* "ppr:4:node" */
static int set_ranks_per_resource(const given_t *given, const char *text)
{
    char *end;
    long count = strtol(text, &end, 10);
    if (end == text || *end != ':' || count < 1 || count > INT_MAX)
        return weft_fail(MPI_ERR_ARG, "%s wants something like ppr:4:node, not \"%s\"", given->word,
                         given->values[0]);
    if (strncmp(end, ":node", 5) != 0)
        return ignore(given);
    given->plan->placement_rules.per_host = (int)count;
    return MPI_SUCCESS;
}

/* "node", "slot", "ppr:4:node", each perhaps with ":OVERSUBSCRIBE" or another word behind. */
static int set_mapping(const given_t *given)
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
        return ignore(given);
    return MPI_SUCCESS;
}

static int set_binding(const given_t *given)
{
    given->plan->is_unbound = strcmp(given->values[0], "none") == 0;
    return MPI_SUCCESS;
}

typedef struct option {
    const char *names;     /* without dashes; the first one is the one to be shown */
    const char *arguments; /* their names; as many as words */
    int (*apply)(const given_t *given);
    const char *help;
} option_t;

static const option_t options[] = {
    {"n np c", "N", set_count, "Start N ranks of the program; default: one a core"},
    {"x", "NAME[=VALUE]", export_variable, "Set a variable for all programs, or pass it on"},
    {"genv", "NAME VALUE", set_for_all, "Set a variable for all programs"},
    {"genvlist", "A,B", list_for_all, "Pass on these variables only"},
    {"genvall", "", all_for_all, "Pass on all variables (the default)"},
    {"genvnone", "", none_for_all, "Pass on no variable"},
    {"env", "NAME VALUE", set_for_app, "As -genv, for this program"},
    {"envlist", "A,B", list_for_app, "As -genvlist, for this program"},
    {"envall", "", all_for_app, "As -genvall, for this program"},
    {"envnone", "", none_for_app, "As -genvnone, for this program"},
    {"wdir wd cwd", "DIR", set_directory, "Start this program in DIR"},
    {"path", "DIR:DIR", set_search, "Look for this program there instead of in PATH"},
    {"configfile", "FILE", refuse_config_file,
     "The rest is in FILE: a line for each part between ':', # for comments"},
    {"initial-errhandler", "NAME", set_initial_errhandler,
     "mpi_errors_abort, mpi_errors_are_fatal (the default) or mpi_errors_return"},
    {"stdin s", "RANK", set_input_rank, "Which rank has the input: a number, or none; default: 0"},
    {"outfile-pattern", "FILE", set_output,
     "Write stdout of each rank to a file: %r rank, %h host, %j job"},
    {"errfile-pattern", "FILE", set_errors, "The same for stderr"},
    {"output-filename", "DIR", set_output_folder, "Write to DIR/rank.R/stdout and stderr instead"},
    {"merge-stderr-to-stdout", "", join_errors, "Send stderr of each rank where its stdout goes"},
    {"l prepend-rank tag-output", "", tag_lines, "Begin each line of output with its rank"},
    {"timeout", "SECONDS", set_timeout, "End the job after that time; also MPIEXEC_TIMEOUT"},
    {"host hosts H hostlist", "A:2,B", add_hosts,
     "Hosts of this program and those behind it; A:2 takes 2 ranks"},
    {"hostfile f machinefile", "FILE", set_host_file,
     "The same from a file: `A:2` or `A slots=2` a line"},
    {"ppn N npernode perhost", "N", set_per_host, "Ranks on each host"},
    {"pernode rr", "", set_one_per_host, "One rank on each host, and round again"},
    {"map-by", "WHAT", set_mapping,
     "slot: fill hosts in order; node: take turns; ppr:N:node: as -ppn N"},
    {"bind-to binding", "WHAT", set_binding,
     "none: bind no rank; else each to its share of the cores, if there are enough"},
    {"nooversubscribe", "", forbid_oversubscription, "Refuse more ranks than cores"},
    {"report", "", want_report, "Print what the job runs on and what costs it speed"},
    {"launcher bootstrap", "NAME", set_launcher,
     "How to get to other hosts: ssh, slurm or prrte; also WEFT_LAUNCHER"},
    {"launch-agent launcher-exec bootstrap-exec", "PROGRAM", set_agent,
     "Start on another host by `PROGRAM HOST COMMAND`; default: ssh"},
    {"prefix", "DIR", set_prefix, "Where Weft lies on other hosts; default: where it lies here"},
    {"iface", "NAME", set_interface,
     "Network interface between mpirun and other hosts; default: any"},
    {"q quiet", "", be_quiet, "No notes; errors are still told"},
    {"version V", "", want_version, "Show the version"},
    {"help h ?", "", want_help, "Show this help"},
    /* Accepted because scripts for other launchers have them; they change nothing here. */
    {"oversubscribe", "", accept, "More ranks than cores are always allowed"},
    {"allow-run-as-root", "", accept, "Always allowed"},
    {"mca prtemca", "NAME VALUE", set_foreign,
     "Open MPI's settings: plm_rsh_agent is obeyed, others have no effect"},
    {"soft", "LIST", accept, "No effect"},
    {"arch", "NAME", ignore, "No effect"},
    {"file", "FILE", ignore, "No effect"},
    {"v verbose", "", accept, "No effect"},
    {"rank-by", "WHAT", ignore, "No effect"},
    {"report-bindings", "", ignore, "No effect"},
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

static int argument_count(const option_t *option)
{
    char word[32];
    int count = 0;
    for (const char *rest = option->arguments; next_word(&rest, word) != NULL;)
        count++;
    return count;
}

static const option_t *find_option(const char *name)
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

static int refuse_option(const char *word, const char *name)
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

/* The option that a word like --name or -name=value stands for; NULL: none has that name. */
static const option_t *option_of(const char *word, char name_out[64], const char **equals_out)
{
    const char *bare = word + (word[1] == '-' ? 2 : 1), *equals = strchr(bare, '=');
    snprintf(name_out, 64, "%.*s", equals == NULL ? 63 : (int)(equals - bare), bare);
    *equals_out = equals;
    return find_option(name_out);
}

static bool begins_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0' && strcmp(word, "--") != 0;
}

/* Apply the option at argv[*index] and step behind its last value. */
static int parse_option(wl_job_plan_t *plan, wl_app_t *app, char **argv, int *index)
{
    const char *word = argv[(*index)++], *equals;
    char name[64];
    const option_t *option = option_of(word, name, &equals);
    if (option == NULL)
        return refuse_option(word, name);
    given_t given = {.plan = plan, .app = app, .word = word};
    int wanted = argument_count(option), have = 0;
    if (equals != NULL && wanted == 0)
        return weft_fail(MPI_ERR_ARG, "%s: this option takes no value", word);
    if (equals != NULL)
        given.values[have++] = equals + 1;
    while (have < wanted && argv[*index] != NULL)
        given.values[have++] = argv[(*index)++];
    if (have < wanted)
        return weft_fail(MPI_ERR_ARG, "%s wants %s after it", word, option->arguments);
    return option->apply(&given);
}

/* One part between ':': options, program, arguments. argv[end] is ':' or NULL. */
static int parse_app(wl_job_plan_t *plan, char **argv, int begin, int end)
{
    wl_app_t *app = &plan->apps[plan->app_count++];
    argv[end] = NULL;
    int index = begin, err = MPI_SUCCESS;
    while (err == MPI_SUCCESS && index < end && begins_option(argv[index]))
        err = parse_option(plan, app, argv, &index);
    index += index < end && strcmp(argv[index], "--") == 0;
    if (err != MPI_SUCCESS)
        return err;
    app->arguments = &argv[index];
    if (index == end && !plan->wants_help && !plan->wants_version)
        return weft_fail(MPI_ERR_ARG, "there is no program to start%s (--help shows the options)",
                         plan->app_count > 1 || end > begin ? " after the options" : "");
    return MPI_SUCCESS;
}

const char *wl_options_launcher(char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    return slash == NULL ? argv[0] : slash + 1;
}

/* ---- a file of options ---- */

/* Where the option of a configuration file stands, and which one it is; -1: nowhere. */
static int find_config_file(int argc, char **argv, const char **path_out, int *end_out)
{
    for (int i = 1; i < argc; i++) {
        while (i < argc && begins_option(argv[i])) {
            char name[64];
            const char *equals;
            const option_t *option = option_of(argv[i], name, &equals);
            if (option == NULL) /* which the parser will say */
                return -1;
            int values = argument_count(option);
            int next = i + 1 + values - (equals != NULL && values > 0);
            if (option->apply == refuse_config_file && next <= argc) {
                *path_out = equals != NULL ? equals + 1 : argv[i + 1];
                *end_out = next;
                return i;
            }
            i = next;
        }
        while (i < argc && strcmp(argv[i], ":") != 0)
            i++;
    }
    return -1;
}

int wl_options_expand(int argc, char **argv, wl_words_t *out)
{
    const char *path = NULL;
    wl_words_t whole = {.words = argv, .count = argc}, file = {0};
    int end = argc, begin = find_config_file(argc, argv, &path, &end);
    *out = (wl_words_t){0};
    if (begin < 0)
        return wl_words_splice(&whole, argc, argc, &file, out);
    if (end < argc && strcmp(argv[end], ":") != 0)
        return weft_fail(MPI_ERR_ARG,
                         "--configfile %s: \"%s\" behind it belongs into the file, or behind a ':'",
                         path, argv[end]);
    int err = wl_config_file_read(path, &file);
    if (err == MPI_SUCCESS)
        err = wl_words_splice(&whole, begin, end, &file, out);
    return err;
}

/* ---- all ---- */

int wl_options_parse(int argc, char **argv, wl_job_plan_t *out)
{
    *out = (wl_job_plan_t){.launcher = wl_options_launcher(argv)};
    out->apps = weft_alloc_zeroed((size_t)argc, sizeof(*out->apps));
    if (out->apps == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a list of %d programs", argc);
    int err = MPI_SUCCESS;
    for (int begin = 1; begin <= argc && err == MPI_SUCCESS;) {
        int end = begin;
        while (end < argc && strcmp(argv[end], ":") != 0)
            end++;
        err = parse_app(out, argv, begin, end);
        begin = end + 1;
    }
    return err == MPI_SUCCESS ? wl_options_read_variables(out) : err;
}

static void print_option(const option_t *option)
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
