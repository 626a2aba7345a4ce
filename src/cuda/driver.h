/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver, if the program uses it. The library does not load libcuda.so.1 to use it: it uses the
 * driver that the program has loaded, once the program has initialised it. Both may happen at any
 * time, so every MPI call looks (weft_device_news).
 *
 *   absent    There is no libcuda in the process. `news` is the l_next of the last object in
 *             the dynamic linker's list, so one load shows that nothing was loaded since. That
 *             object is kept loaded. When another object follows it, no further object is kept, so
 *             that a program may unload and reload its plug-ins; the linker's count of loads is
 *             read instead.
 *   loaded    The driver is there, and each look asks whether it is initialised.
 *   in use    This lasts until MPI_Finalize.
 *   unusable  The driver lacks a function that the library needs: one notice says so, and all
 *             memory is taken for the host's. Or it is a stub, or does not fit the kernel's driver.
 */
#ifndef WEFT_CUDA_DRIVER_H
#define WEFT_CUDA_DRIVER_H

#include "cuda/driver_api.h"

#include <stdbool.h>

/** The driver's functions; those of WEFT_CU_WANTED may be NULL. Filled in once the driver is in
 * use. */
typedef struct weft_cu_driver {
#define WEFT_MEMBER(name, exported, arguments) weft_cu_result_t(*name) arguments;
    WEFT_CU_NEEDED(WEFT_MEMBER) WEFT_CU_WANTED(WEFT_MEMBER)
#undef WEFT_MEMBER
} weft_cu_driver_t;

extern weft_cu_driver_t wefti_cu;
extern bool wefti_driver_is_in_use;

/** Begin to watch for the driver; returns the word for weft_device_open(). */
const uintptr_t *wefti_driver_open(void);
void wefti_driver_close(void);

/** Look for the driver again; true when it is in use. */
bool wefti_driver_look(void);

/** Can the program ever load a driver? Is cheap from the second call on. */
bool wefti_driver_may_come(void);

static inline bool wefti_driver_find(void)
{
    return __builtin_expect(wefti_driver_is_in_use, 1) || wefti_driver_look();
}

/** Set the text of weft_fail: that `call` failed, what it was about (a printf text), and what the
 * driver says of it. Returns the error class: MPI_ERR_NO_MEM when memory is lacking, else
 * MPI_ERR_OTHER. */
int wefti_driver_failed(weft_cu_result_t result, const char *call, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/** For example "CUDA_ERROR_INVALID_VALUE (invalid argument)"; valid until the next call. */
const char *wefti_driver_error(weft_cu_result_t result);

#endif
