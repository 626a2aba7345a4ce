/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations: the descriptor of one is its address. */
#include "strict.h"

#include <stdlib.h>

static strict_domain_t *domain_of_key(strict_domain_t *domain, uint64_t key)
{
    for (strict_mr_t *mr = domain->registrations; mr != NULL; mr = mr->next) {
        if (mr->key == key)
            return domain;
    }
    return NULL;
}

/* Register the memory with the provider below, and so make it usable. There remote addresses count
 * from the beginning of a registration: one that begins at address 0 has virtual addresses. */
static int enable(strict_mr_t *mr)
{
    bool is_virtual = strict_options()->virt_addr && (mr->access & FI_REMOTE_READ) != 0;
    if (is_virtual && mr->is_device)
        strict_die("device memory with virt_addr is not played");
    if (strict_options()->mr_endpoint && !mr->is_bound)
        strict_die("FI_MR_ENDPOINT: a registration is enabled that is bound to no endpoint");
    const char *from = is_virtual ? NULL : mr->is_device ? mr->shadow : mr->data;
    size_t bytes = is_virtual ? (uintptr_t)mr->data + mr->bytes : mr->bytes;
    int rc = fi_mr_reg(mr->domain->real, from, bytes, mr->access | FI_SEND | FI_RECV, 0, mr->key, 0,
                       &mr->real, NULL);
    if (rc == 0)
        mr->mr.key = mr->key;
    return rc;
}

static int control(struct fid *fid, int command, void *argument)
{
    (void)argument;
    return command == FI_ENABLE ? enable((strict_mr_t *)fid) : -FI_ENOSYS;
}

static int bind_mr(struct fid *fid, struct fid *endpoint, uint64_t flags)
{
    (void)flags;
    if (endpoint->fclass != FI_CLASS_EP || !((strict_ep_t *)endpoint)->is_enabled)
        strict_die("a registration is bound to what is no endpoint, or not enabled");
    ((strict_mr_t *)fid)->is_bound = true;
    return 0;
}

static int close_mr(struct fid *fid)
{
    strict_mr_t *mr = (strict_mr_t *)fid, **at = &mr->domain->registrations;
    while (*at != NULL && *at != mr)
        at = &(*at)->next;
    if (*at == NULL)
        strict_die("a registration is closed that is none");
    *at = mr->next;
    mr->domain->live--;
    int rc = mr->real == NULL ? 0 : fi_close(&mr->real->fid);
    free(mr->shadow);
    free(mr);
    return rc;
}

static struct fi_ops mr_fid_ops = {
    .size = sizeof(struct fi_ops), .close = close_mr, .bind = bind_mr, .control = control};

static int is_refused(strict_domain_t *domain)
{
    const strict_options_t *options = strict_options();
    size_t turn = ++domain->registered;
    bool is_turn = options->reg_fail != 0 && turn % options->reg_fail == 0;
    return domain->live >= options->reg_max || is_turn;
}

static int reg_attr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
                    struct fid_mr **out);

static int reg(struct fid *fid, const void *data, size_t bytes, uint64_t access, uint64_t offset,
               uint64_t key, uint64_t flags, struct fid_mr **out, void *context)
{
    struct iovec piece = {(void *)data, bytes};
    struct fi_mr_attr attr = {.mr_iov = &piece,
                              .iov_count = 1,
                              .access = access,
                              .offset = offset,
                              .requested_key = key,
                              .context = context};
    return reg_attr(fid, &attr, flags, out);
}

static void check_attr(const struct fi_mr_attr *attr, uint64_t flags)
{
    size_t bytes = attr->mr_iov->iov_len;
    bool is_device = attr->iface == FI_HMEM_CUDA;
    if (attr->offset != 0 || flags != 0 || bytes == 0 || attr->iov_count != 1)
        strict_die("a registration of %zu bytes with offset %llu, flags %llx, %zu pieces", bytes,
                   (unsigned long long)attr->offset, (unsigned long long)flags, attr->iov_count);
    if (is_device && !strict_options()->hmem)
        strict_die("a registration of device memory, and FI_HMEM was not offered");
    if (is_device != strict_is_device(attr->mr_iov->iov_base))
        strict_die("%zu bytes at %p are registered as memory of %s, which they are not", bytes,
                   attr->mr_iov->iov_base, is_device ? "a device" : "the host");
}

/* Copy the device memory: peers will read the copy, since the owner may not change the data
 * before. */
static int copy_device(strict_mr_t *mr)
{
    static size_t copied;
    if (++copied == strict_options()->hmem_fail)
        return -FI_EIO;
    mr->shadow = malloc(mr->bytes);
    bool is_copied = mr->shadow != NULL && strict_from_device(mr->shadow, mr->data, mr->bytes);
    return is_copied ? 0 : -FI_ENOMEM;
}

static int fill_in(strict_mr_t *mr, const struct fi_mr_attr *attr)
{
    *mr = (strict_mr_t){.domain = mr->domain,
                        .data = attr->mr_iov->iov_base,
                        .bytes = attr->mr_iov->iov_len,
                        .access = attr->access,
                        .is_device = attr->iface == FI_HMEM_CUDA};
    mr->key = strict_options()->prov_key ? mr->domain->next_key += 1 + strict_pick(1000)
                                         : attr->requested_key;
    mr->mr = (struct fid_mr){{FI_CLASS_MR, attr->context, &mr_fid_ops}, mr, FI_KEY_NOTAVAIL};
    int rc = mr->is_device ? copy_device(mr) : 0;
    return rc != 0 || strict_options()->mr_endpoint ? rc : enable(mr);
}

static int reg_attr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
                    struct fid_mr **out)
{
    strict_domain_t *domain = (strict_domain_t *)fid;
    check_attr(attr, flags);
    if (is_refused(domain))
        return -FI_ENOMEM;
    if (domain->registered == strict_options()->deny_reg)
        return -FI_EIO;
    if (!strict_options()->prov_key && domain_of_key(domain, attr->requested_key) != NULL)
        return -FI_ENOKEY;
    strict_mr_t *mr = calloc(1, sizeof(*mr));
    if (mr == NULL)
        return -FI_ENOMEM;
    mr->domain = domain;
    int rc = fill_in(mr, attr);
    if (rc != 0) {
        free(mr->shadow);
        free(mr);
        return rc;
    }
    mr->next = domain->registrations;
    domain->registrations = mr;
    domain->live++;
    *out = &mr->mr;
    return 0;
}

struct fi_ops_mr strict_mr_ops = {
    .size = sizeof(struct fi_ops_mr), .reg = reg, .regattr = reg_attr};

strict_mr_t *strict_mr_check(strict_domain_t *domain, void *descriptor, const void *data,
                             size_t bytes, uint64_t access)
{
    const char *from = data;
    strict_mr_t *mr = domain->registrations;
    while (mr != NULL && mr != descriptor)
        mr = mr->next;
    if (mr == NULL || mr->real == NULL)
        strict_die("FI_MR_LOCAL: %zu bytes at %p have descriptor %p, which is %s", bytes, data,
                   descriptor,
                   mr == NULL ? "none of a registration" : "of one that is not enabled");
    if (from < mr->data || from + bytes > mr->data + mr->bytes)
        strict_die("FI_MR_LOCAL: %zu bytes at %p lie outside their registration of %zu bytes at %p",
                   bytes, data, mr->bytes, (const void *)mr->data);
    if ((mr->access & access) != access)
        strict_die("FI_MR_LOCAL: %zu bytes at %p are registered for access %llx, not %llx", bytes,
                   data, (unsigned long long)mr->access, (unsigned long long)access);
    return mr;
}
