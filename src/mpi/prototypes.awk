# SPDX-License-Identifier: BSD-3-Clause
# Reads the MPI_ half of mpi.h: name[1..functions], returns[name], parameters[name] ("int count, ..."),
# and from the other files which functions they define (defined[name], by WEFT_API) and which names they
# list (listed["list" or "by_hand", name], for files that end in .list or .by_hand).
FILENAME ~ /mpi\.h$/ && (text != "" || /^[A-Za-z_]+ MPI_[A-Za-z0-9_]+\(/) {
    sub(/^ +/, "")
    text = text (text == "" ? "" : " ") $0
    if (text ~ /;$/) {
        add_prototype(text)
        text = ""
    }
}
FILENAME ~ /\.(list|by_hand)$/ && /^MPI_/ { listed[FILENAME ~ /\.list$/ ? "list" : "by_hand", $1] = 1 }
FILENAME ~ /\.c$/ && /^WEFT_API\(/ { defined[substr($0, 10, index($0, ")") - 10)] = 1 }

function add_prototype(text,    open, words)
{
    open = index(text, "(")
    split(substr(text, 1, open - 1), words, " ")
    name[++functions] = words[2]
    returns[words[2]] = words[1]
    parameters[words[2]] = substr(text, open + 1, length(text) - open - 2)
}

# The head of the function's definition, and its weak second name.
function head(function_name)
{
    return sprintf("\nWEFT_API(%s);\n%s P%s(%s)", function_name, returns[function_name],
                   function_name, parameters[function_name])
}
