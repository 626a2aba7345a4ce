#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Hosts with the longest names that Linux allows, and with numbers that fit no int.
. "$(dirname "$0")/setup.sh"
build_pmi_rank
ten=abcdefghij
long=$ten$ten$ten$ten$ten${ten}zzz # 63 letters, the most of a label of the DNS

# In a namespace of its own a host can be called anything; `agent` starts daemons in such.
cat >named <<'EOF'
#!/bin/sh
exec unshare --user --map-root-user --uts sh -c 'hostname "$0" && shift && eval "exec $*"' "$@"
EOF
cat >agent <<'EOF'
#!/bin/sh
exec "$(dirname "$0")/named" "$1" -- "$2"
EOF
chmod +x named agent
./named $long -- true 2>err || {
    echo "no namespaces: $(head -n 1 err)"
    exit 77
}

for name in $long 1$long ${ten}123456789012345678901234567890$ten ${ten}-$ten$ten$ten$ten${ten}7 z$long; do
    expect 0 ./named $name -- "'$MPIRUN' -n 3 ./pmi_rank open board nodes say close"
    [ "$(grep -c 'of 3, local . of 3' out)" -eq 3 ] || fail "$name: $(cat out)"
    expect 3 ./named $name -- "'$MPIRUN' -n 3 sh -c 'exit 3'"
    expect_text err "rank [0-2] (process [0-9]* on $name) exited with code 3"
done

# Names that differ in their last letters only
hosts=${long}1,${long}2,${ten}99999999999,${ten}99999999998
expect 0 timeout 50 "$MPIRUN" --launch-agent ./agent -host $hosts -n 8 --map-by ppr:2:node ./pmi_rank open board nodes say close
[ "$(grep -c 'of 8, local . of 2' out)" -eq 8 ] || fail "several: $(cat out)"
expect 0 timeout 50 "$MPIRUN" --launch-agent ./agent -host $hosts -n 4 sh -c 'echo $RANK $PMIX_HOSTNAME $(hostname)'
rank=0
for name in $(echo $hosts | tr , ' '); do
    expect_text out "^$rank $name $name$"
    rank=$((rank + 1))
done
finish
