/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/plan/host_list.h"

#include "base/fail.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "launch/plan/host_addresses.h"
#include "mpi.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    LONGEST_NAME = 256,
    MOST_DIGITS = 18, /* such a number, and the next, fit into a long */
    MOST_BRACKETS = 8,
};

/* ---- Is it this host? ---- */

/* The same name, with or without a domain on either side. */
static bool is_same_name(const char *a, const char *b)
{
    size_t length = strcspn(a, ".");
    if (strcmp(a, b) == 0)
        return true;
    bool has_one_domain = a[length] == '\0' || strchr(b, '.') == NULL;
    return has_one_domain && length == strcspn(b, ".") && strncmp(a, b, length) == 0;
}

/* What this host calls itself; asked for once, as lists may be long. */
static const char *own_name(void)
{
    static char own[LONGEST_NAME];
    if (own[0] == '\0' && gethostname(own, sizeof(own) - 1) != 0)
        own[0] = '\0';
    return own;
}

static bool is_called_so(const char *name)
{
    return strcmp(name, "localhost") == 0 || strncmp(name, "127.", 4) == 0 ||
           strcmp(name, "::1") == 0 || is_same_name(name, own_name());
}

bool wl_is_this_host(const char *name)
{
    if (is_called_so(name))
        return true;
    /* Names are not resolved: resolving may take seconds, and taking an alias for another host
     * costs no more than an ssh. */
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *found = NULL;
    if (getaddrinfo(name, NULL, &hints, &found) != 0)
        return false;
    bool is_ours = false;
    for (const struct addrinfo *each = found; each != NULL && !is_ours; each = each->ai_next)
        is_ours = wl_is_own_address(each->ai_addr);
    freeaddrinfo(found);
    return is_ours;
}

/* ---- The list ---- */

static wl_listed_host_t *find_or_append(wl_host_list_t *list, const char *name)
{
    int found = wl_name_index_find(&list->index, name);
    if (found >= 0)
        return &list->hosts[found];
    if (!wl_name_index_reserve(&list->index, (size_t)list->count + 1))
        return NULL;
    if (list->count == list->capacity) {
        int capacity = 2 * list->capacity + 16;
        wl_listed_host_t *hosts =
            weft_realloc(list->hosts, (size_t)capacity * sizeof(*list->hosts));
        if (hosts == NULL)
            return NULL;
        list->hosts = hosts;
        list->capacity = capacity;
    }
    wl_listed_host_t *host = &list->hosts[list->count];
    *host = (wl_listed_host_t){.name = weft_strdup(name)};
    if (host->name == NULL)
        return NULL;
    wl_name_index_add(&list->index, host->name, list->count++);
    return host;
}

static int add_up(const wl_listed_host_t *host, const char *what, long sum, int *out)
{
    if (sum > WL_MOST_RANKS)
        return weft_fail(MPI_ERR_ARG, "the host %s gets %ld %s in all; at most %d are possible",
                         host->name, sum, what, WL_MOST_RANKS);
    *out = (int)sum;
    return MPI_SUCCESS;
}

static int append_host(wl_host_list_t *list, const char *name, int slots, int most)
{
    if (is_called_so(name) && own_name()[0] != '\0')
        name = own_name();
    int count = list->count;
    wl_listed_host_t *host = find_or_append(list, name);
    if (host == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a list of %d hosts", count + 1);
    long sum = slots;
    if (list->count == count) /* "a,a" means two slots of a */
        sum = (host->slots > 0 ? host->slots : 1L) + (slots > 0 ? slots : 1);
    int err = add_up(host, "slots", sum, &host->slots);
    return err == MPI_SUCCESS ? add_up(host, "max_slots", (long)host->most + most, &host->most)
                              : err;
}

int wl_host_list_copy(const wl_host_list_t *from, wl_host_list_t *to)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < from->count && err == MPI_SUCCESS; i++)
        err = append_host(to, from->hosts[i].name, from->hosts[i].slots, from->hosts[i].most);
    return err;
}

void wl_host_list_take_slots(wl_host_list_t *list, const wl_host_list_t *from)
{
    for (int i = 0; i < list->count; i++) {
        int found = wl_name_index_find(&from->index, list->hosts[i].name);
        if (found < 0 || list->hosts[i].slots != 0)
            continue;
        list->hosts[i].slots = from->hosts[found].slots;
        list->hosts[i].most = from->hosts[found].most;
    }
}

void wl_host_list_release(wl_host_list_t *list)
{
    for (int i = 0; i < list->count; i++)
        weft_free(list->hosts[i].name);
    weft_free(list->hosts);
    wl_name_index_release(&list->index);
    *list = (wl_host_list_t){0};
}

/* ---- Words: name, name:slots, ranges in brackets ---- */

typedef struct host_word {
    char *name; /* of any length: Slurm names thousands of nodes in one pair of brackets */
    int slots, most;
} host_word_t;

/* "7" or "1-4" in brackets. */
typedef struct number_range {
    long first, last;
    int digits; /* of each number, at least */
} number_range_t;

static int refuse_numbers(const char *word)
{
    return weft_fail(MPI_ERR_ARG,
                     "in \"%.100s\" the brackets want numbers like [1-4,7], of at most %d digits",
                     word, MOST_DIGITS);
}

/* Move *text behind a number; false: there is none, or it is too long. */
static bool read_digits(const char **text, long *out)
{
    size_t digits = strspn(*text, "0123456789");
    *out = strtol(*text, NULL, 10);
    *text += digits;
    return digits > 0 && digits <= MOST_DIGITS;
}

/* Move *text behind a range and the ',' or ']' after it; false: there is no range. */
static bool read_range(const char **text, number_range_t *out)
{
    const char *begin = *text;
    if (!read_digits(text, &out->first))
        return false;
    out->digits = (int)(*text - begin);
    out->last = out->first;
    if (**text == '-') {
        ++*text;
        if (!read_digits(text, &out->last))
            return false;
    }
    bool is_whole = **text == ',' || **text == ']';
    *text += is_whole;
    return is_whole && out->last >= out->first;
}

/* How many numbers the brackets that open there stand for, or any number above WL_MOST_RANKS if
 * they are more; -1: they are wrong. */
static long count_host_numbers(const char *open, const char *close)
{
    long count = 0;
    for (const char *text = open + 1; text <= close;) {
        number_range_t range;
        if (!read_range(&text, &range))
            return -1;
        count += range.last - range.first + 1;
        if (count > WL_MOST_RANKS)
            return count;
    }
    return count;
}

/* Can the word be expanded, and to a number of hosts that makes sense? */
static int check_brackets(const char *word)
{
    long hosts = 1;
    int brackets = 0;
    for (const char *rest = word, *open; (open = strpbrk(rest, "[]")) != NULL; brackets++) {
        const char *close = strchr(open, ']');
        if (*open == ']' || close == NULL)
            return weft_fail(MPI_ERR_ARG, "in \"%.100s\" a bracket is missing", word);
        long count = count_host_numbers(open, close);
        if (count < 0)
            return refuse_numbers(word);
        if (brackets == MOST_BRACKETS)
            return weft_fail(MPI_ERR_ARG, "\"%.100s\" has more than %d pairs of brackets", word,
                             MOST_BRACKETS);
        hosts *= count;
        if (hosts > WL_MOST_RANKS)
            return weft_fail(MPI_ERR_ARG, "\"%.100s\" stands for more than %d hosts", word,
                             WL_MOST_RANKS);
        rest = close + 1;
    }
    return MPI_SUCCESS;
}

static int append_expanded(wl_host_list_t *list, const host_word_t *word);

/* Make the word with the number `n` in place of its first brackets; `tail` is what follows the
 * brackets. */
static int append_numbered(wl_host_list_t *list, const host_word_t *word, const char *number,
                           const char *tail)
{
    size_t head = strcspn(word->name, "["), bytes = head + strlen(number) + strlen(tail) + 1;
    host_word_t each = {.name = weft_alloc(bytes), .slots = word->slots, .most = word->most};
    if (each.name == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the name of a host");
    snprintf(each.name, bytes, "%.*s%s%s", (int)head, word->name, number, tail);
    int err = append_expanded(list, &each);
    weft_free(each.name);
    return err;
}

/* Expand one range of the brackets, with as many digits as its first number has. */
static int append_range(wl_host_list_t *list, const host_word_t *word, const number_range_t *range,
                        const char *tail)
{
    int err = MPI_SUCCESS;
    for (long n = range->first; n <= range->last && err == MPI_SUCCESS; n++) {
        char number[MOST_DIGITS + 6];
        snprintf(number, sizeof(number), "%0*ld", range->digits, n);
        err = append_numbered(list, word, number, tail);
    }
    return err;
}

/* node[1-2]x becomes node1x and node2x, brackets from left to right; they have been checked. */
static int append_expanded(wl_host_list_t *list, const host_word_t *word)
{
    const char *open = strchr(word->name, '['), *close = strchr(word->name, ']');
    if (open == NULL)
        return append_host(list, word->name, word->slots, word->most);
    int err = MPI_SUCCESS;
    for (const char *text = open + 1; text <= close && err == MPI_SUCCESS;) {
        number_range_t range;
        if (!read_range(&text, &range))
            return refuse_numbers(word->name);
        err = append_range(list, word, &range, close + 1);
    }
    return err;
}

static int parse_number(const char *text, const char *whole, int *out)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < 1 || value > WL_MOST_RANKS)
        return weft_fail(MPI_ERR_ARG, "in \"%s\" the number of slots is \"%s\"; it wants 1 to %d",
                         whole, text, WL_MOST_RANKS);
    *out = (int)value;
    return MPI_SUCCESS;
}

/* Take the ":4" off a name. Two colons are an IPv6 address. */
static int split_slots(host_word_t *word)
{
    char *colon = strchr(word->name, ':');
    if (colon == NULL || strchr(colon + 1, ':') != NULL)
        return MPI_SUCCESS;
    int err = parse_number(colon + 1, word->name, &word->slots);
    *colon = '\0';
    return err == MPI_SUCCESS && word->name[0] == '\0'
               ? weft_fail(MPI_ERR_ARG, "there is a number of slots without a host")
               : err;
}

static int hosts_append_word(wl_host_list_t *list, host_word_t *word)
{
    int err = split_slots(word);
    if (err == MPI_SUCCESS &&
        (word->name[0] == '-' || strpbrk(word->name, "'\"$`\\;&|<> ") != NULL))
        err = weft_fail(MPI_ERR_ARG, "\"%s\" is no name of a host", word->name);
    if (err == MPI_SUCCESS)
        err = check_brackets(word->name);
    return err == MPI_SUCCESS ? append_expanded(list, word) : err;
}

/* The length of the first word of "a,node[1,2],b". */
static size_t word_length(const char *text)
{
    int depth = 0;
    size_t length = 0;
    for (; text[length] != '\0' && (text[length] != ',' || depth > 0); length++)
        depth += (text[length] == '[') - (text[length] == ']');
    return length;
}

int wl_host_list_add(wl_host_list_t *list, const char *words)
{
    int err = MPI_SUCCESS;
    while (*words != '\0' && err == MPI_SUCCESS) {
        size_t length = word_length(words);
        host_word_t word = {.name = weft_alloc(length + 1)};
        if (word.name == NULL)
            return weft_fail(MPI_ERR_NO_MEM, "no memory for a list of hosts");
        memcpy(word.name, words, length);
        word.name[length] = '\0';
        if (length > 0)
            err = hosts_append_word(list, &word);
        weft_free(word.name);
        words += length + (words[length] == ',');
    }
    return err;
}

/* ---- Files ---- */

static int take_setting(const char *text, host_word_t *word)
{
    static const char *const most_names[] = {"max_slots=", "max-slots="};
    if (strncmp(text, "slots=", 6) == 0)
        return parse_number(text + 6, text, &word->slots);
    for (int i = 0; i < 2; i++) {
        size_t length = strlen(most_names[i]);
        if (strncmp(text, most_names[i], length) == 0)
            return parse_number(text + length, text, &word->most);
    }
    return MPI_SUCCESS; /* other launchers have more settings, which have no effect here */
}

static int add_line(wl_host_list_t *list, char *line)
{
    static const char blanks[] = " \t";
    line[strcspn(line, "#\r\n")] = '\0';
    char *rest = line;
    host_word_t word = {0};
    int err = MPI_SUCCESS;
    while (err == MPI_SUCCESS && *(rest += strspn(rest, blanks)) != '\0') {
        char *text = rest;
        rest += strcspn(rest, blanks);
        if (*rest != '\0')
            *rest++ = '\0';
        if (word.name == NULL)
            word.name = text;
        else
            err = take_setting(text, &word);
    }
    return err != MPI_SUCCESS || word.name == NULL ? err : hosts_append_word(list, &word);
}

int wl_host_list_add_file(wl_host_list_t *list, const char *path)
{
    char *text;
    int err = weft_text_file_read("the host file", path, &text);
    if (err != MPI_SUCCESS)
        return err;
    for (char *line = text, *next; line != NULL && err == MPI_SUCCESS; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        err = add_line(list, line);
    }
    weft_free(text);
    if (err == MPI_SUCCESS && list->count == 0)
        return weft_fail(MPI_ERR_ARG, "the host file %s names no host", path);
    return err;
}
