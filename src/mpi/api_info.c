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

/** Makes an info object without keys (section 10).
 *  @note May be called at any time, also before MPI_Init and after MPI_Finalize, and from any
 *      thread.
 *  @see MPI_Info_set, MPI_Info_free, MPI_Info_create_env */
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

/** Makes an info object that says what is known of this process: the keys command, argv, host, arch
 *  and wdir (section 10). These are the keys of MPI_INFO_ENV that can be known before MPI_Init;
 *  every call gives the same ones.
 *  @param[in] argc  main's, or 0: the operating system is asked for the arguments
 *  @param[in] argv  main's, or NULL when argc is 0
 *  @note May be called at any time, also before MPI_Init and after MPI_Finalize, and from any
 *      thread.
 *  @see MPI_Info_create, MPI_Info_free */
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

/** Copies an info object with all its keys, values and their order (section 10).
 *  @param[in] info  the info object; MPI_INFO_ENV may be copied
 *  @param[out] newinfo  the copy, to be freed with MPI_Info_free
 *  @error MPI_ERR_INFO  info is MPI_INFO_NULL or no info object
 *  @see MPI_Info_create, MPI_Info_free */
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

/** Frees an info object (section 10).
 *  @param[in,out] info  the info object; becomes MPI_INFO_NULL
 *  @error MPI_ERR_INFO  info is MPI_INFO_NULL, MPI_INFO_ENV or no info object
 *  @see MPI_Info_create, MPI_Info_dup */
WEFT_API(MPI_Info_free);
int PMPI_Info_free(MPI_Info *handle)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Info_free");
    weft_info_t *info;
    int err = weft_check_output(handle, "info");
    if (err == MPI_SUCCESS)
        err = weft_check_own_info(*handle, &info);
    if (err == MPI_SUCCESS) {
        weft_info_release(info);
        *handle = MPI_INFO_NULL;
    }
    return weft_call_end_anytime(&call, err);
}

/* ---- entries ---- */

/** Sets a key to a value, or changes the value that it has (section 10). Both strings are copied.
 *  @param[in] info  the info object; not MPI_INFO_ENV, which can only be read
 *  @error MPI_ERR_INFO  info is MPI_INFO_NULL, MPI_INFO_ENV or no info object
 *  @error MPI_ERR_INFO_KEY  key is NULL, empty or too long
 *  @error MPI_ERR_INFO_VALUE  value is NULL or too long
 *  @error MPI_ERR_NO_MEM  there is no memory for the copies
 *  @note Keys that Weft does not know are kept, and given back, like all others.
 *  @see MPI_Info_get_string, MPI_Info_delete, MPIX_Info_set_hex */
WEFT_API(MPI_Info_set);
int PMPI_Info_set(MPI_Info handle, const char *key, const char *value)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Info_set");
    weft_info_t *info;
    int err = weft_check_own_info(handle, &info);
    if (err == MPI_SUCCESS)
        err = info_check_key(key);
    if (err == MPI_SUCCESS)
        err = weft_check_text(value, MPI_MAX_INFO_VAL - 1, MPI_ERR_INFO_VALUE, "value");
    if (err == MPI_SUCCESS)
        err = weft_info_set(info, key, value);
    return weft_call_end_anytime(&call, err);
}

/** Takes a key and its value out of an info object (section 10).
 *  @param[in] info  the info object; not MPI_INFO_ENV, which can only be read
 *  @error MPI_ERR_INFO  info is MPI_INFO_NULL, MPI_INFO_ENV or no info object
 *  @error MPI_ERR_INFO_KEY  key is NULL, empty or too long
 *  @error MPI_ERR_INFO_NOKEY  info has no such key
 *  @see MPI_Info_set */
WEFT_API(MPI_Info_delete);
int PMPI_Info_delete(MPI_Info handle, const char *key)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Info_delete");
    weft_info_t *info;
    int err = weft_check_own_info(handle, &info);
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

/** Gives the value of a key (section 10). If the value is longer than the buffer, its beginning is
 *  stored; with a buflen of 0 nothing is stored, and the call tells how much room is needed.
 *  @param[in] info  the info object
 *  @param[in,out] buflen  how many bytes value has; afterwards how many the whole value takes, with
 *      the final 0. It is not changed if there is no such key.
 *  @param[out] value  the value, always with a final 0; not changed if there is no such key, and
 *      not read when buflen is 0
 *  @param[out] flag  true if info has the key
 *  @error MPI_ERR_INFO  info is MPI_INFO_NULL or no info object
 *  @error MPI_ERR_INFO_KEY  key is NULL, empty or too long
 *  @error MPI_ERR_ARG  buflen is NULL or negative
 *  @error MPI_ERR_ARG  value is NULL and buflen is not 0
 *  @see MPI_Info_set, MPI_Info_get_nthkey */
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

/** Gives the value of a key (section 16.1). A value that is longer than valuelen letters is cut
 *  off. New programs call MPI_Info_get_string.
 *  @param[in] info  the info object
 *  @param[in] valuelen  how many letters value has room for, not counting the final 0
 *  @param[out] value  the value, with a final 0; not changed if there is no such key
 *  @param[out] flag  true if info has the key
 *  @error MPI_ERR_INFO  info is MPI_INFO_NULL or no info object
 *  @error MPI_ERR_INFO_KEY  key is NULL, empty or too long
 *  @error MPI_ERR_ARG  valuelen is negative or above MPI_MAX_INFO_VAL
 *  @see MPI_Info_get_string, MPI_Info_get_valuelen */
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

/** Tells how long the value of a key is (section 16.1). New programs call MPI_Info_get_string with
 *  a buflen of 0.
 *  @param[in] info  the info object
 *  @param[out] valuelen  how many letters the value has, not counting the final 0; not changed if
 *      there is no such key
 *  @param[out] flag  true if info has the key
 *  @error MPI_ERR_INFO  info is MPI_INFO_NULL or no info object
 *  @error MPI_ERR_INFO_KEY  key is NULL, empty or too long
 *  @see MPI_Info_get_string, MPI_Info_get */
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

/** Tells how many keys an info object has (section 10).
 *  @param[in] info  the info object
 *  @param[out] nkeys  the number of keys
 *  @error MPI_ERR_INFO  info is MPI_INFO_NULL or no info object
 *  @see MPI_Info_get_nthkey */
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

/** Gives one key of an info object by its number (section 10). Numbers may change when a key is set
 *  or deleted.
 *  @param[in] info  the info object
 *  @param[in] n  the number of the key, from 0
 *  @param[out] key  room for MPI_MAX_INFO_KEY letters, which gets the key
 *  @error MPI_ERR_INFO  info is MPI_INFO_NULL or no info object
 *  @error MPI_ERR_ARG  n is negative, or info has no more than n keys
 *  @note Keys are in the order in which they were set.
 *  @see MPI_Info_get_nkeys, MPI_Info_get_string */
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
