/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* environ */
#include "launch/plan/process_environment.h"

#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Variables that tell a process about its launcher; a name that ends in '*' stands for all that
 * begin so. What describes a Slurm allocation stays; what describes a step or a task goes. */
static const char *const launcher_names[] = {
    "PMIX_*",           "PMI_*",
    "PMI2_*",           "HYDI_*",
    "HYDRA_*",          "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",  "OMPI_COMM_WORLD_*",
    "OMPI_APP_*",       "OMPI_UNIVERSE_*",
    "OMPI_MCA_ess*",    "OMPI_MCA_orte_*",
    "OMPI_FIRST_*",     "OMPI_NUM_*",
    "OMPI_FILE_*",      "OMPI_ARGV",
    "OMPI_COMMAND",     "PRTE_*",
    "SLURM_PROCID",     "SLURM_LOCALID",
    "SLURM_NODEID",     "SLURM_STEP_*",
    "SLURM_STEPID",     "SLURM_GTIDS",
    "SLURM_TASK_PID",   "SLURM_PMIX*",
    "SLURM_PMI*",       "SLURM_SRUN_COMM_*",
    "SLURM_MPI_TYPE",   "SLURM_STEPMGR",
    "WEFT_NOTES",       "WEFT_RANK_PROCESS",
    "WEFT_NO_SERVER",   "RANK",
    "WORLD_SIZE",       "LOCAL_RANK",
    "LOCAL_WORLD_SIZE", "GROUP_RANK",
    "GROUP_WORLD_SIZE", "ROLE_RANK",
    "ROLE_WORLD_SIZE",  "ROLE_NAME",
    "TORCHELASTIC_*",
};
enum { LAUNCHER_NAMES = sizeof(launcher_names) / sizeof(launcher_names[0]) };

static bool matches(const char *entry, const char *pattern)
{
    size_t length = strlen(pattern);
    if (pattern[length - 1] == '*')
        return strncmp(entry, pattern, length - 1) == 0;
    return strncmp(entry, pattern, length) == 0 && entry[length] == '=';
}

/* Inside another job PMIX_MCA_* and where ranks meet come from that job's launcher, else from the
 * user. */
static bool is_of_launcher(const char *entry, bool is_nested)
{
    bool is_in_torch = weft_environment("TORCHELASTIC_RUN_ID") != NULL;
    if (!is_nested && matches(entry, "PMIX_MCA_*"))
        return false;
    if (is_in_torch && (matches(entry, "MASTER_ADDR") || matches(entry, "MASTER_PORT")))
        return true;
    for (int i = 0; i < LAUNCHER_NAMES; i++) {
        if (matches(entry, launcher_names[i]))
            return true;
    }
    return false;
}

static int find_variable(const wl_variables_t *variables, const char *name, size_t length)
{
    for (int i = 0; i < variables->count; i++) {
        const char *entry = variables->entries[i];
        if (strncmp(entry, name, length) == 0 && entry[length] == '=')
            return i;
    }
    return -1;
}

const char *wl_variables_get(const wl_variables_t *variables, const char *name)
{
    size_t length = strlen(name);
    int index = find_variable(variables, name, length);
    return index < 0 ? NULL : variables->entries[index] + length + 1;
}

static int reserve_entries(wl_variables_t *variables)
{
    if (variables->count + 1 < variables->capacity)
        return MPI_SUCCESS;
    int capacity = variables->capacity * 2 + 64;
    char **entries = weft_realloc(variables->entries, (size_t)capacity * sizeof(char *));
    if (entries == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "an environment of %d variables", capacity);
    variables->entries = entries;
    variables->capacity = capacity;
    return MPI_SUCCESS;
}

/* Takes `entry`, which is from the heap and may be NULL (no memory). */
static int take_entry(wl_variables_t *variables, char *entry)
{
    if (entry == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a variable of the environment");
    int index = find_variable(variables, entry, strcspn(entry, "="));
    if (index >= 0) {
        weft_free(variables->entries[index]);
        variables->entries[index] = entry;
        return MPI_SUCCESS;
    }
    int err = reserve_entries(variables);
    if (err != MPI_SUCCESS) {
        weft_free(entry);
        return err;
    }
    variables->entries[variables->count++] = entry;
    variables->entries[variables->count] = NULL;
    return MPI_SUCCESS;
}

int wl_variables_set(wl_variables_t *variables, const char *name, const char *value)
{
    size_t bytes = strlen(name) + strlen(value) + 2;
    char *entry = weft_alloc(bytes);
    if (entry != NULL)
        snprintf(entry, bytes, "%s=%s", name, value);
    return take_entry(variables, entry);
}

int wl_variables_set_number(wl_variables_t *variables, const char *name, long value)
{
    char text[24];
    snprintf(text, sizeof(text), "%ld", value);
    return wl_variables_set(variables, name, text);
}

int wl_variables_merge(wl_variables_t *to, const wl_variables_t *from)
{
    int err = reserve_entries(to); /* so that an empty list has its NULL */
    if (err == MPI_SUCCESS)
        to->entries[to->count] = NULL;
    for (int i = 0; i < from->count && err == MPI_SUCCESS; i++)
        err = take_entry(to, weft_strdup(from->entries[i]));
    return err;
}

void wl_variables_recount(wl_variables_t *variables)
{
    variables->count = 0;
    while (variables->entries[variables->count] != NULL)
        variables->count++;
    variables->capacity = variables->count + 1;
}

void wl_variables_release(wl_variables_t *variables)
{
    for (int i = 0; i < variables->count; i++)
        weft_free(variables->entries[i]);
    weft_free(variables->entries);
    *variables = (wl_variables_t){0};
}

int wl_variables_inherit(wl_variables_t *out)
{
    bool is_nested = weft_environment("PMIX_NAMESPACE") != NULL;
    wl_variables_t result = {0};
    int err = reserve_entries(&result);
    for (char **entry = environ; *entry != NULL && err == MPI_SUCCESS; entry++) {
        if (!is_of_launcher(*entry, is_nested) && strchr(*entry, '=') != NULL)
            err = take_entry(&result, weft_strdup(*entry));
    }
    if (err != MPI_SUCCESS) {
        wl_variables_release(&result);
        return err;
    }
    *out = result;
    return MPI_SUCCESS;
}

int wl_variables_copy_own(wl_variables_t *out, bool of_launcher_only)
{
    int err = reserve_entries(out);
    for (char **entry = environ; *entry != NULL && err == MPI_SUCCESS; entry++) {
        if (strchr(*entry, '=') != NULL && (!of_launcher_only || is_of_launcher(*entry, true)))
            err = take_entry(out, weft_strdup(*entry));
    }
    return err;
}

static const char *const host_names[] = {
    "HOSTNAME",
    "HOST",
    "SSH_CLIENT",
    "SSH_CONNECTION",
    "SSH_TTY",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_SESSION_ID",
};
enum { HOST_NAMES = sizeof(host_names) / sizeof(host_names[0]) };

void wl_variables_forget_host(wl_variables_t *variables)
{
    for (int i = 0; i < HOST_NAMES; i++) {
        int index = find_variable(variables, host_names[i], strlen(host_names[i]));
        if (index < 0)
            continue;
        weft_free(variables->entries[index]);
        variables->entries[index] = variables->entries[--variables->count];
        variables->entries[variables->count] = NULL;
    }
}

int wl_variables_add_host(wl_variables_t *variables)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < HOST_NAMES && err == MPI_SUCCESS; i++) {
        const char *value = weft_environment(host_names[i]);
        if (value != NULL && wl_variables_get(variables, host_names[i]) == NULL)
            err = wl_variables_set(variables, host_names[i], value);
    }
    return err;
}

void wl_environment_forget_launchers(void)
{
    bool is_nested = weft_environment("PMIX_NAMESPACE") != NULL;
    char **kept = environ;
    for (char **entry = environ; *entry != NULL; entry++) {
        if (!is_of_launcher(*entry, is_nested))
            *kept++ = *entry;
    }
    *kept = NULL;
}
