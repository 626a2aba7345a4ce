# SPDX-License-Identifier: BSD-3-Clause
# Read by the tests of mpirun --mps behind setup.sh: a program that stands for nvidia-cuda-mps-control.
# It adds a line to the file calls each time that it is called, and fails as the file how says. Its daemon
# is a process of this test, which is found by $nap.
[ ! -e /tmp/nvidia-mps ] || {
    echo "MPS runs on this machine"
    exit 77
}
unset CUDA_MPS_PIPE_DIRECTORY CUDA_VISIBLE_DEVICES CUDA_DEVICE_MAX_CONNECTIONS WEFT_MPS
mkdir bin
cat >bin/nvidia-cuda-mps-control <<EOT
#!/bin/sh
[ "\$1" != serve ] || {
    sleep $nap
    exit
}
how=\$(cat $work/how)
pid_file=\$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid
folder="\$(stat -c %a "\$CUDA_MPS_PIPE_DIRECTORY") \$CUDA_MPS_PIPE_DIRECTORY \$CUDA_MPS_LOG_DIRECTORY"
if [ "\$1" = -d ]; then
    echo "start \$(hostname) \$folder devices:\$CUDA_VISIBLE_DEVICES" >>$work/calls
    case \$how in
    start-fails) echo "no licence"; echo "nor anything else"; exit 1 ;;
    start-hangs) exec sleep $nap ;;
    esac
    setsid "\$0" serve &
    echo \$! >"\$pid_file"
else
    read said
    echo "end \$(hostname) \$folder \$said" >>$work/calls
    [ "\$how" != quit-hangs ] || exec sleep $nap
    kill -- -"\$(cat "\$pid_file")"
fi
EOT
chmod +x bin/nvidia-cuda-mps-control
PATH=$work/bin:$PATH
echo well >how
