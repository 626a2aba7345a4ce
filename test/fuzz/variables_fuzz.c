/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WEFT_ variables, one a line, without the prefix. weft_config_read() reads the environment once,
 * so the source is included here, and the function for one variable is called.
 * fuzz: runs=150000 most=120 of=base
 */
#include "input.h"

#include "base/config.c"

static void set_all_to_default(void)
{
    for (int i = 0; i < VARIABLES; i++) {
        fuzz_expect(variables[i].parse(variables[i].fallback, variables[i].field),
                    "a default is no value");
        variables[i].text = variables[i].fallback;
        variables[i].is_set = false;
    }
    strcpy(warned, ",");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = fuzz_text(data, bytes), *next = text;
    set_all_to_default();
    for (char *line; (line = strsep(&next, "\n")) != NULL;) {
        size_t room = strlen(line) + sizeof("WEFT_");
        char *entry = malloc(room);
        snprintf(entry, room, "WEFT_%s", line);
        set_from_environment(entry);
        set_all_to_default(); /* texts of the configuration lie in the entry */
        free(entry);
    }
    fuzz_expect(weft_config.LOST_AFTER > 0 && weft_config.LAUNCH_RADIX > 0, "a count is not");
    free(text);
    return 0;
}
