/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/network_interface.h"

#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static bool read_word(const char *name, const char *file, char *out, size_t bytes)
{
    char path[128], format[16];
    snprintf(path, sizeof(path), "/sys/class/net/%.32s/%s", name, file);
    snprintf(format, sizeof(format), "%%%zus", bytes - 1);
    FILE *stream = fopen(path, "re");
    bool is_read = stream != NULL && fscanf(stream, format, out) == 1;
    if (stream != NULL)
        fclose(stream);
    return is_read;
}

static bool has_entry(const char *name, const char *entry)
{
    char path[128];
    snprintf(path, sizeof(path), "/sys/class/net/%.32s/%s", name, entry);
    return access(path, F_OK) == 0;
}

/* Software that runs containers and virtual machines gives every host the same addresses behind
 * interfaces of these names. */
static bool is_of_containers(const char *name)
{
    static const char *const prefixes[] = {"docker",  "br-",  "virbr", "cni",  "podman",
                                           "flannel", "cali", "lxc",   "kube", "vnet"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    }
    return false;
}

/* IFF_ flags; also where there is no /sys, as in a chroot. false: there is no such interface. */
static bool find_flags(const char *name, unsigned *out)
{
    struct ifreq request = {0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
    bool is_found = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0;
    if (fd >= 0)
        close(fd);
    *out = (unsigned short)request.ifr_flags;
    return is_found;
}

static bool find_down(const char *name, unsigned flags)
{
    char word[32];
    return (flags & IFF_UP) == 0 ||
           (read_word(name, "operstate", word, sizeof(word)) && strcmp(word, "down") == 0);
}

static const char *find_interface_fault(const char *name, unsigned flags, bool is_down)
{
    if ((flags & IFF_LOOPBACK) != 0)
        return "loopback";
    if (is_down)
        return "down";
    if (has_entry(name, "bridge"))
        return "a bridge";
    return is_of_containers(name) ? "of containers or virtual machines" : NULL;
}

weft_interface_t weft_interface_look(const char *name)
{
    char word[32];
    unsigned flags;
    weft_interface_t result = {.rank = WEFT_INTERFACE_REAL};
    if (!find_flags(name, &flags))
        return result;
    result.is_down = find_down(name, flags);
    result.why = find_interface_fault(name, flags, result.is_down);
    if (read_word(name, "speed", word, sizeof(word)) &&
        (result.speed_mbit = (int)strtol(word, NULL, 10)) < 0)
        result.speed_mbit = 0;
    if (result.why != NULL)
        result.rank = WEFT_INTERFACE_UNFIT;
    else if (!has_entry(name, "device"))
        result.rank = WEFT_INTERFACE_VIRTUAL;
    return result;
}

weft_interface_t weft_interface_choose(const char *name)
{
    weft_interface_t result = weft_interface_look(name);
    if (weft_config.FABRIC_INTERFACE[0] == '\0')
        return result;
    bool is_wanted = strcmp(name, weft_config.FABRIC_INTERFACE) == 0;
    result.rank = is_wanted ? WEFT_INTERFACE_REAL : WEFT_INTERFACE_UNFIT;
    if (is_wanted)
        result.why = NULL;
    return result;
}

/* ---- The list of addresses ---- */

/* false: it is an address of another kind. */
static bool read_address(const struct ifaddrs *entry, weft_interface_address_t *out)
{
    const struct sockaddr *address = entry->ifa_addr;
    if (address == NULL || (address->sa_family != AF_INET && address->sa_family != AF_INET6))
        return false;
    *out = (weft_interface_address_t){.is_up = (entry->ifa_flags & IFF_UP) != 0,
                                      .is_loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0};
    snprintf(out->name, sizeof(out->name), "%s", entry->ifa_name);
    memcpy(&out->address, address,
           address->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                         : sizeof(struct sockaddr_in6));
    if (address->sa_family == AF_INET && entry->ifa_netmask != NULL)
        out->mask = ((const struct sockaddr_in *)entry->ifa_netmask)->sin_addr.s_addr;
    return true;
}

int weft_interface_addresses(weft_interface_address_t **out, size_t *count_out)
{
    struct ifaddrs *list;
    size_t most = 0, count = 0;
    if (getifaddrs(&list) != 0)
        return weft_fail(MPI_ERR_OTHER, "the network interfaces cannot be listed: %s",
                         strerror(errno));
    for (const struct ifaddrs *entry = list; entry != NULL; entry = entry->ifa_next)
        most++;
    weft_interface_address_t *addresses = weft_alloc_array(most, sizeof(*addresses));
    for (const struct ifaddrs *entry = list; addresses != NULL && entry != NULL;
         entry = entry->ifa_next)
        count += read_address(entry, &addresses[count]);
    freeifaddrs(list);
    if (addresses == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a list of %zu network addresses", most);
    *out = addresses;
    *count_out = count;
    return MPI_SUCCESS;
}
