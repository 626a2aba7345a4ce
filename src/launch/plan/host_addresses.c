/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/plan/host_addresses.h"

#include "base/fail.h"
#include "base/memory.h"
#include "base/network_interface.h"
#include "mpi.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

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

bool wl_is_loopback_down(void)
{
    return weft_interface_look("lo").is_down;
}

bool wl_is_own_address(const struct sockaddr *address)
{
    weft_interface_address_t *all;
    size_t count;
    bool is_ours = false;
    if (host_is_loopback(address))
        return true;
    if (weft_interface_addresses(&all, &count) != MPI_SUCCESS)
        return false;
    for (size_t i = 0; i < count && !is_ours; i++)
        is_ours = is_same_address((const struct sockaddr *)&all[i].address, address);
    weft_free(all);
    return is_ours;
}

bool wl_parse_address(const char *text, int port, struct sockaddr_storage *out,
                      socklen_t *bytes_out)
{
    struct sockaddr_in *narrow = (struct sockaddr_in *)out;
    struct sockaddr_in6 *wide = (struct sockaddr_in6 *)out;
    memset(out, 0, sizeof(*out));
    if (inet_pton(AF_INET, text, &narrow->sin_addr) == 1) {
        narrow->sin_family = AF_INET;
        narrow->sin_port = htons((uint16_t)port);
        *bytes_out = sizeof(*narrow);
        return true;
    }
    if (inet_pton(AF_INET6, text, &wide->sin6_addr) != 1)
        return false;
    wide->sin6_family = AF_INET6;
    wide->sin6_port = htons((uint16_t)port);
    *bytes_out = sizeof(*wide);
    return true;
}

/* Write the address as text; false: other hosts cannot use it. */
static bool write_address(const weft_interface_address_t *interface, char out[INET6_ADDRSTRLEN])
{
    const struct sockaddr *address = (const struct sockaddr *)&interface->address;
    if (!interface->is_up || host_is_loopback(address))
        return false;
    if (address->sa_family == AF_INET)
        return inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, out,
                         INET6_ADDRSTRLEN) != NULL;
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

static place_in_list_t place_in_list(const weft_interface_address_t *interface)
{
    if (interface->is_loopback)
        return LOOPBACK_LAST;
    return weft_interface_look(interface->name).rank == WEFT_INTERFACE_UNFIT ? UNFIT_NEXT
                                                                             : FIT_FIRST;
}

/* Add the addresses of one place in the list; only those of `interface` if it is not NULL. */
static void host_add_addresses(const weft_interface_address_t *all, size_t count,
                               const char *interface, place_in_list_t place, address_text_t *text)
{
    for (size_t i = 0; i < count; i++) {
        char address[INET6_ADDRSTRLEN];
        bool is_wanted = interface == NULL || strcmp(interface, all[i].name) == 0;
        if (is_wanted && place_in_list(&all[i]) == place && write_address(&all[i], address))
            add_address(text, address);
    }
}

int wl_list_addresses(const char *interface, char *out, size_t bytes)
{
    weft_interface_address_t *all;
    size_t count;
    int err = weft_interface_addresses(&all, &count);
    if (err != MPI_SUCCESS)
        return err;
    address_text_t text = {.out = out, .bytes = bytes};
    out[0] = '\0';
    /* The addresses of lo come last: there may be hundreds that lead nowhere, but on hosts that are
     * routers the only usable address may be one of them. */
    for (place_in_list_t place = FIT_FIRST; place <= LOOPBACK_LAST; place++)
        host_add_addresses(all, count, interface, place, &text);
    weft_free(all);
    if (text.used == 0 && interface != NULL)
        return weft_fail(MPI_ERR_ARG, "there is no interface %s with an address that is up",
                         interface);
    return MPI_SUCCESS;
}
