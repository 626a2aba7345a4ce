/* SPDX-License-Identifier: BSD-3-Clause */
/* Categories of what tools see (MPI 5.0 section 15.3.9): a tree, by parts of the library. */
#ifndef WEFT_TOOL_CATEGORY_H
#define WEFT_TOOL_CATEGORY_H

/* X(key, name, parent, what it has): config_vars.def and the tables of variables name the key. A
 * parent stands before its children. */
#define WEFT_CATEGORIES(X)                                                                         \
    X(LIBRARY, "library", LIBRARY, "Weft as a whole: its start, its checks, what it logs")         \
    X(PROGRESS, "progress", LIBRARY, "Waiting: polls, yields, sleeps")                             \
    X(PT2PT, "pt2pt", LIBRARY, "Point-to-point communication: matching, messages without receive") \
    X(COMM, "comm", LIBRARY, "Communicators")                                                      \
    X(COLL, "coll", LIBRARY, "Collectives: the choice of algorithms, and their plans")             \
    X(DEVICE, "device", LIBRARY, "Memory of devices (CUDA)")                                       \
    X(TRANSPORT, "transport", LIBRARY, "What carries messages between processes")                  \
    X(SELF, "self", TRANSPORT, "Messages of a process to itself")                                  \
    X(SHM, "shm", TRANSPORT, "Shared memory, between the processes of a host")                     \
    X(NETWORK, "network", TRANSPORT, "Networks, between hosts")                                    \
    X(TCP, "tcp", NETWORK, "Sockets")                                                              \
    X(OFI, "ofi", NETWORK, "Providers of libfabric")                                               \
    X(LAUNCH, "launch", LIBRARY, "mpirun; a rank can only read these")

typedef enum weft_category {
#define WEFT_CATEGORY_ENUMERATOR(key, name, parent, help) WEFT_CATEGORY_##key,
    WEFT_CATEGORIES(WEFT_CATEGORY_ENUMERATOR)
#undef WEFT_CATEGORY_ENUMERATOR
        WEFT_CATEGORY_COUNT
} weft_category_t;

const char *weft_category_name(weft_category_t category);
const char *weft_category_help(weft_category_t category);

/** The category with the key of config_vars.def; WEFT_CATEGORY_COUNT: there is none. */
weft_category_t weft_category_keyed(const char *key);
/** The same by name. */
weft_category_t weft_category_named(const char *name);

/** What a category has. Indices are ascending. */
typedef enum weft_member {
    WEFT_MEMBER_CVAR,
    WEFT_MEMBER_PVAR,
    WEFT_MEMBER_EVENT,
    WEFT_MEMBER_CATEGORY,
} weft_member_t;

/** Store the indices of the first `room` members of a kind; returns how many there are. With the
 *  tool's lock. */
int weft_category_members(weft_category_t category, weft_member_t kind, int room, int *indices);

#endif
