/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank that aborts tells Weft's mpirun besides the text of its message. */
#ifndef WEFT_BASE_ABORT_MARK_H
#define WEFT_BASE_ABORT_MARK_H

/** The first character of the text if the rank had lost another rank, or could not reach it. The
 *  end of that other rank, of which the launcher may hear later, is then probably the cause of this
 *  abort. */
enum { WEFT_BEREFT_MARK = 1 };

#endif
