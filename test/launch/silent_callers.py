#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Holds silent connections to a port: silent_callers.py COUNT PORT ADDRESS...

Takes the first address that answers, prints "there" when all connections have been tried, and stays
until it is killed.
"""
import signal
import socket
import sys


def reachable(port, addresses):
    for address in addresses:
        try:
            socket.create_connection((address, port), timeout=2).close()
            return address
        except OSError:
            pass
    sys.exit(f"nothing answers at port {port} of {addresses}")


def main():
    count, port = int(sys.argv[1]), int(sys.argv[2])
    address, held = reachable(port, sys.argv[3:]), []
    for _ in range(count):
        try:
            held.append(socket.create_connection((address, port), timeout=5))
        except OSError:
            pass    # mpirun may refuse
    print("there", flush=True)
    signal.pause()


main()
