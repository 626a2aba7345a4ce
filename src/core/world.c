/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/world.h"

weft_world_t weft_world = {.fabric = ""};
