/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that the files of the strict provider share: the words of FI_WEFT_STRICT, and the
 * wrapped objects. */
#ifndef WEFT_FAKE_STRICT_H
#define WEFT_FAKE_STRICT_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum strict_kind {
    STRICT_SEND,
    STRICT_INJECT,
    STRICT_READ,
    STRICT_RECV,
    STRICT_KINDS
} strict_kind_t;

typedef struct strict_options {
    bool is_read;
    bool mr_local, prov_key, virt_addr, mr_endpoint, mr_allocated;
    bool context, context2, reorder, late_inject, no_rma, no_multi_recv, no_wait, tell, hmem;
    size_t eagain, inject, iov, max_msg, tx, rx, reg_max, reg_fail, seed, nics;
    size_t fail[STRICT_KINDS], deny[STRICT_KINDS];
    size_t deny_reg, deny_av, fail_cq, hmem_fail;
    char over[64];
} strict_options_t;

/** FI_WEFT_STRICT, read at the first call. */
const strict_options_t *strict_options(void);

/** End the program: it has done what the interface forbids. */
void strict_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/** The next number of the sequence that `seed` began, below `below`. */
unsigned strict_pick(unsigned below);

/* ---- objects ---- */

typedef struct strict_mr strict_mr_t;
typedef struct strict_op strict_op_t;

typedef struct strict_fabric {
    struct fid_fabric fabric; /* first, as in the other structures */
    struct fid_fabric *real;
} strict_fabric_t;

typedef struct strict_domain {
    struct fid_domain domain;
    struct fid_domain *real;
    struct fi_info *info; /* of the provider below */
    strict_mr_t *registrations;
    size_t live, registered; /* registrations at present, and in total */
    uint64_t next_key;
} strict_domain_t;

typedef struct strict_av {
    struct fid_av av;
    struct fid_av *real;
    size_t inserted;
} strict_av_t;

typedef struct strict_ep {
    struct fid_ep ep;
    struct fid_ep *real;
    strict_domain_t *domain;
    struct strict_cq *cq;
    size_t rx_max, tx_max; /* operations in flight at most */
    size_t rx_out, tx_out;
    size_t inject_max, msg_max, multi_min;
    bool is_enabled;
    size_t calls;                         /* of operations, for eagain= */
    size_t begun[STRICT_KINDS];           /* for fail_...= */
    size_t to_device;                     /* bytes that were read into device memory */
    strict_op_t *in_flight;               /* operations that have not completed */
    strict_op_t *held_first, **held_last; /* not given to the provider below yet */
    size_t overtaken, refused;            /* printed at the end, with `tell` */
} strict_ep_t;

/** A completion that waits to be read. */
typedef struct strict_event {
    struct strict_event *next;
    struct fi_cq_data_entry entry;
    int error; /* 0: none */
} strict_event_t;

typedef struct strict_cq {
    struct fid_cq cq;
    struct fid_cq *real;
    strict_ep_t *ep;
    strict_event_t *first, **last;
    size_t given; /* completions so far */
} strict_cq_t;

struct strict_mr {
    struct fid_mr mr;
    struct fid_mr *real; /* NULL: not enabled yet */
    strict_domain_t *domain;
    const char *data;
    size_t bytes;
    uint64_t access, key;
    bool is_bound;
    bool is_device; /* `data` lies on a device */
    char *shadow;   /* a copy of the device memory at registration, which peers read */
    strict_mr_t *next;
};

/** An operation in flight; the context of the operation below. */
struct strict_op {
    struct fi_context2 below;
    strict_kind_t kind;
    strict_ep_t *ep;
    void *user; /* the program's context; NULL: none */
    char *data;
    size_t bytes;
    strict_mr_t *mr; /* the registration that holds `data` */
    fi_addr_t peer;
    uint64_t address, key; /* of a read */
    bool is_multi, is_lost;
    size_t filled;     /* of a multi-receive buffer */
    void *copy;        /* of injected data; for a read into device memory the host buffer */
    strict_op_t *next; /* in_flight */
    strict_op_t *next_held;
    unsigned rounds; /* how often it was held */
};

extern struct fi_ops_fabric strict_fabric_ops;

/* strict_provider.c */
/** The fi_info of the provider below for a domain of this name (NULL: any); the caller frees it. */
int strict_find_below(const char *domain_name, struct fi_info **out);

/* strict_domain.c */
int strict_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **out,
                       void *context);

/* strict_memory.c */
extern struct fi_ops_mr strict_mr_ops;
/** The registration that holds [data, data + bytes) and was given as `descriptor`; dies if none
 * does. */
strict_mr_t *strict_mr_check(strict_domain_t *domain, void *descriptor, const void *data,
                             size_t bytes, uint64_t access);

/* strict_device.c */
/** Does `data` lie on a device? False where there is no driver. */
bool strict_is_device(const void *data);
/** Copy between device and host memory by the driver; false if that fails. */
bool strict_from_device(void *to, const void *from, size_t bytes);
bool strict_to_device(void *to, const void *from, size_t bytes);

/* strict_endpoint.c */
int strict_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out,
                   void *context);
/** A packet has arrived in a multi-receive buffer: receive the next one. False if the buffer is
 * full. */
bool strict_op_goes_on(strict_op_t *op, size_t bytes);
/** Give held operations to the provider below. */
void strict_ep_release(strict_ep_t *ep);
/** An operation has ended: give its context back and free it. */
void strict_op_end(strict_op_t *op);

/* strict_queue.c */
int strict_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **out,
                   void *context);
void strict_cq_add(strict_cq_t *cq, const struct fi_cq_data_entry *entry, int error);
int strict_trywait(struct fid_fabric *fabric, struct fid **fids, int count);

#endif
