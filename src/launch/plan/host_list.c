/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/plan/host_list.h"

#include "base/fail.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "launch/plan/host_addresses.h"
#include "mpi.h"

#include <ctype.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LONGEST_NAME = 256, NUMBER_BYTES = 24, MOST_IN_RANGE = 100000 };

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

static bool is_called_so(const char *name)
{
    char own[LONGEST_NAME] = "";
    gethostname(own, sizeof(own) - 1);
    return strcmp(name, "localhost") == 0 || strncmp(name, "127.", 4) == 0 ||
           strcmp(name, "::1") == 0 || is_same_name(name, own);
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
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->hosts[i].name, name) == 0)
            return &list->hosts[i];
    }
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
    list->count++;
    return host;
}

static int append_host(wl_host_list_t *list, const char *name, int slots, int most)
{
    char own[LONGEST_NAME] = "";
    if (is_called_so(name) && gethostname(own, sizeof(own) - 1) == 0)
        name = own;
    int count = list->count;
    wl_listed_host_t *host = find_or_append(list, name);
    if (host == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a list of %d hosts", count + 1);
    if (list->count > count)
        host->slots = slots;
    else /* "a,a" means two slots of a */
        host->slots = (host->slots > 0 ? host->slots : 1) + (slots > 0 ? slots : 1);
    host->most += most;
    return MPI_SUCCESS;
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
        for (int k = 0; k < from->count && list->hosts[i].slots == 0; k++) {
            if (strcmp(list->hosts[i].name, from->hosts[k].name) != 0)
                continue;
            list->hosts[i].slots = from->hosts[k].slots;
            list->hosts[i].most = from->hosts[k].most;
        }
    }
}

void wl_host_list_release(wl_host_list_t *list)
{
    for (int i = 0; i < list->count; i++)
        weft_free(list->hosts[i].name);
    weft_free(list->hosts);
    *list = (wl_host_list_t){0};
}

/* ---- Words: name, name:slots, ranges in brackets ---- */

typedef struct host_word {
    char *name; /* of any length: Slurm names thousands of nodes in one pair of brackets */
    int slots, most;
} host_word_t;

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

/* Expand one "a" or "a-b" of the brackets, with as many digits as `a` has. */
static int append_range(wl_host_list_t *list, const host_word_t *word, const char *range,
                        const char *tail)
{
    char *end;
    long first = strtol(range, &end, 10), last = first;
    int digits = (int)(end - range);
    if (*end == '-')
        last = strtol(end + 1, &end, 10);
    if (!isdigit((unsigned char)range[0]) || (*end != ',' && *end != ']') || last < first ||
        last - first > MOST_IN_RANGE || digits >= NUMBER_BYTES)
        return weft_fail(MPI_ERR_ARG, "in \"%s\" the brackets want numbers like [1-4,7]",
                         word->name);
    int err = MPI_SUCCESS;
    for (long n = first; n <= last && err == MPI_SUCCESS; n++) {
        char number[NUMBER_BYTES];
        snprintf(number, sizeof(number), "%0*ld", digits, n);
        err = append_numbered(list, word, number, tail);
    }
    return err;
}

/* node[1-2]x becomes node1x and node2x, brackets from left to right. */
static int append_expanded(wl_host_list_t *list, const host_word_t *word)
{
    const char *open = strchr(word->name, '['), *close = strchr(word->name, ']');
    if (open == NULL)
        return append_host(list, word->name, word->slots, word->most);
    if (close == NULL || close < open)
        return weft_fail(MPI_ERR_ARG, "in \"%s\" a bracket is missing", word->name);
    int err = MPI_SUCCESS;
    for (const char *range = open + 1; range <= close && err == MPI_SUCCESS;) {
        err = append_range(list, word, range, close + 1);
        range += strcspn(range, ",]") + 1;
    }
    return err;
}

static int parse_number(const char *text, const char *whole, int *out)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < 1 || value > INT_MAX)
        return weft_fail(MPI_ERR_ARG, "in \"%s\" the number of slots is \"%s\"; it wants 1 or more",
                         whole, text);
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
