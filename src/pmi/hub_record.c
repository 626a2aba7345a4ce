/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a store of keys and values says where the hub is:
 *
 *   | magic | port | count | secret | identity of the host | address | address | ...
 *
 * Who reads the store can join the job.
 */
#include "pmi/hub_private.h"
#include "pmi/hub_record_private.h"

#include "base/fail.h"
#include "base/memory.h"
#include "base/network_interface.h"
#include "base/random.h"
#include "mpi.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static const char magic[8] = {'w', 'e', 'f', 't', 'h', 'u', 'b', '1'};

_Static_assert(sizeof(hub_record_t) <= MPIX_BOOTSTRAP_VALUE_MAX, "fits a value");

void wefti_hub_record_key(int opened, char out[], size_t room)
{
    snprintf(out, room, "weft/hub-%d", opened);
}

/* Addresses that other hosts may reach, the best interfaces first. */
static void list_addresses(hub_record_t *record)
{
    weft_interface_address_t *found;
    size_t count;
    if (weft_interface_addresses(&found, &count) != MPI_SUCCESS)
        return;
    for (int rank = WEFT_INTERFACE_REAL; rank > WEFT_INTERFACE_UNFIT; rank--) {
        for (size_t i = 0; i < count && record->count < HUB_ADDRESSES; i++) {
            const struct sockaddr_in6 *wide = (const struct sockaddr_in6 *)&found[i].address;
            const struct sockaddr_in *narrow = (const struct sockaddr_in *)&found[i].address;
            bool is_wide = found[i].address.ss_family == AF_INET6;
            if (!found[i].is_up || (int)weft_interface_choose(found[i].name).rank != rank ||
                (is_wide && IN6_IS_ADDR_LINKLOCAL(&wide->sin6_addr)))
                continue;
            hub_address_t *address = &record->addresses[record->count++];
            address->is_wide = is_wide;
            if (is_wide)
                memcpy(address->bytes, &wide->sin6_addr, sizeof(wide->sin6_addr));
            else
                memcpy(address->bytes, &narrow->sin_addr, sizeof(narrow->sin_addr));
        }
    }
    weft_free(found);
}

int wefti_hub_record_put(weft_hub_plan_t *plan, int port)
{
    char key[64];
    hub_record_t record = {.port = htons((uint16_t)port)};
    memcpy(record.magic, magic, sizeof(magic));
    int err = weft_random(record.secret, sizeof(record.secret));
    if (err != MPI_SUCCESS)
        return err;
    memcpy(plan->secret, record.secret, sizeof(record.secret));
    wefti_hub_identify_host(plan->self.host, record.host, sizeof(record.host));
    list_addresses(&record);
    wefti_hub_record_key(plan->opened, key, sizeof(key));
    weft_fail_clear();
    if (plan->self.put(plan->self.state, key, &record, sizeof(record)) == 0)
        return MPI_SUCCESS;
    if (weft_fail_text()[0] == '\0') /* the callback has said why */
        weft_fail(MPI_ERR_OTHER,
                  "rank 0 cannot put the value %s into the store by which "
                  "the ranks find each other",
                  key);
    return MPI_ERR_OTHER;
}

int wefti_hub_record_get(const weft_hub_plan_t *plan, int limit_ms, hub_record_t *out)
{
    char key[64], value[MPIX_BOOTSTRAP_VALUE_MAX];
    size_t bytes = 0;
    wefti_hub_record_key(plan->opened, key, sizeof(key));
    int result = plan->self.get(plan->self.state, key, limit_ms, value, sizeof(value), &bytes);
    if (result == MPIX_BOOTSTRAP_ABSENT)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (result != 0)
        return weft_fail(MPI_ERR_OTHER,
                         "the store by which the ranks find each other cannot be read (key %s)",
                         key);
    if (bytes != sizeof(*out) || memcmp(value, magic, sizeof(magic)) != 0)
        return weft_fail(MPI_ERR_OTHER,
                         "the store by which the ranks find each other has %zu bytes under %s that "
                         "are not what rank 0 of this version of Weft writes",
                         bytes, key);
    memcpy(out, value, sizeof(*out));
    out->host[sizeof(out->host) - 1] = '\0';
    if (out->count > HUB_ADDRESSES)
        out->count = HUB_ADDRESSES;
    return MPI_SUCCESS;
}
