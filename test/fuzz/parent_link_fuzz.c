/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text on the stdin of a daemon, which says whom to call.
 * fuzz: runs=150000 most=300 of=launch/tree,launch/plan,base
 */
#include "input.h"

#include "launch/plan/host_addresses.h"
#include "launch/tree/parent_link.h"
#include "mpi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    wl_parent_link_t link;
    struct sockaddr_storage address;
    socklen_t address_bytes;
    int ends[2];
    fuzz_expect(pipe(ends) == 0 && write(ends[1], data, bytes) == (ssize_t)bytes, "no pipe");
    close(ends[1]);
    if (wl_parent_link_read(ends[0], &link) == MPI_SUCCESS) {
        char text[WL_PARENT_LINK_TEXT_BYTES];
        fuzz_expect(memchr(link.addresses, '\0', sizeof(link.addresses)) != NULL, "no end");
        wl_parse_address(link.addresses, link.port, &address, &address_bytes);
        wl_parent_link_write(&link, text);
    }
    close(ends[0]);
    return 0;
}
