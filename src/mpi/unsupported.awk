# SPDX-License-Identifier: BSD-3-Clause
# awk -f prototypes.awk -f unsupported.awk unsupported.list mpi.h: a function for each name of the list.
END {
    print "/* Made from unsupported.list and mpi.h by unsupported.awk. */"
    print "#include \"mpi/api.h\"\n#include \"mpi/unsupported.h\"\n"
    print "#pragma GCC diagnostic ignored \"-Wunused-parameter\""
    for (i = 1; i <= functions; i++) {
        f = name[i]
        if (!(("list", f) in listed))
            continue
        if (returns[f] != "int")
            fail("unsupported.list: " f " returns no error code")
        print head(f) "\n{"
        print "    return " answer(f) ";\n}"
        delete listed["list", f]
    }
    for (key in listed)
        fail("unsupported.list: mpi.h has no " substr(key, 6))
}

# What is made of sessions works without MPI_Init (MPI 5.0, 11.3).
function answer(f)
{
    if (f !~ /_create_from_groups$/)
        return "weft_unsupported(\"" f "\")"
    if (parameters[f] ~ /MPI_Errhandler errhandler/ && f !~ /_[gs]et_errhandler$/)
        return "weft_unsupported_for(errhandler, \"" f "\")"
    return "weft_unsupported_anytime(\"" f "\")"
}

function fail(text)
{
    print text > "/dev/stderr"
    exit 1
}
