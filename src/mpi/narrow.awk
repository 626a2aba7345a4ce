# SPDX-License-Identifier: BSD-3-Clause
# awk -f prototypes.awk -f narrow.awk narrow.by_hand unsupported.list mpi.h *.c: where MPI_X and MPI_X_c
# differ only by the width of integers passed by value, MPI_X calls MPI_X_c. Left out are the names of the two
# lists, functions that the .c files define, and those whose wide form they do not define.
END {
    print "/* Made from mpi.h by narrow.awk. */\n#include \"mpi/api.h\""
    for (i = 1; i <= functions; i++) {
        f = name[i]
        if (((f "_c") in defined) && !(f in defined) && !(("list", f) in listed) && !(("by_hand", f) in listed))
            hand_on(f, split(parameters[f], narrow, ", "), split(parameters[f "_c"], wide, ", "))
    }
}

function hand_on(f, count, wide_count,    i, arguments)
{
    for (i = 1; i <= count; i++) {
        if (count != wide_count || (narrow[i] != wide[i] && !is_widened(narrow[i], wide[i])))
            return
        arguments = arguments (i > 1 ? ", " : "") argument(narrow[i])
    }
    printf "%s\n{\n    return P%s_c(%s);\n}\n", head(f), f, arguments
}

# "int count" and "MPI_Count count": passed by value, and with the same name.
function is_widened(from, to)
{
    sub(/^(int|MPI_Aint) /, "MPI_Count ", from)
    sub(/^MPI_Aint /, "MPI_Count ", to)
    return from == to && from !~ /[*\[]/
}

# The name in a declaration: "const int counts[]" has counts.
function argument(declaration)
{
    sub(/\[\]$/, "", declaration)
    sub(/^.*[ *]/, "", declaration)
    return declaration
}
