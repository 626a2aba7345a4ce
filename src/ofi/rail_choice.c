/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/rail_choice.h"

#include "runtime/nodes.h"
#include "runtime/pci_distance.h"
#include "runtime/world.h"
#include "base/config.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/network_interface.h"
#include "mpi.h"

#include <netinet/in.h>
#include <string.h>

/* ---- networks ---- */

/* Of an address of this host in network order; false: it is none. */
static bool find_mask(const weft_interface_address_t *known, size_t count, in_addr_t address,
                      in_addr_t *mask_out)
{
    for (size_t i = 0; i < count; i++) {
        const struct sockaddr_in *own = (const struct sockaddr_in *)&known[i].address;
        if (own->sin_family == AF_INET && own->sin_addr.s_addr == address) {
            *mask_out = known[i].mask;
            return true;
        }
    }
    return false;
}

static in_addr_t internet_address(const struct fi_info *info)
{
    struct sockaddr_in address;
    if (info->src_addr == NULL || info->src_addrlen < sizeof(address))
        return INADDR_ANY;
    memcpy(&address, info->src_addr, sizeof(address));
    return address.sin_addr.s_addr;
}

static bool are_in_one_subnet(const struct fi_info *const *interfaces, int count)
{
    weft_interface_address_t *known;
    size_t known_count;
    in_addr_t mask, first = internet_address(interfaces[0]);
    if (weft_interface_addresses(&known, &known_count) != MPI_SUCCESS)
        return false;
    bool is_one = find_mask(known, known_count, first, &mask);
    for (int i = 1; i < count && is_one; i++)
        is_one = ((internet_address(interfaces[i]) ^ first) & mask) == 0;
    weft_free(known);
    return is_one;
}

/* Rail N of a rank talks to rail N of others, so only then may ranks choose differently. */
static bool are_in_one_network(const struct fi_info *const *interfaces, int count)
{
    for (int i = 1; i < count; i++) {
        if (strcmp(interfaces[i]->fabric_attr->name, interfaces[0]->fabric_attr->name) != 0 ||
            interfaces[i]->addr_format != interfaces[0]->addr_format)
            return false;
    }
    return interfaces[0]->addr_format != FI_SOCKADDR_IN || are_in_one_subnet(interfaces, count);
}

/* ---- distances ---- */

static bool find_pci_address(const struct fi_info *info, weft_pci_address_t *out)
{
    const struct fid_nic *nic = info->nic;
    if (nic == NULL || nic->bus_attr == NULL || nic->bus_attr->bus_type != FI_BUS_PCI)
        return false;
    const struct fi_pci_attr *pci = &nic->bus_attr->attr.pci;
    *out = (weft_pci_address_t){pci->domain_id, pci->bus_id, pci->device_id, pci->function_id};
    return true;
}

/* All 0 where nobody tells. */
static void measure_distances(const struct fi_info *const *interfaces, int count, int *distances)
{
    weft_pci_address_t addresses[WEFT_INTERFACES_MOST];
    bool are_known = true;
    memset(distances, 0, (size_t)count * sizeof(*distances));
    for (int i = 0; i < count && are_known; i++)
        are_known = find_pci_address(interfaces[i], &addresses[i]);
    if (are_known)
        weft_pci_distances(addresses, count, distances);
}

/* ---- dealing ---- */

int weft_rails_share(int count, int ranks)
{
    int share = count / ranks;
    return share < 1 ? 1 : share < WEFT_RAILS_MAX ? share : WEFT_RAILS_MAX;
}

/* Numbers of interfaces at this distance. */
static int list_at(const int *distances, int count, int distance, int *out)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        if (distances[i] == distance)
            out[found++] = i;
    }
    return found;
}

/* -1: there is none. */
static int next_distance(const int *distances, int count, int behind)
{
    int next = -1;
    for (int i = 0; i < count; i++) {
        if (distances[i] > behind && (next < 0 || distances[i] < next))
            next = distances[i];
    }
    return next;
}

void weft_rails_deal(const int *distances, int count, int rails, int local_rank, int *order_out)
{
    int placed = 0, alike[WEFT_INTERFACES_MOST];
    for (int distance = next_distance(distances, count, -1); distance >= 0;
         distance = next_distance(distances, count, distance)) {
        int found = list_at(distances, count, distance, alike);
        /* those who come round again begin with another one */
        int turns = local_rank * rails, first = turns + turns / found;
        for (int i = 0; i < found; i++)
            order_out[placed++] = alike[(first + i) % found];
    }
}

/* ---- choosing ---- */

static int most_ranks_of_host(void)
{
    int most = 1, hosts = weft_nodes_count();
    int *ranks = weft_alloc_zeroed((size_t)hosts, sizeof(*ranks));
    if (ranks == NULL)
        return weft_world.local_size;
    for (int i = 0; i < weft_world.size; i++) {
        int own = ++ranks[weft_node_of(i)];
        most = own > most ? own : most;
    }
    weft_free(ranks);
    return most;
}

static int count_rails(int count, bool are_devices, bool are_one_network)
{
    int most = weft_config.RAILS;
    if (most <= 0)
        most = !are_devices      ? 1
               : are_one_network ? weft_rails_share(count, most_ranks_of_host())
                                 : WEFT_RAILS_MAX;
    most = most < WEFT_RAILS_MAX ? most : WEFT_RAILS_MAX;
    return most < count ? most : count;
}

int weft_rails_choose(const struct fi_info *const *interfaces, int count, bool are_devices,
                      const struct fi_info *rails_out[WEFT_RAILS_MAX])
{
    int distances[WEFT_INTERFACES_MOST], order[WEFT_INTERFACES_MOST];
    bool is_free = count > 1 && are_in_one_network(interfaces, count);
    int rails = count_rails(count, are_devices, is_free);
    for (int i = 0; i < count; i++)
        order[i] = i;
    if (is_free && (are_devices || weft_config.RAILS > 0)) {
        measure_distances(interfaces, count, distances);
        weft_rails_deal(distances, count, rails, weft_world.local_rank, order);
    }
    for (int i = 0; i < rails; i++) {
        rails_out[i] = interfaces[order[i]];
        WEFT_LOG(WEFT_DEBUG, "ofi", "rail %d of rank %d is interface %s, one of %d", i,
                 weft_world.rank, rails_out[i]->domain_attr->name, count);
    }
    return rails;
}
