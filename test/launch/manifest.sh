#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpirun --manifest and --rerun: what is recorded, however a job ends, and which differences are named.
. "$(dirname "$0")/setup.sh"
reader="python3 $SOURCE/test/launch/manifest_reader.py"
if "$MPIRUN" --manifest there.json -n 1 true 2>&1 | grep -q 'this build of Weft has no manifests'; then
    expect 2 "$MPIRUN" --rerun there.json
    expect_text err 'this build of Weft has no manifests'
    echo "this build has no JSON library"
    [ $failures -eq 0 ] || exit 1
    exit 77
fi

check() {
    $reader "$@" >out 2>&1 || fail "$(cat out)"
}

# A Python script, with secrets that are not recorded.
echo 'import os; print(os.environ["RANK"], os.environ.get("WEFT_EAGER_MAX"))' >show.py
export WEFT_EAGER_MAX=8K WEFT_JOB_TOKEN=whisper1
expect 0 "$MPIRUN" --manifest run.json -x MY_SECRET=whisper2 -genv API_KEY whisper3 -n 3 show.py
check run.json 'schema="weft-manifest 1"' 'exit_code=0' 'end=*' 'restarts=0' 'plan.ranks=3' 'plan.hosts.0.ranks=[0,1,2]' \
    'hosts.0.kernel=*' 'hosts.0.memory_bytes=*' 'environment.WEFT_EAGER_MAX="8K"' 'environment.PATH=*' 'weft.weft.version=*' \
    'weft.build.commit=*' 'weft.build.pmix=*' 'weft.build.libfabric=*' 'weft.build.hwloc=*' \
    'arguments=["-x","MY_SECRET","-genv","API_KEY","","-n","3","show.py"]' 'programs.0.script.path="show.py"' 'programs.0.program.sha256=*' \
    'python.version=*' 'python.packages=*' 'ranks.2={"rank":2,"exit_code":0,"signal":null,"is_lost":false}' "directory=\"$work\""
grep -q whisper run.json && fail "a secret is recorded: $(grep whisper run.json)"

# The same again, from elsewhere: nothing differs but the directory.
expect 0 sh -c "cd / && exec '$MPIRUN' --rerun '$work/run.json'"
[ "$(sort out | tr '\n' ',')" = '0 8K,1 8K,2 8K,' ] || fail "the rerun prints $(cat out)"
[ "$(cat err)" = "mpirun: rerun: in the directory $work" ] || fail "differences without a reason: $(cat err)"

# Differences: a changed variable, a new one, a changed script, an option given now, which is obeyed.
echo '# changed' >>show.py
WEFT_EAGER_MAX=4K WEFT_SPIN=3 expect 0 "$MPIRUN" --rerun run.json -n 2 --manifest=again.json
[ "$(sort out | tr '\n' ',')" = '0 8K,1 8K,' ] || fail "the rerun prints $(cat out)"
expect_text err '^mpirun: rerun: options given now: -n 2 --manifest=again.json$'
expect_text err '^mpirun: rerun: environment WEFT_EAGER_MAX (taken as then): then 8K, now 4K$'
expect_text err '^mpirun: rerun: environment WEFT_SPIN (taken as then): then nothing, now 3$'
expect_text err '^mpirun: rerun: programs script sha256: then [0-9a-f]*, now [0-9a-f]*$'
expect_text err '^mpirun: rerun: plan ranks: then 3, now 2$'
check again.json 'plan.ranks=2' 'environment.WEFT_EAGER_MAX="8K"' 'environment.WEFT_SPIN=-'
python3 -c 'import json
j = json.load(open("run.json"))
j["hosts"][0]["processor"] = "Abacus 1"
j["weft"]["weft"]["version"] = "0.0.1"
json.dump(j, open("old.json", "w"))'
expect 0 "$MPIRUN" --rerun old.json
expect_text err '^mpirun: rerun: processor: then Abacus 1, now '
expect_text err '^mpirun: rerun: weft weft version: then 0.0.1, now '

# Jobs that fail, lose ranks, are started again, or are killed.
expect 3 "$MPIRUN" --manifest fails.json -n 3 sh -c '[ $RANK -ne 1 ] || exit 3; exec sleep 60'
check fails.json 'exit_code=3' 'ranks.1.exit_code=3' 'end=*' 'python=-'
expect 137 "$MPIRUN" --manifest dies.json -n 2 sh -c 'kill -9 $$'
check dies.json 'exit_code=137' 'end=*'
expect 0 "$MPIRUN" --enable-recovery --manifest loses.json -n 3 sh -c '[ $RANK -ne 1 ] || kill -9 $$'
check loses.json 'exit_code=0' 'ranks.1={"rank":1,"exit_code":137,"signal":9,"is_lost":true}' 'ranks.0.is_lost=false' 'plan.recovery=true'
expect 0 "$MPIRUN" --max-restarts 2 --manifest again.json -n 2 sh -c '[ $TORCHELASTIC_RESTART_COUNT -eq 1 ]'
check again.json 'exit_code=0' 'restarts=1' 'ranks.1.exit_code=0'
expect 127 "$MPIRUN" --manifest none.json -n 2 ./nothing
"$MPIRUN" --manifest killed.json -n 2 sleep "$nap" 2>/dev/null &
mpirun=$!
until_true has_naps 2
check killed.json 'exit_code=-' 'end=-' 'start=*' 'plan.ranks=2'
kill -KILL $mpirun
wait $mpirun 2>/dev/null
check killed.json 'exit_code=-' 'end=-'
[ "$(ls *.json.* 2>/dev/null)" = "" ] || fail "temporary files are left: $(ls)"

# A program that never answers is named, and the job is run all the same.
mkdir slow
cat >slow/python-asleep <<EOF
#!/bin/sh
[ "\$1" != -c ] || exec sleep $nap
EOF
chmod +x slow/python-asleep
expect 0 env WEFT_TIMEOUT=1 "$MPIRUN" --manifest slow.json -n 2 slow/python-asleep
expect_text err '^mpirun: note: slow/python-asleep has not answered within 1 s (WEFT_TIMEOUT); its part of the manifest is null$'
check slow.json exit_code=0 python=- 'programs.0.arguments=["slow/python-asleep"]'

# Of a repository its commit, and whether it is changed.
mkdir repository
(cd repository && git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && echo 1 >file && git add file) 2>/dev/null
if [ -d repository/.git ]; then
    (cd repository && "$MPIRUN" --manifest ../git.json -n 1 true) || fail "a job in a repository fails"
    check git.json 'git.is_dirty=true' "git.commit=\"$(git -C repository rev-parse HEAD)\""
fi
check fails.json git=-

# What cannot be written or read is said before a rank starts.
expect 1 "$MPIRUN" --manifest nowhere/run.json -n 2 touch started
expect_text err '^mpirun: the manifest nowhere/run.json cannot be written: No such file or directory$'
[ ! -e started ] || fail "ranks are started without a manifest"
expect 2 "$MPIRUN" --rerun nothing.json
expect_text err '^mpirun: --rerun nothing.json: '
echo '{"schema": "other"}' >other.json
expect 2 "$MPIRUN" --rerun other.json
expect_text err 'this is no manifest of mpirun'
echo 'no json' >other.json
expect 2 "$MPIRUN" --rerun other.json
expect_text err 'this is no manifest of mpirun'
expect 2 "$MPIRUN" --rerun run.json true
expect_text err 'takes the program from the manifest; "true" is not expected'
expect 2 "$MPIRUN" --rerun
expect 2 "$MPIRUN" --manifest '' true
finish
