#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Connects to the ports on which the ranks of a job listen, and sends invalid data while it runs.

strangers.py NAME COMMAND WORD... starts the job; processes of this name on this host are its ranks.
"""
import glob
import os
import random
import socket
import struct
import subprocess
import sys
import time

HELLO_BYTES = 24                        # src/base/handshake.h
INTRODUCTION = struct.Struct("<II40s")  # the name in a reply: source, dest, host
NONCE_AND_PROOF_BYTES = 32
CONNECTIONS = 400


def sockets_of(name):
    """The inodes of the sockets of all processes of this name."""
    for process in glob.glob("/proc/[0-9]*"):
        try:
            with open(f"{process}/comm") as comm:
                if comm.read().strip() != name:
                    continue
            for entry in os.listdir(f"{process}/fd"):
                yield os.readlink(f"{process}/fd/{entry}")
        except OSError:
            pass    # the process has ended


def listening(name):
    """The ports on which processes of this name listen, at all addresses of this host."""
    inodes, found = set(sockets_of(name)), set()
    with open("/proc/net/tcp") as table:
        for line in table.readlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in inodes:
                found.add(int(words[1].split(":")[1], 16))
    return found


def nonsense(dice):
    """Any bytes, or a reply that is right but for the proof, or a damaged one."""
    kind = dice.randrange(5)
    if kind == 0:
        return dice.randbytes(dice.randrange(200))
    reply = INTRODUCTION.pack(dice.choice((0, 1, 2, 7, 1 << 31)), dice.choice((0, 1, 2, 9)),
                              dice.randbytes(40)) + dice.randbytes(NONCE_AND_PROOF_BYTES)
    if kind == 1:
        return reply[:dice.randrange(len(reply))]
    if kind == 2:
        return reply
    return reply + dice.randbytes(dice.randrange(3000))


def visit(dice, port, open_ones):
    stranger = socket.socket()
    stranger.settimeout(2)
    try:
        stranger.connect(("127.0.0.1", port))
        if dice.randrange(2):
            stranger.settimeout(0.05)   # the rank may be computing
            stranger.recv(HELLO_BYTES, socket.MSG_WAITALL)
        stranger.sendall(nonsense(dice))
    except OSError:
        pass    # the rank closed the connection, or has ended
    if dice.randrange(2):
        open_ones.append(stranger)
    else:
        stranger.close()


def main():
    dice, open_ones, visits = random.Random(3), [], 0
    job = subprocess.Popen(sys.argv[2:])
    while job.poll() is None:
        ports = sorted(listening(sys.argv[1])) if visits < CONNECTIONS else []
        for port in ports * 20:
            visit(dice, port, open_ones)
            visits += 1
        if not ports:
            time.sleep(0.01)
    print(f"{visits} visits")
    return job.returncode


sys.exit(main())
