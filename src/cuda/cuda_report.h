/* SPDX-License-Identifier: BSD-3-Clause */
/* What the report (WEFT_REPORT) says of this rank's device. */
#ifndef WEFT_CUDA_CUDA_REPORT_H
#define WEFT_CUDA_CUDA_REPORT_H

#include "cuda/cuda_device.h"
#include "runtime/rank_report.h"

/** As weft_device->describe(). */
void wefti_cuda_report(struct weft_rank_report *report);

/** The rank begins to work on a device: said where a report is wanted that could not know it. */
void wefti_cuda_report_news(const weft_device_t *device);

#endif
