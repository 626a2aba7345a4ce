/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the PMIx client of a rank that survives losses and the PMIx server of Weft's mpirun. */
#ifndef WEFT_BASE_FENCE_MEMBERS_H
#define WEFT_BASE_FENCE_MEMBERS_H

/**
 * A directive of PMIx_Fence, a text: the ranks of the fence as in "0,3,4", or "" for all of them.
 * The fence itself names the caller and a stranger, the one rank of a job that is on no host: then
 * PMIx counts nobody and hands the call on at once. The server counts the ranks, and knows which of
 * them are lost; PMIx 4.2 goes on waiting for a rank that ended without coming to a fence.
 */
#define WEFT_FENCE_MEMBERS "weft.fence.members"

/** The stranger's job: the job's name with this behind it. */
#define WEFT_FENCE_STRANGER "-stranger"

#endif
