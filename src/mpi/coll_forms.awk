# SPDX-License-Identifier: BSD-3-Clause
# awk -f coll_forms.awk api_*.c: for each blocking collective, a function whose body is one call of
# weft_coll_enter(), its nonblocking and its persistent form; for each enqueued one the form with a request. They have
# the same arguments and some more.
BEGIN { print "/* Made from the blocking functions by coll_forms.awk. */\n#include \"mpi/api.h\"\n\n#include \"mpi/coll_call.h\"" }

/^WEFT_API\(MPIX?_/ {
    name = substr($0, 10, index($0, ")") - 10)
    text = ""
    next
}
name != "" { text = text $0 "\n" }
name != "" && /^[}]/ {
    if (text ~ /[.]form = WEFT_ENQUEUED/) {
        sub(/WEFT_ENQUEUED/, "WEFT_ENQUEUED_BEGUN", text)
        form(nonblocking(name), "MPI_Request *request", ".request = request")
    } else if (text ~ /return weft_coll_enter\(/) {
        form(nonblocking(name), "MPI_Request *request", ".form = WEFT_NONBLOCKING, .request = request")
        form(persistent(name), "MPI_Info info, MPI_Request *request",
             ".form = WEFT_PERSISTENT, .info = info, .request = request")
    }
    name = ""
}

# MPI_Bcast_c: MPI_Ibcast_c and MPI_Bcast_init_c; MPIX_Bcast_enqueue: MPIX_Ibcast_enqueue.
function nonblocking(name,    first)
{
    first = index(name, "_") + 1
    return substr(name, 1, first - 1) "I" tolower(substr(name, first, 1)) substr(name, first + 1)
}

function persistent(name)
{
    return name ~ /_c$/ ? substr(name, 1, length(name) - 2) "_init_c" : name "_init"
}

function form(its, parameters, members,    new, spoken)
{
    new = text
    spoken = its
    sub(/_c$/, "", spoken)
    sub("PMPIX?_[A-Za-z_]+\\(", "P" its "(", new)
    sub(/\)\n[{]/, ", " parameters ")\n{", new)
    sub(/\.name = "[A-Za-z_]+"/, ".name = \"" spoken "\"", new)
    sub(/[}],[ \n]+settle_/, ", " members "}, weft_settle_", new)
    printf "\nWEFT_API(%s);\n%s", its, new
}
