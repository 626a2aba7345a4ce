/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/plan/host_addresses.h"

#include "base/fail.h"
#include "base/network_interface.h"
#include "mpi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static bool is_same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    return a->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

static bool host_is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 ==
               IN_LOOPBACKNET;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

bool wl_is_own_address(const struct sockaddr *address)
{
    struct ifaddrs *interfaces = NULL;
    if (host_is_loopback(address))
        return true;
    if (getifaddrs(&interfaces) != 0)
        return false;
    bool is_ours = false;
    for (const struct ifaddrs *each = interfaces; each != NULL && !is_ours; each = each->ifa_next)
        is_ours = each->ifa_addr != NULL && is_same_address(each->ifa_addr, address);
    freeifaddrs(interfaces);
    return is_ours;
}

/* Write the address as text; false: other hosts cannot use it. */
static bool write_address(const struct ifaddrs *interface, char out[INET6_ADDRSTRLEN])
{
    const struct sockaddr *address = interface->ifa_addr;
    if (address == NULL || (interface->ifa_flags & IFF_UP) == 0 || host_is_loopback(address))
        return false;
    if (address->sa_family == AF_INET)
        return inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, out,
                         INET6_ADDRSTRLEN) != NULL;
    if (address->sa_family != AF_INET6)
        return false;
    const struct in6_addr *wide = &((const struct sockaddr_in6 *)address)->sin6_addr;
    return !IN6_IS_ADDR_LINKLOCAL(wide) && inet_ntop(AF_INET6, wide, out, INET6_ADDRSTRLEN) != NULL;
}

/* A list of addresses as text; addresses that do not fit are left out. */
typedef struct address_text {
    char *out;
    size_t bytes, used;
} address_text_t;

static void add_address(address_text_t *text, const char *address)
{
    if (text->used + strlen(address) + 2 < text->bytes)
        text->used += (size_t)snprintf(text->out + text->used, text->bytes - text->used, "%s%s",
                                       text->used > 0 ? " " : "", address);
}

typedef enum place_in_list {
    FIT_FIRST,
    UNFIT_NEXT, /* bridges, containers: other hosts can hardly be there */
    LOOPBACK_LAST,
} place_in_list_t;

static place_in_list_t place_in_list(const struct ifaddrs *interface)
{
    if ((interface->ifa_flags & IFF_LOOPBACK) != 0)
        return LOOPBACK_LAST;
    return weft_interface_look(interface->ifa_name).rank == WEFT_INTERFACE_UNFIT ? UNFIT_NEXT
                                                                                 : FIT_FIRST;
}

/* Add the addresses of one place in the list; only those of `interface` if it is not NULL. */
static void host_add_addresses(const struct ifaddrs *list, const char *interface,
                               place_in_list_t place, address_text_t *text)
{
    for (const struct ifaddrs *each = list; each != NULL; each = each->ifa_next) {
        char address[INET6_ADDRSTRLEN];
        bool is_wanted = interface == NULL || strcmp(interface, each->ifa_name) == 0;
        if (is_wanted && place_in_list(each) == place && write_address(each, address))
            add_address(text, address);
    }
}

int wl_list_addresses(const char *interface, char *out, size_t bytes)
{
    struct ifaddrs *interfaces = NULL;
    if (getifaddrs(&interfaces) != 0)
        return weft_fail(MPI_ERR_OTHER, "the network interfaces cannot be listed: %s",
                         strerror(errno));
    address_text_t text = {.out = out, .bytes = bytes};
    out[0] = '\0';
    /* The addresses of lo come last: there may be hundreds that lead nowhere, but on hosts that are
     * routers the only usable address may be one of them. */
    for (place_in_list_t place = FIT_FIRST; place <= LOOPBACK_LAST; place++)
        host_add_addresses(interfaces, interface, place, &text);
    freeifaddrs(interfaces);
    if (text.used == 0 && interface != NULL)
        return weft_fail(MPI_ERR_ARG, "there is no interface %s with an address that is up",
                         interface);
    return MPI_SUCCESS;
}
