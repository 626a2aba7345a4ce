/* SPDX-License-Identifier: BSD-3-Clause */
/* What the report (WEFT_REPORT) says of this rank's device. */
#ifndef WEFT_CUDA_CUDA_FACTS_H
#define WEFT_CUDA_CUDA_FACTS_H

#include "cuda/cuda_device.h"
#include "core/facts.h"

/** As weft_device_describe(). */
void wefti_facts(struct weft_facts *facts);

/** The rank begins to work on a device: said where a report is wanted that could not know it. */
void wefti_facts_news(const weft_device_t *device);

#endif
