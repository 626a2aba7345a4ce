/* SPDX-License-Identifier: BSD-3-Clause */
/* The report as JSON, for programs. */
#ifndef WEFT_REPORT_REPORT_JSON_H
#define WEFT_REPORT_REPORT_JSON_H

#include "report/job_facts.h"
#include "report/report_text.h"

/** An object:
 *  {"version": "0.1.0", "ranks": 3, "simulated_on": null or "name of the machine",
 *   "hosts": [{"host": "h1", "ranks": [0, 2], "cores": 2, "oversubscribed": false,
 *              "same_host": "shm, memfd", "other_hosts": "weft-tcp", "interface": "eth0",
 *              "gbit_per_s": 10 (null: not known),
 *              "gpus": [{"pci": "0000:07:00.0", "ranks": [0, 2], "kernels": "...",
 *                        "mps": true (its ranks are clients of one MPS)}]}],
 *   "warnings": [{"hosts": ["h1"], "text": "..."}]} */
void weft_report_json(weft_report_text_t *text, const weft_job_facts_t *job);

#endif
