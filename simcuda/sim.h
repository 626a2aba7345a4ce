/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the simulated CUDA driver share.
 *
 * One lock guards everything. An entry point takes it in sim_begin and releases it in sim_end:
 *
 *     CUresult cuMemAlloc(CUdeviceptr *out, size_t bytes)
 *     {
 *         CUresult result = sim_begin(__func__);
 *         return sim_end(result ? result : alloc_device(bytes, out));
 *     }
 *
 * Functions declared here are called with the lock held unless their comment says otherwise. */
#ifndef SIMCUDA_SIM_H
#define SIMCUDA_SIM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

enum {
    SIM_DEVICES_MAX = 64,
    SIM_CONNECTIONS_MAX = 32,
    SIM_GRANULE = 2 << 20 /* bytes that memory is mapped by, as on real devices */
};

/* ---- sim_options.c: the words of SIMCUDA ---- */

typedef struct sim_failure {
    char name[64]; /* of a call, without its version */
    unsigned nth, code;
    int signal;      /* ends the process at that call; 0: the call returns `code` */
    bool is_lasting; /* all calls from the nth on */
    int rank;        /* -1: of any */
    unsigned calls;  /* so far */
} sim_failure_t;

/* Which calls wait: of those that are allowed to, all, or those of driver 580. */
enum { SIM_STRICT = 1, SIM_STRICT_AS_580 = 2 };

typedef struct sim_options {
    unsigned devices;
    unsigned late_ms; /* longest delay of a stream; 0: none on purpose */
    unsigned seed;
    unsigned per_task;   /* devices that each process sees; 0: all */
    unsigned capability; /* 90 is 9.0 */
    unsigned fault;      /* this kernel launch ends in an illegal address; 0: none */
    size_t memory;       /* bytes of each device */
    size_t bar;          /* bytes that GDRCopy can map at a time; 0: its module is not loaded */
    unsigned multicast;  /* 1: devices have it */
    unsigned version;    /* that cuDriverGetVersion tells */
    bool watchdog;       /* devices say that they end kernels that run long */
    bool fabric, lazy, tell, count;
    unsigned connections; /* hardware queues that the streams of a device share; 0: one for each */
    unsigned mps;         /* 1: the process is a client of MPS */
    unsigned turns;       /* 1: kernels of different processes never run on a device at once */
    unsigned strict;      /* calls wait for a whole device, and keep others out meanwhile */
    unsigned depth;       /* work that a stream holds at most; 0: any amount */
    char peers[128];      /* all, none, or pairs like 0-1+2-3 */
    char peers_lie[64];   /* pairs likewise; "": none */
    char kernels[1024];   /* path of the kernels; "": beside this library */
    sim_failure_t failures[16];
    unsigned failure_count;
} sim_options_t;

/** SIMCUDA, read at the first call; ends the program if it has an unknown word. */
const sim_options_t *sim_options(void);
/** The failure that SIMCUDA plans for this call of `name`; CUDA_SUCCESS: none. Does not return if
 * SIMCUDA ends the process at this call. */
CUresult sim_planned_failure(const char *name);

/** Counts a call or a launch of `name`, a string that is never freed. */
void sim_count(const char *name);
/** The next number of the sequence that `seed` began. */
uint64_t sim_random(void);
/** This process's rank in MPI_COMM_WORLD, by PMIX_RANK or SLURM_PROCID; 0 if neither is set. */
unsigned sim_rank(void);

/* ---- sim_entry.c ---- */

typedef struct sim_device sim_device_t;

/** Begins the call `name`. Takes the lock even if it returns an error, which it does for a planned
 * failure, before cuInit, and inside a host function. */
CUresult sim_begin(const char *name);
/** The same for calls that work before cuInit. */
CUresult sim_begin_early(const char *name);
/** Releases the lock; returns `result`. */
CUresult sim_end(CUresult result);
void sim_lock(void);
void sim_unlock(void);
/** Releases the lock, waits for `condition` and takes the lock again. */
void sim_wait(pthread_cond_t *condition);
/** The same, but waits no longer than until sim_now() is `deadline_ns`. */
void sim_wait_until(pthread_cond_t *condition, uint64_t deadline_ns);
/** Initialises a condition that uses the clock of sim_now. */
void sim_condition_init(pthread_cond_t *condition);
/** Marks the beginning or end of a host function in this thread; host functions must not call CUDA.
 * Called without the lock. */
void sim_host_function(bool begins);
/** Nanoseconds of the monotonic clock. */
uint64_t sim_now(void);
/** With `strict`, the calls of other threads wait from here to sim_admit(), while this call waits
 * for the work of a device. */
void sim_exclude(const sim_device_t *device);
void sim_admit(void);
/** Reports a stream that waits for the value of a word, if a call waits for its device for a long
 * time. */
void sim_report_wait(const sim_device_t *device, const void *at, uint64_t value);
/** A number that this process has not given before. */
uint64_t sim_next_id(void);
/** Prints to stderr and aborts the program, where the simulator cannot go on. */
void sim_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* ---- sim_object.c: what handles name ---- */

typedef enum sim_kind {
    SIM_CONTEXT,
    SIM_STREAM,
    SIM_EVENT,
    SIM_MODULE,
    SIM_FUNCTION,
    SIM_MEMORY,
    SIM_POOL,
    SIM_GRAPH,
    SIM_NODE,
    SIM_EXEC,
    SIM_USER_OBJECT
} sim_kind_t;

typedef struct sim_object {
    sim_kind_t kind;
    struct sim_object *next, **link; /* in the list of one slot of the table */
} sim_object_t;

/** Zeroed memory; the program ends when there is none. */
void *sim_alloc(size_t bytes);
/** Zeroed memory of `bytes` that begins with a sim_object_t, entered in the table. */
void *sim_object_create(sim_kind_t kind, size_t bytes);
/** Takes it out of the table and frees it. */
void sim_object_release(void *object);
/** Takes it out of the table only: the handle is dead, the memory stays. */
void sim_object_forget(void *object);
/** The object that `handle` names; NULL: no live one of that kind. */
void *sim_object_find(sim_kind_t kind, const void *handle);
/** Calls `visit` for each object of a kind; `visit` may release the object that it is given. */
void sim_object_each(sim_kind_t kind, void (*visit)(void *object, void *data), void *data);

/* ---- sim_device.c, sim_context.c ---- */

typedef struct sim_context sim_context_t;
typedef struct sim_stream sim_stream_t;
typedef struct sim_pool sim_pool_t;

struct sim_device {
    int ordinal; /* as this process counts */
    int index;   /* as the host counts */
    CUuuid uuid;
    size_t used; /* bytes that this process has allocated */
    sim_context_t *primary;
    unsigned primary_uses, primary_flags;
    unsigned streams; /* made so far */
    struct sim_op *last_in_queue[SIM_CONNECTIONS_MAX];
    sim_pool_t *default_pool, *pool;
};

struct sim_context {
    sim_object_t object;
    sim_device_t *device;
    bool is_primary;
    unsigned flags;
    uint64_t id;
    CUresult error;            /* sticky */
    uint64_t peers;            /* bits: ordinals of devices whose memory its kernels may touch */
    sim_stream_t *null_stream; /* the legacy one */
    sim_stream_t *streams;     /* all, by their next_in_context */
    unsigned captures;         /* captured streams that synchronise with the legacy one */
};

/** Finds the devices of the host that this process may see. */
CUresult sim_devices_open(void);
int sim_device_count(void);
/** NULL: no such device. */
sim_device_t *sim_device(int ordinal);
/** The visible device of this UUID; NULL: none. */
sim_device_t *sim_device_of_uuid(const CUuuid *uuid);
/** Whether the system lets this process use device `index` of the host, visible or not. */
bool sim_is_granted(int index);
/** The UUID of device `index` of this host. */
CUuuid sim_uuid(int index);
/** Whether device `index` of the host can reach the memory of device `other`. */
bool sim_are_peers(int index, int other);
/** Are what one writes to the memory of the other, and what it reads there, lost? */
bool sim_do_peers_lie(int index, int other);

/** The current context; CUDA_ERROR_INVALID_CONTEXT if there is none, its sticky error if it has
 * one. */
CUresult sim_current(sim_context_t **out);
/** The live context of a handle, NULL: none. */
sim_context_t *sim_context_of(CUcontext handle);
/** Ends the primary context of a device if there is one. */
void sim_primary_reset(sim_device_t *device);
/** The context for the work of a pool or a VMM allocation: the current one if it is of this device,
 * else the device's primary one. */
sim_context_t *sim_context_on(const sim_device_t *device);

/* ---- sim_extents.c: the free parts of a space ---- */

typedef struct sim_extent {
    uint64_t start, bytes;
} sim_extent_t;

/** Free extents, sorted; no two of them are adjacent. All zeros: nothing is free. */
typedef struct sim_extents {
    sim_extent_t *list;
    size_t count, room;
} sim_extents_t;

void sim_extents_give(sim_extents_t *extents, uint64_t start, uint64_t bytes);
/** Takes the lowest place that fits, so that freed addresses are soon used again, as on real
 * devices: a program that kept an old address then accesses other memory. Returns false if none
 * fits. */
bool sim_extents_take(sim_extents_t *extents, uint64_t bytes, uint64_t alignment,
                      uint64_t *start_out);
bool sim_extents_take_at(sim_extents_t *extents, uint64_t start, uint64_t bytes);
void sim_extents_end(sim_extents_t *extents);

/* ---- sim_space.c: addresses and what lies behind them ----
 *
 *     device addresses  [ ....XXXX....XX.......... ]   never accessible to the host
 *                             |       |
 *     the alias         [ ....XXXX....XX.......... ]   at a fixed distance: memory of backings */

/** Memory of a device: a file in memory that other processes can map, too. */
typedef struct sim_backing {
    int fd;
    size_t bytes;
    unsigned references;
} sim_backing_t;

CUresult sim_space_open(void);
/** Whether `address` is a device address. Needs no lock. */
bool sim_space_holds(uintptr_t address);
/** Where the simulator accesses what lies at `address`: the alias, or a host address itself. Needs
 * no lock. */
void *sim_alias(uintptr_t address);
/** Addresses for `bytes` (a multiple of SIM_GRANULE), at `wish` if these are free. 0: no room. */
uintptr_t sim_space_take(size_t bytes, size_t alignment, uintptr_t wish);
void sim_space_give(uintptr_t start, size_t bytes);

/** New memory, or NULL. */
sim_backing_t *sim_backing_create(size_t bytes);
/** Memory of another process, by a descriptor of an open file of its own (sim_file_hold()), which
 * the backing then owns. */
sim_backing_t *sim_backing_adopt(int fd, size_t bytes);
void sim_backing_release(sim_backing_t *backing);
/** Another open file of the same memory, which has a lock on it. So the owner sees that it is still
 * in use elsewhere, until all descriptors of that open file are closed. -1: none is left. */
int sim_file_hold(int fd);
/** Does anything but `fd` itself hold the memory? */
bool sim_file_is_held(int fd);
bool sim_space_map(uintptr_t start, const sim_backing_t *backing, size_t offset, size_t bytes);
void sim_space_unmap(uintptr_t start, size_t bytes);

/* ---- sim_range.c: what is allocated where ---- */

typedef enum sim_what {
    SIM_DEVICE_MEMORY, /* cuMemAlloc */
    SIM_PINNED,        /* cuMemHostAlloc */
    SIM_REGISTERED,    /* cuMemHostRegister */
    SIM_MANAGED,
    SIM_POOLED,    /* cuMemAllocAsync and the like */
    SIM_MAPPED,    /* cuMemMap */
    SIM_MULTICAST, /* cuMemMap of an object of multicast memory */
    SIM_IMPORTED   /* cuIpcOpenMemHandle */
} sim_what_t;

typedef struct sim_block sim_block_t;
typedef struct sim_memory sim_memory_t;

typedef struct sim_range {
    uintptr_t start;
    size_t bytes;
    sim_what_t what;
    uint64_t id;            /* CU_POINTER_ATTRIBUTE_BUFFER_ID */
    sim_context_t *context; /* NULL: of none (pools, VMM) */
    int device;             /* ordinal; CU_DEVICE_INVALID: one that this process does not see */
    int device_index;       /* as the host counts; -1: host memory */
    unsigned flags;         /* for host and managed memory */
    bool sync_memops;
    uint64_t readers, writers; /* bits: ordinals; for SIM_MAPPED, SIM_MULTICAST and SIM_POOLED */
    sim_backing_t *backing;    /* NULL: host memory */
    size_t offset;             /* in the backing */
    sim_block_t *block;        /* the block that it is a part of; NULL: none */
    sim_memory_t *memory;      /* SIM_MAPPED, SIM_MULTICAST */
    sim_pool_t *pool;          /* SIM_POOLED */
    bool is_pending;           /* SIM_POOLED: not yet allocated by its stream, or freed */
    bool is_freed;             /* SIM_POOLED: its free was given to a stream */
    bool of_graph;  /* SIM_POOLED: made by a node of a graph, which keeps the addresses */
    unsigned opens; /* SIM_IMPORTED: how often */
    unsigned char handle[CU_IPC_HANDLE_SIZE]; /* SIM_IMPORTED */
} sim_range_t;

/** Enters a copy of `range` with a new id. */
sim_range_t *sim_range_add(const sim_range_t *range);
void sim_range_remove(sim_range_t *range);
/** The range that holds `address`; NULL: none. */
sim_range_t *sim_range_find(uintptr_t address);
/** The range that begins at `address`; NULL: none. */
sim_range_t *sim_range_at(uintptr_t address);
/** The last range of which a part lies in [start, start + bytes); NULL: none. */
sim_range_t *sim_range_within(uintptr_t start, size_t bytes);
/** Whether any part of [start, start + bytes) is known. */
bool sim_range_overlaps(uintptr_t start, size_t bytes);
void sim_range_each(void (*visit)(sim_range_t *range, void *data), void *data);
/** Grows whenever ranges or rights change. Needs no lock. */
uint64_t sim_range_epoch(void);
void sim_range_changed(void);
bool sim_is_host(const sim_range_t *range);
/** Do synchronous operations on it wait for their end, by CU_POINTER_ATTRIBUTE_SYNC_MEMOPS? Memory
 * of pools takes the attribute, to no effect. */
bool sim_is_synchronous(const sim_range_t *range);

typedef struct sim_area {
    uintptr_t start;
    size_t bytes;
    bool is_written;
} sim_area_t;

/** Whether all of [start, start + bytes) is known, perhaps as several adjacent ranges. */
bool sim_range_covers(uintptr_t start, size_t bytes);
/** Whether kernels of `context` may touch an area at this time; never if it is pageable host
 * memory. */
bool sim_may_touch(const sim_context_t *context, sim_area_t area);
/** Whether kernels of `context` may access an address by multimem instructions. */
bool sim_may_multicast(const sim_context_t *context, uintptr_t address);
/** The same for the driver's copies and memsets. */
bool sim_may_copy(const sim_context_t *context, sim_area_t area);
/** Do accesses of the context's device to this address go nowhere? */
bool sim_is_lost(const sim_context_t *context, uintptr_t address);

/* ---- sim_memory.c ---- */

/** Frees all that was allocated in a context. */
void sim_memory_end(const sim_context_t *context);
/** Frees what cuMemFree frees, but waits for nothing. */
CUresult sim_memory_free(uintptr_t address);
/** Counts `bytes` of a device as used; CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sim_memory_charge(sim_device_t *device, size_t bytes);
/** Releases the owner's last reference to a backing. Its bytes count as used until no other process
 * has it mapped, and no descriptor of it is left. */
void sim_memory_give_back(sim_device_t *device, size_t bytes, sim_backing_t *backing);

/* ---- sim_host.c ---- */

void sim_host_free(sim_range_t *range);
void sim_managed_free(sim_range_t *range);

/* ---- sim_ipc.c ---- */

/** Ends an import, however often it was opened. */
void sim_import_close(sim_range_t *range);

/* ---- sim_vmm.c ---- */

/** Whether rights on memory of device `index` of the host may be changed as `access` says. */
CUresult sim_check_access(const CUmemAccessDesc *access, int index);
void sim_set_access(uint64_t *readers, uint64_t *writers, const CUmemAccessDesc *access);
CUmemAccess_flags sim_get_access(uint64_t readers, uint64_t writers, int ordinal);
/** The CUmemAllocationHandleType bits that it may be exported by. */
uint64_t sim_memory_types(const sim_memory_t *memory);
/** The reserved addresses in which a mapping lies. */
sim_extent_t sim_memory_reservation(const sim_range_t *range);

/* ---- sim_pool.c, sim_pool_alloc.c ---- */

/** Frees an allocation of a pool at once. */
CUresult sim_pooled_free(sim_range_t *range);
uint64_t sim_pool_types(const sim_pool_t *pool);

#include "sim_stream.h"

#endif
