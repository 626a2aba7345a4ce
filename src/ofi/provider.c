/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/provider.h"

#include "ofi/fabric_library.h"
#include "ofi/rail_choice.h"
#include "base/network_interface.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <dirent.h>
#include <dlfcn.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NAME_BYTES = 64, LIST_BYTES = 512, HMEM_WISHES = 2 /* the first of ask_best() */ };

/* Networks with devices of their own, best first. Over the kernel's sockets src/tcp is better (its
 * README says why), so providers over sockets are used only when they are asked for. */
static const char devices[] = "efa,cxi,psm3,verbs;ofi_rxm";

/* "tcp" provides reliable datagrams since libfabric 1.18; in older versions that code is called
 * "net". shm does not reach other hosts; sockets needs a thread of its own and took milliseconds a
 * message when oversubscribed. */
static const char software[] = "tcp,tcp;ofi_rxm,net,udp;ofi_rxd,sockets";

static const char *asked_of_libfabric(void)
{
    const char *asked = weft_environment("FI_PROVIDER");
    return asked == NULL ? "" : asked;
}

/* libfabric itself obeys FI_PROVIDER; the provider that it names comes first in the list, so that
 * one which is not in the lists above can be chosen. */
static void list_names(char *out)
{
    const char *asked = asked_of_libfabric();
    if (weft_config.FABRIC[0] != '\0')
        snprintf(out, LIST_BYTES, "%s", weft_config.FABRIC);
    else if (asked[0] == '\0')
        snprintf(out, LIST_BYTES, "%s", devices);
    else
        snprintf(out, LIST_BYTES, "%s%s%s,%s", asked[0] == '^' ? "" : asked,
                 asked[0] == '^' ? "" : ",", devices, software);
}

static bool has_entries(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    bool has = false;
    while (folder != NULL && !has && (entry = readdir(folder)) != NULL)
        has = entry->d_name[0] != '.';
    if (folder != NULL)
        closedir(folder);
    return has;
}

/* The devices of all these providers are in one of these folders. */
bool weft_provider_is_wanted(void)
{
    if (weft_config.FABRIC[0] != '\0')
        return strcmp(weft_config.FABRIC, "weft-tcp") != 0;
    return asked_of_libfabric()[0] != '\0' || has_entries("/sys/class/infiniband") ||
           has_entries("/sys/class/cxi");
}

bool weft_provider_is_demanded(void)
{
    return weft_config.FABRIC[0] != '\0' || asked_of_libfabric()[0] != '\0';
}

/* Word `index` of a list. */
static bool pick_name(const char *list, int index, char *out)
{
    while (index-- > 0) {
        list = strchr(list, ',');
        if (list == NULL)
            return false;
        list++;
    }
    snprintf(out, NAME_BYTES, "%.*s", (int)strcspn(list, ","), list);
    return true;
}

/* ---- asking libfabric ---- */

static struct fi_info *make_hints(const char *name, uint64_t capabilities)
{
    struct fi_info *hints = weft_fabric.dupinfo(NULL);
    if (hints == NULL)
        return NULL;
    hints->caps = capabilities;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    if (strcmp(name, "efa") ==
        0) /* it does not need it (fi_efa(7)), and has a cache only for programs without it */
        hints->domain_attr->mr_mode &= ~FI_MR_LOCAL;
    if ((capabilities & FI_HMEM) != 0)
        hints->domain_attr->mr_mode |= FI_MR_HMEM;
    hints->fabric_attr->prov_name = weft_strdup(name); /* freed by freeinfo */
    return hints;
}

/* When asked for "tcp", old versions answer "tcp;ofi_rxm", which has another place in the order. */
static bool is_named(const struct fi_info *info, const char *name)
{
    return strcmp(info->fabric_attr->prov_name, name) == 0;
}

/* libfabric also offers its own ofi_rxd and ofi_rxm over a provider that lacks something. Such an
 * answer does not count as one of the provider. */
static bool has_named(const struct fi_info *info, const char *name)
{
    while (info != NULL && !is_named(info, name))
        info = info->next;
    return info != NULL;
}

static int ask_providers(const char *name, uint64_t capabilities, struct fi_info **out)
{
    struct fi_info *hints = make_hints(name, capabilities);
    if (hints == NULL)
        return -FI_ENOMEM;
    int rc = weft_fabric.getinfo(FI_VERSION(1, 14), NULL, NULL, 0, hints, out);
    weft_fabric.freeinfo(hints);
    if (rc != 0 || has_named(*out, name))
        return rc;
    weft_fabric.freeinfo(*out);
    return -FI_ENODATA;
}

/* When asked for device memory, libfabric loads the device's libraries, and some providers become
 * slower with host memory: so FI_HMEM is not asked for where there is no device. This cannot ask
 * weft_device, since the back end opens after the transports. */
static bool may_have_devices(void)
{
    if (strcmp(weft_config.DEVICE, "no") == 0 || strcmp(weft_config.DEVICE_NETWORK, "no") == 0)
        return false;
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL)
        dlclose(library);
    return library != NULL || access("/proc/driver/nvidia/version", F_OK) == 0;
}

/* Ask for as many of the capabilities that Weft can use as the provider has. */
static int ask_best(const char *name, struct fi_info **out)
{
    static const uint64_t wishes[] = {
        FI_MSG | FI_MULTI_RECV | FI_RMA | FI_READ | FI_REMOTE_READ | FI_HMEM,
        FI_MSG | FI_RMA | FI_READ | FI_REMOTE_READ | FI_HMEM,
        FI_MSG | FI_MULTI_RECV | FI_RMA | FI_READ | FI_REMOTE_READ,
        FI_MSG | FI_RMA | FI_READ | FI_REMOTE_READ,
        FI_MSG | FI_MULTI_RECV,
        FI_MSG,
    };
    int rc = -FI_ENODATA;
    for (size_t i = may_have_devices() ? 0 : HMEM_WISHES;
         rc != 0 && i < sizeof(wishes) / sizeof(wishes[0]); i++)
        rc = ask_providers(name, wishes[i], out);
    return rc;
}

/* ---- interfaces ---- */

static bool is_usable(const struct fi_info *info, const char *name)
{
    bool is_internet = info->addr_format == FI_SOCKADDR_IN;
    bool is_other_internet = info->addr_format == FI_SOCKADDR_IN6;
    if (!is_named(info, name) || is_other_internet)
        return false;
    weft_interface_t interface = weft_interface_choose(info->domain_attr->name);
    if (interface.rank != WEFT_INTERFACE_UNFIT)
        return true;
    if (interface.why != NULL)
        WEFT_LOG(WEFT_INFO, "ofi", "%s: interface %s is passed over: it is %s", name,
                 info->domain_attr->name, interface.why);
    return !is_internet && weft_config.FABRIC_INTERFACE[0] == '\0';
}

static bool is_listed(const struct fi_info *const *interfaces, int count,
                      const struct fi_info *info)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(interfaces[i]->domain_attr->name, info->domain_attr->name) == 0)
            return true;
    }
    return false;
}

/* Those of this rank, each once. */
static int list_interfaces(const weft_provider_t *provider, weft_interface_rank_t rank,
                           const struct fi_info *out[WEFT_INTERFACES_MOST])
{
    int count = 0;
    for (const struct fi_info *info = provider->info; info != NULL; info = info->next) {
        if (count < WEFT_INTERFACES_MOST && is_usable(info, provider->name) &&
            weft_interface_choose(info->domain_attr->name).rank == rank &&
            !is_listed(out, count, info))
            out[count++] = info;
    }
    return count;
}

/* Several interfaces are used at a time when they are real devices; virtual ones only when the user
 * says how many. */
static void pick_rails(weft_provider_t *provider)
{
    const struct fi_info *interfaces[WEFT_INTERFACES_MOST];
    for (int rank = WEFT_INTERFACE_REAL; rank >= WEFT_INTERFACE_UNFIT; rank--) {
        int count = list_interfaces(provider, (weft_interface_rank_t)rank, interfaces);
        if (count == 0)
            continue;
        provider->rail_count =
            weft_rails_choose(interfaces, count, rank == WEFT_INTERFACE_REAL, provider->rails);
        return;
    }
}

int weft_provider_find(int index, weft_provider_t *out)
{
    static char name[NAME_BYTES];
    char list[LIST_BYTES];
    list_names(list);
    if (!pick_name(list, index, name))
        return weft_fail(MPI_ERR_OTHER, "there are no more providers than %s", list);
    weft_provider_t found = {.name = name};
    int rc = ask_best(name, &found.info);
    if (rc != 0)
        return weft_fail(MPI_ERR_UNSUPPORTED_OPERATION, "%s: %s", name, weft_fabric_error(rc));
    pick_rails(&found);
    if (found.rail_count == 0) {
        weft_fabric.freeinfo(found.info);
        return weft_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                         "%s: no interface that other hosts could reach", name);
    }
    *out = found;
    return MPI_SUCCESS;
}

void weft_provider_release(weft_provider_t *provider)
{
    weft_fabric.freeinfo(provider->info);
    provider->info = NULL;
    provider->rail_count = 0;
}
