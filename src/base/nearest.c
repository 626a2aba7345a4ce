/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/nearest.h"

#include <string.h>

enum { LONGEST = 63 };

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Levenshtein's distance over one row of the table; only the first LONGEST letters count. */
static int edit_distance(const char *a, const char *b)
{
    int row[LONGEST + 1];
    int width = smaller((int)strlen(b), LONGEST);
    for (int j = 0; j <= width; j++)
        row[j] = j;
    for (int i = 0; a[i] != '\0' && i < LONGEST; i++) {
        int diagonal = row[0];
        row[0] = i + 1;
        for (int j = 0; j < width; j++) {
            int change = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = smaller(change, smaller(row[j], row[j + 1]) + 1);
        }
    }
    return row[width];
}

const char *weft_nearest(const char *word, const char *const words[], int count)
{
    const char *best = words[0];
    for (int i = 1; i < count; i++) {
        if (edit_distance(word, words[i]) < edit_distance(word, best))
            best = words[i];
    }
    return best;
}
