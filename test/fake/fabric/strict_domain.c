/* SPDX-License-Identifier: BSD-3-Clause */
#include "strict.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- the address table ---- */

static int close_av(struct fid *fid)
{
    strict_av_t *av = (strict_av_t *)fid;
    int rc = fi_close(&av->real->fid);
    free(av);
    return rc;
}

static int insert(struct fid_av *av, const void *address, size_t count, fi_addr_t *out,
                  uint64_t flags, void *context)
{
    strict_av_t *own = (strict_av_t *)av;
    size_t first = strict_options()->deny_av;
    if (++own->inserted >= first && first != 0)
        return -FI_EIO;
    return fi_av_insert(own->real, address, count, out, flags, context);
}

static struct fi_ops av_fid_ops = {.size = sizeof(struct fi_ops), .close = close_av};
static struct fi_ops_av av_ops = {.size = sizeof(struct fi_ops_av), .insert = insert};

static int open_av(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **out,
                   void *context)
{
    strict_av_t *av = calloc(1, sizeof(*av));
    int rc = av == NULL ? -FI_ENOMEM
                        : fi_av_open(((strict_domain_t *)domain)->real, attr, &av->real, context);
    if (rc != 0) {
        free(av);
        return rc;
    }
    av->av.fid = (struct fid){FI_CLASS_AV, context, &av_fid_ops};
    av->av.ops = &av_ops;
    *out = &av->av;
    return 0;
}

/* ---- the domain ---- */

static int close_domain(struct fid *fid)
{
    strict_domain_t *domain = (strict_domain_t *)fid;
    if (domain->live > 0)
        strict_die("the domain is closed with %zu of %zu registrations left", domain->live,
                   domain->registered);
    int rc = fi_close(&domain->real->fid);
    fi_freeinfo(domain->info);
    free(domain);
    return rc;
}

static struct fi_ops domain_fid_ops = {.size = sizeof(struct fi_ops), .close = close_domain};
static struct fi_ops_domain domain_ops = {.size = sizeof(struct fi_ops_domain),
                                          .av_open = open_av,
                                          .cq_open = strict_cq_open,
                                          .endpoint = strict_ep_open};

static int open_real(struct fid_fabric *fabric, const struct fi_info *info, strict_domain_t *domain)
{
    int rc = strict_find_below(info->domain_attr->name, &domain->info);
    if (rc != 0)
        return rc;
    rc = fi_domain(((strict_fabric_t *)fabric)->real, domain->info, &domain->real, NULL);
    if (rc != 0)
        fi_freeinfo(domain->info);
    return rc;
}

int strict_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **out,
                       void *context)
{
    strict_domain_t *domain = calloc(1, sizeof(*domain));
    int rc = domain == NULL ? -FI_ENOMEM : open_real(fabric, info, domain);
    if (rc != 0) {
        free(domain);
        return rc;
    }
    domain->domain.fid = (struct fid){FI_CLASS_DOMAIN, context, &domain_fid_ops};
    domain->domain.ops = &domain_ops;
    domain->domain.mr = &strict_mr_ops;
    domain->next_key = 0x5eed0000 + (uint64_t)getpid() * 7919;
    *out = &domain->domain;
    return 0;
}
