/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * While this rank's kernel waits for those of others: is one of the others stopped (SIGSTOP), so
 * that its kernel may never come? A rank that computes and stays out of MPI is not: it may take any
 * time. The kernel of the operating system tells the two apart (/proc).
 */
#ifndef WEFT_DEVCOLL_STOPPED_MEMBER_H
#define WEFT_DEVCOLL_STOPPED_MEMBER_H

#include "devcoll/task_private.h"

/** To be called in each round of progress of the wait. True when a member has been seen stopped for
 * WEFT_DEVICE_WAIT_MAX seconds; wefti_stopped_member_error() names it then. Time counts only while
 * this rank looks, so that all ranks may be stopped and go on together. */
bool wefti_is_member_stopped(weft_task_t *task);

/** `err`, or the error of the stopped member if there is one. */
int wefti_stopped_member_error(const weft_task_t *task, int err);

#endif
