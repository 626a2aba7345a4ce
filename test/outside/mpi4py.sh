#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpi4py, built from its unmodified source distribution with Weft's mpicc, passes its own tests over
# Weft. The wheel is kept: it uses the standard ABI, so it does not depend on changes of Weft.
. "$(dirname "$0")/wheels.sh"
version=4.1.2 numpy_version=2.2.6
place=$cache/weft-tests/mpi4py-$version-ulfm-numpy-$numpy_version-$(python3 -c 'import sys; print(sys.implementation.cache_tag)') ||
    skip "python3 is missing"

# Modules of chapters that are missing in Weft. A pattern of this list must not hide a chapter that
# exists.
modules_left_out='
test_rma|test_win|util_sync     one-sided communication
test_file|test_io               files
test_spawn|test_dynproc         new processes
test_util_pool                  new processes
test_subclass                   begins by opening a file
'
# Tests of those chapters inside other modules, and one that contradicts the standard
tests_left_out='
*TestExcSession.testCreateGroup MPI_GROUP_NULL, not an error, for a process set that does not exist (7.3.2)
*ErrhandlerFile*                files
*testSafeFreeCreated            files
*TestMessageRMA*                one-sided communication
'

# options LETTER LIST: prints "-LETTER" in front of the first word of each line
options() {
    echo "$2" | sed -n "s/^\([^ ][^ ]*\) .*/-$1\n\1/p"
}

download() {
    environment "$place"
    "$place/bin/pip" install -q "numpy==$numpy_version" >"$work/log" 2>&1 ||
        skip "pip cannot install NumPy: $(tail -n 1 "$work/log")"
    "$place/bin/pip" download -q --no-deps --no-binary :all: -d "$place" "mpi4py==$version" >"$work/log" 2>&1 ||
        skip "pip cannot download mpi4py: $(tail -n 1 "$work/log")"
    tar -xzf "$place/mpi4py-$version.tar.gz" -C "$place"
}

# mpi4py is one file of 10 MB of C: -O0 takes a minute, -O2 three, and the tests spend little time
# in it.
# It looks for the functions of fault tolerance only where it knows the library, so it is told of Weft's.
build_wheel() {
    flags='-O0 -include mpix.h'
    for name in ERR_REVOKED ERR_PROC_FAILED ERR_PROC_FAILED_PENDING Comm_revoke Comm_is_revoked Comm_get_failed \
        Comm_ack_failed Comm_agree Comm_iagree Comm_shrink Comm_ishrink; do
        flags="$flags -DPyMPI_HAVE_MPIX_$name=1"
    done
    CFLAGS=$flags MPICC=$MPICC "$place/bin/pip" wheel -q --no-deps -w "$place" "$place/mpi4py-$version.tar.gz" \
        >"$work/log" 2>&1 || fail "mpi4py cannot be built: $(tail -n 20 "$work/log")"
}

install_wheel() {
    [ -d "$place/mpi4py-$version/test" ] || download
    [ -e "$place"/mpi4py-*.whl ] || build_wheel
    "$place/bin/pip" install -q --no-deps "$place"/mpi4py-*.whl || fail "the wheel cannot be installed"
    touch "$place/complete"
}

# judge RANKS OPTION...: run mpi4py's tests; the log names each test with its rank
judge() {
    ranks=$1
    shift
    (
        IFS='
'
        set -f
        exec timeout 900 "$MPIRUN" -l -n "$ranks" "$place/bin/python" "$place/mpi4py-$version/test/main.py" -v \
            $(options e "$modules_left_out") $(options x "$tests_left_out") "$@"
    ) || fail "mpi4py's tests on $ranks ranks: exit code $?"
}

# The tests that send arrays, these on devices of the simulated driver, too
judge_on_devices() {
    for module in test_cco_.*buf test_cco_.*vec test_p2p_buf test_msgspec test_pack; do
        set -- "$@" -i "$module"
    done
    LD_LIBRARY_PATH=$BUILD/simcuda:$LD_LIBRARY_PATH
    PYTHONPATH=$SOURCE/test/outside/device_arrays
    export LD_LIBRARY_PATH PYTHONPATH
    SIMCUDA='late=1' judge 2 --cupy "$@"
    SIMCUDA='devices=2;late=0' judge 3 --cupy -i test_cco_vec -i test_cco_ngh_buf -i test_p2p_buf_part
}

need_plain_build
mkdir -p "$place"
exec 9>"$place/lock"
flock 9
[ -e "$place/complete" ] || install_wheel
exec 9>&-
[ "${MPI4PY_ON-}" != nowhere ] || exit 0
LD_LIBRARY_PATH=$BUILD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
PYTHONDONTWRITEBYTECODE=1
export LD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE
"$MPIRUN" -n 1 "$place/bin/python" -c '
from mpi4py import MPI
assert MPI.Get_abi_version() == (1, 0), MPI.Get_abi_version()
assert MPI.Get_library_version().startswith("Weft "), MPI.Get_library_version()
' || fail "mpi4py does not run over this build"
if [ "${MPI4PY_ON-}" = devices ]; then
    judge_on_devices
    exit
fi
# Datatypes do not depend on the number of ranks, and mpi4py's tests of them take a quarter of a
# minute. Arrays of NumPy as well make the tests take twice as long. One number of ranks is enough
# on several hosts.
if [ "${MPI4PY_ON-}" = hosts ]; then
    judge 3 --no-numpy -e test_datatype
    exit
fi
judge 1
judge 2 -e test_datatype
judge 5 --no-numpy -e test_datatype
