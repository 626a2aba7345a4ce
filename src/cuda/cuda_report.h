/* SPDX-License-Identifier: BSD-3-Clause */
/* What the report (WEFT_REPORT) says about this rank's device. */
#ifndef WEFT_CUDA_CUDA_REPORT_H
#define WEFT_CUDA_CUDA_REPORT_H

#include "cuda/cuda_device.h"
#include "runtime/rank_report.h"

/** Does what weft_device->describe() promises. */
void wefti_cuda_report(struct weft_rank_report *report);

/** The rank begins to use a device: adds a line where the report was written before the device was
 * known. */
void wefti_cuda_report_news(const weft_device_t *device);

#endif
