/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/model.h"

#include "coll/team/digits.h"
#include "coll/team/local.h"

#include <stdio.h>
#include <string.h>

enum { FABRICS_MAX = 32, NAME_BYTES = 32 };

typedef struct row {
    char name[NAME_BYTES];
    weft_link_cost_t link;
} row_t;

static row_t rows[FABRICS_MAX];
static int row_count;
static double reduce_us_per_byte, copy_us_per_byte;

/* ---- constants ---- */

static row_t *find_fabric(const char *name, size_t length)
{
    for (int i = 0; i < row_count; i++) {
        if (strncmp(rows[i].name, name, length) == 0 && rows[i].name[length] == '\0')
            return &rows[i];
    }
    return NULL;
}

static bool parse_fabric(const char *line)
{
    row_t row;
    double rate;
    char unit = ' ', more[2];
    int fields =
        sscanf(line, "fabric %31s %lf %lf %lf %lf %zu%c %1s", row.name, &row.link.latency_us,
               &row.link.gap_us, &row.link.port_us, &rate, &row.link.eager_bytes, &unit, more);
    if (fields < 6 || fields > 7 || row.link.latency_us <= 0 || row.link.gap_us < 0 ||
        row.link.port_us < 0 || rate <= 0 || strchr(" KM\t", unit) == NULL)
        return false;
    row.link.us_per_byte = 1 / rate;
    row.link.eager_bytes *= unit == 'K' ? 1024 : unit == 'M' ? 1024 * 1024 : 1;
    row_t *place = find_fabric(row.name, strlen(row.name));
    if (place == NULL && row_count == FABRICS_MAX)
        return false;
    *(place != NULL ? place : &rows[row_count++]) = row;
    return true;
}

static bool parse_memory(const char *line)
{
    double reduce, copy;
    char more[2];
    if (sscanf(line, "memory %lf %lf %1s", &reduce, &copy, more) != 2 || reduce <= 0 || copy <= 0)
        return false;
    reduce_us_per_byte = 1 / reduce;
    copy_us_per_byte = 1 / copy;
    return true;
}

bool weft_fabric_parse(const char *line)
{
    line += strspn(line, " \t");
    return parse_fabric(line) || parse_memory(line);
}

void weft_fabrics_close(void)
{
    row_count = 0;
}

static weft_link_cost_t link_of(const char *name)
{
    static const weft_link_cost_t unknown = {10, 1, 0.1, 1e-3, 16384};
    const row_t *row = find_fabric(name, strlen(name));
    if (row == NULL)
        row = find_fabric(name, strcspn(name, ";"));
    if (row == NULL)
        row = find_fabric("net", 3);
    return row != NULL ? row->link : unknown;
}

weft_fabric_t weft_fabric_of(const char *provider)
{
    return (weft_fabric_t){link_of(provider), link_of("shm"), reduce_us_per_byte, copy_us_per_byte};
}

bool weft_fabric_is_known(const char *provider)
{
    return find_fabric(provider, strlen(provider)) != NULL;
}

const char *weft_fabric_name(int index)
{
    return index < row_count ? rows[index].name : NULL;
}

/* ---- formulas ---- */

static double model_larger(double a, double b)
{
    return a > b ? a : b;
}

double weft_round_us(const weft_link_cost_t *link, double others, double bytes)
{
    double asking = bytes > (double)link->eager_bytes ? 2 * link->latency_us : 0;
    double carried = model_larger(link->port_us, bytes * link->us_per_byte);
    return asking + link->latency_us + carried + (others - 1) * model_larger(link->gap_us, carried);
}

double weft_reduce_round_us(const weft_model_t *model, const weft_link_cost_t *link, double others,
                            double bytes)
{
    return weft_round_us(link, others, bytes) + others * bytes * model->fabric.reduce_us_per_byte;
}

double weft_tree_us(const weft_link_cost_t *link, int size, int radix, double bytes)
{
    double sum = 0;
    for (int left = size; left > 1; left = (left + radix - 1) / radix)
        sum += weft_round_us(link, (left < radix ? left : radix) - 1, bytes);
    return sum;
}

double weft_reduce_tree_us(const weft_model_t *model, const weft_link_cost_t *link, int size,
                           double bytes)
{
    double folded = 0;
    for (int left = size; left > 1; left = (left + model->radix - 1) / model->radix)
        folded += (left < model->radix ? left : model->radix) - 1;
    return weft_tree_us(link, size, model->radix, bytes) +
           folded * bytes * model->fabric.reduce_us_per_byte;
}

double weft_blocks_tree_us(const weft_link_cost_t *link, int size, int radix, double bytes)
{
    double sum = 0, branch = size * bytes;
    for (int left = size; left > 1; left = (left + radix - 1) / radix) {
        int others = (left < radix ? left : radix) - 1;
        branch /= others + 1;
        sum += weft_round_us(link, others, branch);
    }
    return sum;
}

double weft_bruck_us(const weft_link_cost_t *link, int size, int radix, double bytes)
{
    double sum = 0;
    for (double have = 1; have < size; have *= radix) {
        double others = size / have < radix ? size / have : radix;
        sum += weft_round_us(link, others - 1 > 1 ? others - 1 : 1,
                             (have < size - have ? have : size - have) * bytes);
    }
    return sum;
}

double weft_through_root_us(const weft_model_t *model)
{
    const weft_link_cost_t *net = &model->fabric.net;
    return weft_reduce_round_us(model, net, model->ranks - 1, model->bytes) +
           weft_round_us(net, model->ranks - 1, model->bytes);
}

double weft_multiplying_us(const weft_model_t *model, const weft_link_cost_t *link, int size,
                           double bytes)
{
    weft_digits_t digits = weft_digits_of(size, model->radix);
    double sum = 0;
    if (digits.pairs > 0)
        sum = weft_reduce_round_us(model, link, 1, bytes) + weft_round_us(link, 1, bytes);
    for (int i = 0; i < digits.rounds; i++)
        sum += weft_reduce_round_us(model, link, digits.factor[i] - 1, bytes);
    return sum;
}

double weft_halving_us(const weft_model_t *model, const weft_link_cost_t *link, int size,
                       double bytes)
{
    weft_digits_t digits = weft_digits_of(size, model->radix);
    double sum = 0, share = bytes;
    if (digits.pairs > 0)
        sum = weft_reduce_round_us(model, link, 1, bytes) + weft_round_us(link, 1, bytes);
    for (int i = 0; i < digits.rounds; i++) {
        share /= digits.factor[i];
        sum += weft_reduce_round_us(model, link, digits.factor[i] - 1, share) +
               weft_round_us(link, digits.factor[i] - 1, share);
    }
    return sum;
}

/* Where ranks are in the order of nodes, data that go around the ring cross between nodes only as
 * often as there are nodes. The ranks at the crossings are busy in every round; for long messages a
 * rendezvous takes the whole time of a crossing. */
double weft_ring_us(const weft_model_t *model, double bytes, bool reduces)
{
    weft_link_cost_t net = weft_shared(model->fabric.net, model->is_consecutive ? 1 : model->most);
    double folded = reduces ? bytes * model->fabric.reduce_us_per_byte : 0;
    double crossing = weft_round_us(&net, 1, bytes) + folded;
    double inside = weft_round_us(&model->fabric.node, 1, bytes) + folded;
    double carried =
        model_larger(net.gap_us, model_larger(net.port_us, bytes * net.us_per_byte)) + folded;
    double busy = bytes > (double)net.eager_bytes ? crossing : carried;
    if (!model->is_consecutive || model->most == 1)
        return (model->ranks - 1) * crossing;
    int hops = model->ranks - 1 - model->nodes;
    return model_larger(model->nodes * crossing + (hops > 0 ? hops : 0) * inside,
                        (model->ranks - 1) * busy);
}

weft_link_cost_t weft_shared(weft_link_cost_t link, int sharers)
{
    link.us_per_byte *= sharers;
    link.port_us *= sharers;
    return link;
}

/* All receivers copy at the same time. The model assumes that there are enough cores, as it must
 * give the same result on all ranks. */
double weft_node_tree_us(const weft_model_t *model, double bytes)
{
    const weft_link_cost_t *node = &model->fabric.node;
    int radix = weft_local_radix(model->most, bytes, false);
    double rounds = weft_digits_rounds(model->most, radix);
    return rounds * (weft_round_us(node, 1, bytes) + (radix - 2) * node->gap_us);
}

double weft_node_reduce_us(const weft_model_t *model, double bytes)
{
    int radix = weft_local_radix(model->most, 0, false);
    double folded = (double)(radix - 1) * weft_digits_rounds(model->most, radix) * bytes;
    return weft_tree_us(&model->fabric.node, model->most, radix, bytes) +
           folded * model->fabric.reduce_us_per_byte;
}

double weft_node_parts_us(const weft_model_t *model, double part_bytes)
{
    return model->most == 1 ? 0 : weft_round_us(&model->fabric.node, model->most - 1, part_bytes);
}

int weft_multiplying_messages(const weft_model_t *model, int size)
{
    weft_digits_t digits = weft_digits_of(size, model->radix);
    int sum = digits.pairs > 0;
    for (int i = 0; i < digits.rounds; i++)
        sum += digits.factor[i] - 1;
    return sum;
}

double weft_busy_us(const weft_model_t *model, double messages, double bytes)
{
    const weft_link_cost_t *net = &model->fabric.net;
    double gaps = messages * model_larger(net->gap_us, model->least * net->port_us);
    return model_larger(gaps, bytes * net->us_per_byte);
}

double weft_pipeline_us(double fill_us, double step_us, double pieces)
{
    return fill_us + (pieces - 1) * step_us;
}
