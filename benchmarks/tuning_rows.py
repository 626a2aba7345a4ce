# SPDX-License-Identifier: BSD-3-Clause
"""From measured times of algorithms to rows of a tuning table (src/coll/tuning.conf has the format)."""
import collections
import statistics

BUILT_IN = "built-in"
LEAST_GAIN = 0.9    # a row is worth its place if it takes at most so much of the built-in table's time
LEAST_HELD = 0.95   # and so much when all rows are in one table

# What the table's bytes column says for them: 0 whatever the sizes, since no rank knows those of all others.
WITHOUT_BYTES = ("barrier", "gatherv", "scatterv", "alltoallv", "alltoallw")

# What was measured: the rows are for this collective, on communicators of these ranks.
# times: algorithm, with its options, or BUILT_IN -> bytes -> one time for each round
Cell = collections.namedtuple("Cell", "coll where ranks times")

# bytes: what the rows are for, from and below; None: no bound
Row = collections.namedtuple("Row", "coll where ranks low high algorithm ratio")


def is_wall(algorithm):
    """Such algorithms are for blocking calls of one host; other calls pass their rows by."""
    return algorithm.startswith("wall")


def ratio(times, algorithm, sizes):
    """The worst of these sizes: median over the rounds of its time over the built-in table's in the
    same round. Infinity: it was not measured in all rounds, or was slower in more than one of
    five."""
    return max(ratio_of_rounds(times[algorithm].get(bytes, []), times[BUILT_IN][bytes]) for bytes in sizes)


def ratio_of_rounds(own, built_in):
    ratios = [mine / other for mine, other in zip(own, built_in)]
    is_doubtful = len(own) < len(built_in) or sum(r >= 1 for r in ratios) > len(ratios) // 5
    return float("inf") if is_doubtful else statistics.median(ratios)


def best(times, sizes):
    """(ratio, algorithm), or None if nothing is clearly faster than the built-in table."""
    found = min(((ratio(times, algorithm, sizes), algorithm) for algorithm in times if algorithm != BUILT_IN), default=None)
    return found if found and found[0] <= LEAST_GAIN else None


def middle(low, high):
    """The power of two in the middle of two sizes."""
    return 1 << round(((low or 1).bit_length() + high.bit_length() - 2) / 2)


def spans(sizes):
    """bytes -> what a row is for that was measured there: from and below."""
    bounds = [None] + [middle(a, b) for a, b in zip(sizes, sizes[1:])] + [None]
    return {bytes: (bounds[i], bounds[i + 1]) for i, bytes in enumerate(sizes)}


def merged(rows):
    """Neighbours with one algorithm become one row; its ratio is the worst of theirs."""
    out = []
    for row in rows:
        last = out[-1] if out else None
        if last and (last.algorithm, last.high) == (row.algorithm, row.low):
            out[-1] = last._replace(high=row.high, ratio=max(last.ratio, row.ratio))
        else:
            out.append(row)
    return out


def groups(coll, sizes):
    """Which sizes can have a row of their own."""
    return [sizes] if coll in WITHOUT_BYTES else [[bytes] for bytes in sizes]


def rows_of(cell):
    """The rows by which this cell is faster than by the built-in table."""
    sizes = sorted(cell.times[BUILT_IN])
    span, rows = spans(sizes), []
    for group in groups(cell.coll, sizes):
        found = best(cell.times, group)
        if found:
            rows.append(Row(cell.coll, cell.where, cell.ranks, span[group[0]][0], span[group[-1]][1], found[1], found[0]))
    return merged(rows)


def held(row, times):
    """The row with the ratio that it has in a table with all other rows ("new"); None if it is
    slower there than it must be."""
    sizes = [b for b in times[BUILT_IN] if (row.low is None or b >= row.low) and (row.high is None or b < row.high)]
    found = ratio(times, "new", sizes)
    return row._replace(ratio=found) if found <= LEAST_HELD else None


def range_word(least, most):
    if least is None:
        return "any" if most is None else f"<={most}"
    return f">={least}" if most is None else f"{least}..{most}"


def rank_words(numbers):
    """Measured number of ranks -> the ranks column: as far as the middles to its neighbours."""
    numbers = sorted(numbers)
    most = [(a + b) // 2 for a, b in zip(numbers, numbers[1:])]
    least = [None] + [n + 1 for n in most]
    return {n: range_word(*bounds) for n, *bounds in zip(numbers, least, [*most, None])}


def size_word(bytes):
    for unit, letter in ((1 << 20, "M"), (1 << 10, "K")):
        if bytes >= unit and bytes % unit == 0:
            return f"{bytes // unit}{letter}"
    return str(bytes)


def bytes_word(row):
    if row.low is None:
        return "any" if row.high is None else f"<{size_word(row.high)}"
    return f">={size_word(row.low)}" if row.high is None else f"{size_word(row.low)}..{size_word(row.high)}"


def line_of(row, ranks_word):
    """A line of the table."""
    return (f"{row.coll:<22} {row.where:<7} {ranks_word:<6} {bytes_word(row):<9} {row.algorithm}"
            f"    # {row.ratio:.2f} of the built-in table's time")
