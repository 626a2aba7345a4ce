/* SPDX-License-Identifier: BSD-3-Clause */
/* Variables of hot paths. */
#ifndef WEFT_BASE_OWN_SYMBOL_H
#define WEFT_BASE_OWN_SYMBOL_H

/** In the declaration of a variable: no other library can define it, so it is read in one step and
 *  not by its address in a table. -fvisibility=hidden says this of definitions alone. */
#define WEFT_OWN_SYMBOL __attribute__((visibility("hidden")))

#endif
