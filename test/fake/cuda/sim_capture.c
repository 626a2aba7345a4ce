/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_event.h"

CUresult sim_capture_add(sim_stream_t *stream, sim_work_t *work) { (void)stream; (void)work; return CUDA_ERROR_NOT_SUPPORTED; }
CUresult sim_unsafe_call(void) { return CUDA_SUCCESS; }
CUresult sim_spoil_capture(sim_stream_t *stream) { (void)stream; return CUDA_ERROR_NOT_SUPPORTED; }
CUresult sim_capture_record(sim_stream_t *stream, struct sim_event *event, unsigned flags) { (void)stream; (void)event; (void)flags; return CUDA_ERROR_NOT_SUPPORTED; }
CUresult sim_capture_wait(sim_stream_t *stream, struct sim_event *event, unsigned flags) { (void)stream; (void)event; (void)flags; return CUDA_ERROR_NOT_SUPPORTED; }
CUresult sim_capture_asked(struct sim_event *event) { (void)event; return CUDA_ERROR_NOT_SUPPORTED; }
