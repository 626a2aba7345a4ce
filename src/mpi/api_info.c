/* SPDX-License-Identifier: BSD-3-Clause */
/* Info objects (MPI 5.0 chapter 10; the old names: section 16.1). All of them work at any time. */
#include "mpi/api.h"

#include "mpi/check.h"
#include "object/info_env.h"
#include "base/fail.h"

#include <stdio.h>
#include <string.h>

/* ---- checks ---- */

static int check_live(MPI_Info handle, weft_info_t **out)
{
    int err = weft_check_info(handle, out);
    if (err == MPI_SUCCESS && *out == NULL)
        err = weft_fail(MPI_ERR_INFO, "info is MPI_INFO_NULL");
    return err;
}

static int check_own(MPI_Info handle, weft_info_t **out)
{
    int err = check_live(handle, out);
    if (err == MPI_SUCCESS && *out == &weft_info_env)
        err = weft_fail(MPI_ERR_INFO, "info is MPI_INFO_ENV, which can only be read");
    return err;
}

static int info_check_key(const char *key)
{
    int err = weft_check_text(key, MPI_MAX_INFO_KEY - 1, MPI_ERR_INFO_KEY, "key");
    if (err == MPI_SUCCESS && key[0] == '\0')
        err = weft_fail(MPI_ERR_INFO_KEY, "key is empty");
    return err;
}

static int check_info_entry(MPI_Info handle, const char *key, const int *flag, weft_info_t **out)
{
    int err = check_live(handle, out);
    if (err == MPI_SUCCESS)
        err = info_check_key(key);
    if (err == MPI_SUCCESS)
        err = weft_check_output(flag, "flag");
    return err;
}

/* ---- objects ---- */

WEFT_API(MPI_Info_create);
int PMPI_Info_create(MPI_Info *handle)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Info_create");
    weft_info_t *info;
    int err = weft_check_output(handle, "info");
    if (err == MPI_SUCCESS)
        err = weft_info_create(&info);
    if (err == MPI_SUCCESS)
        *handle = weft_info_handle(info);
    return weft_call_end_anytime(&call, err);
}

WEFT_API(MPI_Info_create_env);
int PMPI_Info_create_env(int argc, char *argv[], MPI_Info *handle)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Info_create_env");
    weft_info_t *info = NULL;
    int err = weft_check_output(handle, "info");
    if (err == MPI_SUCCESS)
        err = weft_info_create(&info);
    if (err == MPI_SUCCESS)
        err = weft_info_describe_process(info, argc, argv);
    if (err == MPI_SUCCESS)
        *handle = weft_info_handle(info);
    else
        weft_info_release(info);
    return weft_call_end_anytime(&call, err);
}

WEFT_API(MPI_Info_dup);
int PMPI_Info_dup(MPI_Info handle, MPI_Info *newinfo)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Info_dup");
    weft_info_t *info, *copy;
    int err = check_live(handle, &info);
    if (err == MPI_SUCCESS)
        err = weft_check_output(newinfo, "newinfo");
    if (err == MPI_SUCCESS)
        err = weft_info_dup(info, &copy);
    if (err == MPI_SUCCESS)
        *newinfo = weft_info_handle(copy);
    return weft_call_end_anytime(&call, err);
}

WEFT_API(MPI_Info_free);
int PMPI_Info_free(MPI_Info *handle)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Info_free");
    weft_info_t *info;
    int err = weft_check_output(handle, "info");
    if (err == MPI_SUCCESS)
        err = check_own(*handle, &info);
    if (err == MPI_SUCCESS) {
        weft_info_release(info);
        *handle = MPI_INFO_NULL;
    }
    return weft_call_end_anytime(&call, err);
}

/* ---- entries ---- */

WEFT_API(MPI_Info_set);
int PMPI_Info_set(MPI_Info handle, const char *key, const char *value)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Info_set");
    weft_info_t *info;
    int err = check_own(handle, &info);
    if (err == MPI_SUCCESS)
        err = info_check_key(key);
    if (err == MPI_SUCCESS)
        err = weft_check_text(value, MPI_MAX_INFO_VAL - 1, MPI_ERR_INFO_VALUE, "value");
    if (err == MPI_SUCCESS)
        err = weft_info_set(info, key, value);
    return weft_call_end_anytime(&call, err);
}

WEFT_API(MPI_Info_delete);
int PMPI_Info_delete(MPI_Info handle, const char *key)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Info_delete");
    weft_info_t *info;
    int err = check_own(handle, &info);
    if (err == MPI_SUCCESS)
        err = info_check_key(key);
    if (err == MPI_SUCCESS)
        err = weft_info_delete(info, key);
    return weft_call_end_anytime(&call, err);
}

/* `bytes` of the user's buffer, the final 0 included; 0: nothing is stored. */
static void store_value(const char *value, int bytes, char *out)
{
    if (bytes > 0)
        snprintf(out, (size_t)bytes, "%s", value);
}

WEFT_API(MPI_Info_get_string);
int PMPI_Info_get_string(MPI_Info handle, const char *key, int *buflen, char *value, int *flag)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Info_get_string");
    weft_info_t *info;
    int err = check_info_entry(handle, key, flag, &info);
    if (err == MPI_SUCCESS)
        err = weft_check_output(buflen, "buflen");
    if (err == MPI_SUCCESS && *buflen < 0)
        err = weft_fail(MPI_ERR_ARG, "buflen is %d, but must be at least 0", *buflen);
    if (err == MPI_SUCCESS && *buflen > 0)
        err = weft_check_output(value, "value");
    if (err != MPI_SUCCESS)
        return weft_call_end_anytime(&call, err);
    const char *found = weft_info_get(info, key);
    *flag = found != NULL;
    if (found != NULL) {
        store_value(found, *buflen, value);
        *buflen = (int)strlen(found) + 1;
    }
    return weft_call_end_anytime(&call, err);
}

/* valuelen does not count the final 0, for which there is room. */
WEFT_API(MPI_Info_get);
int PMPI_Info_get(MPI_Info handle, const char *key, int valuelen, char *value, int *flag)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Info_get");
    weft_info_t *info;
    int err = check_info_entry(handle, key, flag, &info);
    if (err == MPI_SUCCESS && (valuelen < 0 || valuelen > MPI_MAX_INFO_VAL))
        err = weft_fail(MPI_ERR_ARG, "valuelen is %d, but must be 0 to %d", valuelen,
                        MPI_MAX_INFO_VAL);
    if (err == MPI_SUCCESS)
        err = weft_check_output(value, "value");
    if (err != MPI_SUCCESS)
        return weft_call_end_anytime(&call, err);
    const char *found = weft_info_get(info, key);
    *flag = found != NULL;
    if (found != NULL)
        store_value(found, valuelen + 1, value);
    return weft_call_end_anytime(&call, err);
}

WEFT_API(MPI_Info_get_valuelen);
int PMPI_Info_get_valuelen(MPI_Info handle, const char *key, int *valuelen, int *flag)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Info_get_valuelen");
    weft_info_t *info;
    int err = check_info_entry(handle, key, flag, &info);
    if (err == MPI_SUCCESS)
        err = weft_check_output(valuelen, "valuelen");
    if (err != MPI_SUCCESS)
        return weft_call_end_anytime(&call, err);
    const char *found = weft_info_get(info, key);
    *flag = found != NULL;
    if (found != NULL)
        *valuelen = (int)strlen(found);
    return weft_call_end_anytime(&call, err);
}

WEFT_API(MPI_Info_get_nkeys);
int PMPI_Info_get_nkeys(MPI_Info handle, int *nkeys)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Info_get_nkeys");
    weft_info_t *info;
    int err = check_live(handle, &info);
    if (err == MPI_SUCCESS)
        err = weft_check_output(nkeys, "nkeys");
    if (err == MPI_SUCCESS)
        *nkeys = info->count;
    return weft_call_end_anytime(&call, err);
}

WEFT_API(MPI_Info_get_nthkey);
int PMPI_Info_get_nthkey(MPI_Info handle, int n, char *key)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Info_get_nthkey");
    weft_info_t *info;
    int err = check_live(handle, &info);
    if (err == MPI_SUCCESS)
        err = weft_check_output(key, "key");
    if (err == MPI_SUCCESS && (n < 0 || n >= info->count))
        err = weft_fail(MPI_ERR_ARG, "n is %d, but info has %d keys", n, info->count);
    if (err == MPI_SUCCESS)
        snprintf(key, MPI_MAX_INFO_KEY, "%s", info->entries[n].key);
    return weft_call_end_anytime(&call, err);
}
