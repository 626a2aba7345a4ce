/* SPDX-License-Identifier: BSD-3-Clause */
/* The provider offers the capabilities of the provider below, less those that FI_WEFT_STRICT takes
 * away, to programs that support the modes that FI_WEFT_STRICT demands. */
#include "strict.h"

#include <rdma/providers/fi_prov.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int strict_find_below(const char *domain_name, struct fi_info **out)
{
    struct fi_info *hints = fi_allocinfo();
    if (hints == NULL)
        return -FI_ENOMEM;
    hints->caps = FI_MSG | FI_RMA | FI_READ | FI_REMOTE_READ | FI_MULTI_RECV;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    bool is_below = domain_name != NULL && strict_options()->nics == 0;
    hints->domain_attr->name = is_below ? strdup(domain_name) : NULL;
    hints->fabric_attr->prov_name = strdup(strict_options()->over);
    int rc = fi_getinfo(FI_VERSION(1, 14), NULL, NULL, 0, hints, out);
    fi_freeinfo(hints);
    return rc;
}

/* ---- what is demanded ---- */

static uint64_t wanted_mode(void)
{
    const strict_options_t *options = strict_options();
    return (options->context ? FI_CONTEXT : 0) | (options->context2 ? FI_CONTEXT2 : 0);
}

static int wanted_mr_mode(void)
{
    const strict_options_t *options = strict_options();
    return (options->mr_local ? FI_MR_LOCAL : 0) | (options->prov_key ? FI_MR_PROV_KEY : 0) |
           (options->virt_addr ? FI_MR_VIRT_ADDR : 0) |
           (options->mr_endpoint ? FI_MR_ENDPOINT : 0) |
           (options->mr_allocated ? FI_MR_ALLOCATED : 0);
}

static uint64_t hmem_of(const struct fi_info *hints)
{
    return strict_options()->hmem ? hints->caps & FI_HMEM : 0;
}

static uint64_t lacking(void)
{
    const strict_options_t *options = strict_options();
    return (options->no_rma ? FI_RMA | FI_READ | FI_REMOTE_READ | FI_WRITE | FI_REMOTE_WRITE : 0) |
           (options->no_multi_recv ? FI_MULTI_RECV : 0) | (options->hmem ? 0 : FI_HMEM);
}

static bool can_serve(const struct fi_info *hints)
{
    if (hints == NULL || (hints->caps & lacking()) != 0 || (wanted_mode() & ~hints->mode) != 0)
        return false;
    if (hmem_of(hints) != 0 && (hints->domain_attr->mr_mode & FI_MR_HMEM) == 0)
        return false;
    return hints->domain_attr == NULL || (wanted_mr_mode() & ~hints->domain_attr->mr_mode) == 0;
}

/* ---- what is offered ---- */

static void lower(size_t *limit, size_t most)
{
    if (*limit > most)
        *limit = most;
}

static void restrict_info(struct fi_info *info, const struct fi_info *hints)
{
    const strict_options_t *options = strict_options();
    info->caps &= ~lacking();
    info->mode = wanted_mode();
    info->caps |= hmem_of(hints);
    info->domain_attr->mr_mode = wanted_mr_mode() | (hmem_of(hints) != 0 ? FI_MR_HMEM : 0);
    info->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    info->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    info->tx_attr->mode = info->rx_attr->mode = wanted_mode();
    info->tx_attr->caps &= ~lacking();
    info->rx_attr->caps &= ~lacking();
    if (options->reorder) {
        info->tx_attr->msg_order = info->rx_attr->msg_order = 0;
        info->tx_attr->comp_order = info->rx_attr->comp_order = 0;
    }
    lower(&info->tx_attr->inject_size, options->inject);
    lower(&info->tx_attr->iov_limit, options->iov);
    lower(&info->rx_attr->iov_limit, options->iov);
    lower(&info->tx_attr->size, options->tx);
    lower(&info->rx_attr->size, options->rx);
    lower(&info->ep_attr->max_msg_size, options->max_msg);
    if ((hints->caps & FI_RMA) == 0)
        info->caps &= ~(uint64_t)(FI_RMA | FI_READ | FI_REMOTE_READ);
    if ((hints->caps & FI_MULTI_RECV) == 0)
        info->caps &= ~(uint64_t)FI_MULTI_RECV;
    free(info->fabric_attr->prov_name); /* libfabric puts this provider's name there */
    info->fabric_attr->prov_name = NULL;
}

/* ---- several interfaces, all over the first one of the provider below ---- */

enum { NICS_MOST = 64 };

static int close_nic(struct fid *fid)
{
    (void)fid;
    return 0;
}

static struct fi_ops nic_ops = {.size = sizeof(struct fi_ops), .close = close_nic};
static struct fi_bus_attr buses[NICS_MOST];
static struct fid_nic nics[NICS_MOST];

static void name_nic(struct fi_info *info, size_t index)
{
    char name[32];
    snprintf(name, sizeof(name), "strict%zu", index);
    free(info->domain_attr->name);
    info->domain_attr->name = strdup(name);
    buses[index] =
        (struct fi_bus_attr){.bus_type = FI_BUS_PCI, .attr.pci.bus_id = (uint8_t)(index + 1)};
    nics[index] =
        (struct fid_nic){.fid = {FI_CLASS_NIC, NULL, &nic_ops}, .bus_attr = &buses[index]};
    info->nic = &nics[index];
}

static void offer_nics(struct fi_info *first, size_t count)
{
    fi_freeinfo(first->next);
    first->next = NULL;
    if (count > NICS_MOST)
        strict_die("FI_WEFT_STRICT: nics=%zu: at most %d", count, NICS_MOST);
    for (size_t i = count; i-- > 1;) {
        struct fi_info *more = fi_dupinfo(first);
        if (more == NULL)
            return;
        name_nic(more, i);
        more->next = first->next;
        first->next = more;
    }
    name_nic(first, 0);
}

static int get_info(uint32_t version, const char *node, const char *service, uint64_t flags,
                    const struct fi_info *hints, struct fi_info **out)
{
    (void)version, (void)node, (void)service, (void)flags;
    if (!can_serve(hints))
        return -FI_ENODATA;
    int rc = strict_find_below(NULL, out);
    for (struct fi_info *info = rc == 0 ? *out : NULL; info != NULL; info = info->next)
        restrict_info(info, hints);
    if (rc == 0 && strict_options()->nics > 0)
        offer_nics(*out, strict_options()->nics);
    return rc;
}

/* ---- the fabric ---- */

static int close_fabric(struct fid *fid)
{
    strict_fabric_t *fabric = (strict_fabric_t *)fid;
    int rc = fi_close(&fabric->real->fid);
    free(fabric);
    return rc;
}

static struct fi_ops fabric_fid_ops = {.size = sizeof(struct fi_ops), .close = close_fabric};

struct fi_ops_fabric strict_fabric_ops = {
    .size = sizeof(struct fi_ops_fabric), .domain = strict_domain_open, .trywait = strict_trywait};

static int open_fabric(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
    struct fi_fabric_attr below = *attr;
    strict_fabric_t *fabric = calloc(1, sizeof(*fabric));
    below.prov_name = (char *)strict_options()->over;
    int rc = fabric == NULL ? -FI_ENOMEM : fi_fabric(&below, &fabric->real, context);
    if (rc != 0) {
        free(fabric);
        return rc;
    }
    fabric->fabric.fid = (struct fid){FI_CLASS_FABRIC, context, &fabric_fid_ops};
    fabric->fabric.ops = &strict_fabric_ops;
    fabric->fabric.api_version = attr->api_version;
    *out = &fabric->fabric;
    return 0;
}

static void clean_up(void)
{
}

static struct fi_provider provider = {.version = FI_VERSION(1, 0),
                                      .fi_version = FI_VERSION(1, 14),
                                      .name = "weft_strict",
                                      .getinfo = get_info,
                                      .fabric = open_fabric,
                                      .cleanup = clean_up};

__attribute__((visibility("default"))) struct fi_provider *fi_prov_ini(void)
{
    return &provider;
}
