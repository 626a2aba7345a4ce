/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank that aborts lets a launcher of ours know beside its words. */
#ifndef WEFT_BASE_ABORT_MARK_H
#define WEFT_BASE_ABORT_MARK_H

/** The first character of the text, where the rank has lost another one before, or could not reach it: that one's end, of
 *  which the launcher may hear later, is probably the cause of both. */
enum { WEFT_BEREFT_MARK = 1 };

#endif
