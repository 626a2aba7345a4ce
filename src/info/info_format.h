/* SPDX-License-Identifier: BSD-3-Clause */
/* weft_info prints sections of facts. Each format (text, --parsable and --json) is a table of
 * functions. */
#ifndef WEFT_INFO_INFO_FORMAT_H
#define WEFT_INFO_INFO_FORMAT_H

/** `key` is for scripts, `label` for people. A list of facts ends with one whose key is NULL. */
typedef struct weft_fact {
    const char *key, *label, *value;
} weft_fact_t;

typedef struct weft_info_format {
    void (*begin)(void);
    void (*report)(const char *section, const weft_fact_t *report);
    void (*variables)(void);
    void (*end)(void);
} weft_info_format_t;

#endif
