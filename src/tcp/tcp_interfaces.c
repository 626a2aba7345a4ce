/* SPDX-License-Identifier: BSD-3-Clause */
/* The interfaces of this host, and which of them could reach others. */
#include "tcp/tcp_private.h"

#include "base/network_interface.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/simulated_link.h"
#include "mpi.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum {
    SLOW_MBIT = 10000, /* below it, the report warns */
};

typedef struct own_interface {
    char name[WEFT_INTERFACE_NAME_BYTES];
    weft_interface_rank_t rank;
    const char *why;         /* why it is unfit; NULL: it is fit, or only not asked for */
    int speed_mbit;          /* 0: not known */
    in_addr_t address, mask; /* network order */
} own_interface_t;

static own_interface_t *interfaces; /* [interface_count] fit ones first; an address each */
static int interface_count, fit_count;

static void add_interface(const weft_interface_address_t *entry)
{
    if (entry->address.ss_family != AF_INET)
        return;
    own_interface_t *own = &interfaces[interface_count++];
    weft_interface_t looks = weft_interface_choose(entry->name);
    snprintf(own->name, sizeof(own->name), "%s", entry->name);
    own->rank = looks.rank;
    own->speed_mbit = looks.speed_mbit;
    own->why = looks.why;
    own->address = ((const struct sockaddr_in *)&entry->address)->sin_addr.s_addr;
    own->mask = entry->mask;
    if (looks.why != NULL)
        WEFT_LOG(WEFT_INFO, "tcp", "interface %s is passed over: it is %s", own->name, looks.why);
}

/* The best first; an insertion sort keeps the kernel's order among equals. */
static void sort_interfaces(void)
{
    for (int i = 1; i < interface_count; i++) {
        own_interface_t moved = interfaces[i];
        int at = i;
        for (; at > 0 && interfaces[at - 1].rank < moved.rank; at--)
            interfaces[at] = interfaces[at - 1];
        interfaces[at] = moved;
    }
    for (fit_count = 0; fit_count < interface_count && fit_count < WEFT_RAILS_MAX; fit_count++) {
        if (interfaces[fit_count].rank == WEFT_INTERFACE_UNFIT)
            return;
    }
}

/* Simulated hosts are on one machine, whose other addresses are not better. */
static int list_loopback(void)
{
    interfaces = weft_alloc_zeroed(1, sizeof(*interfaces));
    if (interfaces == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a network address");
    *interfaces = (own_interface_t){.name = "lo",
                                    .rank = WEFT_INTERFACE_REAL,
                                    .address = htonl(INADDR_LOOPBACK),
                                    .mask = htonl(IN_CLASSA_NET)};
    interface_count = 1;
    return MPI_SUCCESS;
}

static int list_interfaces(void)
{
    weft_interface_address_t *addresses;
    size_t count;
    int err = weft_interface_addresses(&addresses, &count);
    if (err != MPI_SUCCESS)
        return err;
    weft_free(interfaces);
    interface_count = fit_count = 0;
    interfaces = weft_alloc_array(count, sizeof(*interfaces));
    for (size_t i = 0; interfaces != NULL && i < count; i++)
        add_interface(&addresses[i]);
    weft_free(addresses);
    return interfaces != NULL || count == 0
               ? MPI_SUCCESS
               : weft_fail(MPI_ERR_NO_MEM, "no memory for a list of %zu network addresses", count);
}

int wefti_tcp_find_interfaces(void)
{
    int err = weft_world.machine[0] != '\0' ? list_loopback() : list_interfaces();
    if (err != MPI_SUCCESS)
        return err;
    sort_interfaces();
    if (fit_count > 0)
        return MPI_SUCCESS;
    return weft_fail(
        MPI_ERR_OTHER,
        "no network interface of %s has an IPv4 address and could reach other hosts%s%s "
        "(WEFT_LOG=info says why each was passed over)",
        weft_world.host,
        weft_config.FABRIC_INTERFACE[0] == '\0' ? "" : "; WEFT_FABRIC_INTERFACE asks for ",
        weft_config.FABRIC_INTERFACE);
}

void wefti_tcp_interfaces_close(void)
{
    weft_free(interfaces);
    interfaces = NULL;
    interface_count = fit_count = 0;
}

const char *wefti_tcp_interface(void)
{
    return fit_count > 0 ? interfaces[0].name : "none";
}

static bool tcp_is_loopback(in_addr_t address)
{
    return (ntohl(address) >> 24) == IN_LOOPBACKNET;
}

void wefti_tcp_describe_interfaces(weft_rank_report_t *report)
{
    weft_simulated_link_t link;
    if (weft_world.machine[0] != '\0') {
        if (weft_simulated_link_read(weft_config.SIMULATE_LINK, &link))
            report->speed_mbit = (int)(link.bytes_per_ns * 8000);
        return;
    }
    report->speed_mbit = interfaces[0].speed_mbit;
    for (int i = 0; i < interface_count; i++) {
        char address[INET_ADDRSTRLEN];
        if (interfaces[i].rank != WEFT_INTERFACE_UNFIT || tcp_is_loopback(interfaces[i].address))
            continue;
        inet_ntop(AF_INET, &interfaces[i].address, address, sizeof(address));
        weft_rank_report_warn(report,
                              "interface %s (%s) is passed over: %s; WEFT_FABRIC_INTERFACE names "
                              "another than %s",
                              interfaces[i].name, address,
                              interfaces[i].why == NULL ? "another was asked for"
                                                        : interfaces[i].why,
                              wefti_tcp_interface());
    }
    if (interfaces[0].speed_mbit > 0 && interfaces[0].speed_mbit < SLOW_MBIT)
        weft_rank_report_warn(report,
                              "the network has %d Mbit/s; WEFT_FABRIC_INTERFACE chooses another "
                              "interface, if there is one",
                              interfaces[0].speed_mbit);
}

bool wefti_tcp_is_own(in_addr_t address)
{
    if (weft_world.machine[0] != '\0')
        return false; /* it is another host's all the same */
    for (int i = 0; i < interface_count; i++) {
        if (interfaces[i].address == address)
            return true;
    }
    return false;
}

bool wefti_tcp_is_near(in_addr_t address)
{
    for (int i = 0; i < fit_count; i++) {
        if (((interfaces[i].address ^ address) & interfaces[i].mask) == 0)
            return true;
    }
    return false;
}

int wefti_tcp_address_count(void)
{
    return fit_count;
}

in_addr_t wefti_tcp_address(int index)
{
    return interfaces[index].address;
}
