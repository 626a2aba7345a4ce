/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/rank_report.h"

#include <stdarg.h>
#include <stdio.h>

void weft_rank_report_warn(weft_rank_report_t *report, const char *format, ...)
{
    va_list args;
    if (report->warning_count == WEFT_WARNINGS_MAX)
        return;
    va_start(args, format);
    vsnprintf(report->warnings[report->warning_count++], WEFT_WARNING_BYTES, format, args);
    va_end(args);
}
