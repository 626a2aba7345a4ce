#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# tools/get_nvcc with a pip that downloads nothing: it brings nvcc once, and what is not complete counts as nothing.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "$1"
    exit 1
}

# A python3 whose pip writes an nvcc below the folder after --target, counts its calls and, if told so, fails in the end.
mkdir "$folder/bin"
cat > "$folder/bin/python3" <<'END'
#!/bin/sh
echo call >> "$CALLS"
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/nvidia/cu13/bin"
printf '#!/bin/sh\n' > "$2/nvidia/cu13/bin/nvcc"
chmod +x "$2/nvidia/cu13/bin/nvcc"
[ ! -e "$CALLS.fail" ] || { echo "ERROR: no such wheel"; exit 1; }
END
chmod +x "$folder/bin/python3"
CALLS=$folder/calls
export CALLS

bring() {
    PATH="$folder/bin:$PATH" "$SOURCE/tools/get_nvcc" "$folder/cuda" 2> "$folder/said"
}

: > "$CALLS.fail"
if out=$(bring); then fail "get_nvcc succeeds although pip fails, and prints '$out'"; fi
[ -z "$out" ] || fail "get_nvcc prints '$out' although pip fails"
[ ! -e "$folder/cuda" ] || fail "what a failed pip left is taken for nvcc"
grep -q "no kernels" "$folder/said" || fail "get_nvcc does not say what its failure means: $(cat "$folder/said")"
grep -q "no such wheel" "$folder/cuda.log" || fail "cuda.log does not say why pip failed"

rm "$CALLS.fail"
for call in first second; do
    out=$(bring) || fail "the $call call fails: $(cat "$folder/said")"
    [ "$out" = "$folder/cuda/nvidia/cu13/bin/nvcc" ] || fail "the $call call prints '$out'"
    [ -x "$out" ] || fail "the $call call names $out, which cannot be executed"
done
[ ! -s "$folder/said" ] || fail "the second call says: $(cat "$folder/said")"
calls=$(wc -l < "$CALLS")
[ "$calls" = 2 ] || fail "pip was called $calls times, where 2 were expected: one that fails, one that succeeds"
[ ! -e "$folder/cuda.log" ] || fail "cuda.log stays although pip succeeded"
