/* SPDX-License-Identifier: BSD-3-Clause */
/* NVIDIA's program that controls MPS, the Multi-Process Service. */
#ifndef WEFT_BASE_MPS_PROGRAM_H
#define WEFT_BASE_MPS_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/** The variables by which it and its clients find each other, and where clients look without. */
#define WEFT_MPS_PIPES         "CUDA_MPS_PIPE_DIRECTORY"
#define WEFT_MPS_LOGS          "CUDA_MPS_LOG_DIRECTORY"
#define WEFT_MPS_PIPES_DEFAULT "/tmp/nvidia-mps"

#define WEFT_MPS_PROGRAM "nvidia-cuda-mps-control"

/** Look for it in folders as PATH names them (NULL: none), and where drivers and containers have
 *  it. False: it is not there, or may not be executed. */
bool weft_mps_program_find(const char *folders, char path_out[PATH_MAX]);

#endif
