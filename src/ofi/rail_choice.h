/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which interfaces of a host a rank uses as its rails, where there are several in one network. Near
 * ones are better (runtime/pci_distance.h), and ranks for which several are equally near take
 * different ones, so that all of them carry data. On a host with eight GPUs and four interfaces
 * beside each, every rank uses the four beside its GPU.
 */
#ifndef WEFT_OFI_RAIL_CHOICE_H
#define WEFT_OFI_RAIL_CHOICE_H

#include "runtime/transport.h"

#include <rdma/fabric.h>
#include <stdbool.h>

enum { WEFT_INTERFACES_MOST = 64 };

/**
 * interfaces   [count] of one provider, in its order; at most WEFT_INTERFACES_MOST
 * are_devices  they are real ones: several may be used without being asked for
 * rails_out    those to be used, best first; the same number of them on all hosts that have as many
 *              interfaces
 * returns      how many, at least 1 if count is
 */
int weft_rails_choose(const struct fi_info *const *interfaces, int count, bool are_devices,
                      const struct fi_info *rails_out[WEFT_RAILS_MAX]);

/** How many interfaces of `count` a rank uses if no host has more than `ranks` ranks: its share. */
int weft_rails_share(int count, int ranks);

/** order_out[count]: numbers of interfaces, the nearest first. Of those at one distance the rank
 * with number `local_rank` on its host begins behind the `rails` that the one before it uses. */
void weft_rails_deal(const int *distances, int count, int rails, int local_rank, int *order_out);

#endif
