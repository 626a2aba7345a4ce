/* SPDX-License-Identifier: BSD-3-Clause */
#include "info/info_algorithms.h"

#include "info/info_options.h"
#include "coll/tuning.h"

#include <stdio.h>

typedef struct word {
    unsigned flag;
    const char *text;
} word_t;

/* Words that may stand in a list: what an algorithm requires of a call, and which options may
 * follow its name. */
static const word_t needs_words[] = {{WEFT_NEEDS_COMMUTATIVE, "commutative"},
                                     {WEFT_NEEDS_COUNT, "count"},
                                     {WEFT_NEEDS_ORDER, "order"},
                                     {WEFT_NEEDS_REGULAR, "regular"},
                                     {WEFT_NEEDS_BLOCKS, "blocks"},
                                     {WEFT_NEEDS_WALL, "wall"},
                                     {0, NULL}};
static const word_t has_words[] = {
    {WEFT_HAS_RADIX, "radix"}, {WEFT_HAS_SEGMENT, "segment"}, {0, NULL}};

/* "a,b", or "-" for none, in a column. */
static void print_words(unsigned flags, const word_t *words, int width)
{
    char text[80] = "-";
    size_t used = 0;
    for (const word_t *its = words; its->text != NULL; its++) {
        if ((flags & its->flag) != 0)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used > 0 ? "," : "",
                                     its->text);
    }
    printf("%-*s ", width, text);
}

static void print_algorithms(weft_coll_t coll)
{
    for (const weft_algorithm_t *its = weft_coll_algorithms(coll); its->name != NULL; its++) {
        printf("%-20s %-21s ", weft_coll_name(coll), its->name);
        print_words(its->has, has_words, 14);
        print_words(its->needs, needs_words, 26);
        printf("%s%s\n", its->cost, (its->has & WEFT_HAS_FOLD) != 0 ? "; a fold" : "");
    }
}

static void print_legend(void)
{
    puts(
        "# For p ranks on N nodes. Options follow the name in a tuning table (ring,segment=64K), "
        "what is needed\n"
        "# must hold: commutative: of the operation; count: an element for each rank; order: "
        "commutative, or the\n"
        "# nodes' order is the ranks'; blocks: that order is the ranks'; regular: as many ranks on "
        "each node, in\n"
        "# blocks or cyclic; wall: a blocking call of the ranks of one host. A fold reduces in the "
        "order of ranks,\n"
        "# as WEFT_REPRODUCIBLE asks.");
    printf("%-20s %-21s %-14s %-26s %s\n", "# collective", "algorithm", "options", "needs", "cost");
}

int weft_info_algorithms(int count, char **words)
{
    weft_coll_t coll = WEFT_COLLS;
    if (count > 1) {
        fprintf(stderr, "weft_info: --algorithms [COLLECTIVE]\n");
        return 2;
    }
    if (count == 1 && !weft_info_coll(words[0], &coll))
        return 2;
    print_legend();
    for (int i = 0; i < WEFT_COLLS; i++) {
        if (coll == WEFT_COLLS || coll == (weft_coll_t)i)
            print_algorithms((weft_coll_t)i);
    }
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
