#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Strangers at the port of rank 0: hub_strangers.py PORT.

Some send nonsense, some a whole reply with a wrong proof, some a frame as only a rank may send it, some hang up at once, and many say
nothing. Prints "there" when all have connected, and stays until it is killed.
"""
import os
import random
import signal
import socket
import struct
import sys
import time


def connect(port):
    for _ in range(1000):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=5)
        except OSError:
            time.sleep(0.02)    # rank 0 has not started
    sys.exit(f"nothing answers at port {port}")


def reply_of(rank):
    return struct.pack("<III", rank, 3, 1).ljust(48, b"\0") + os.urandom(32)


def main():
    port, held, random_bytes = int(sys.argv[1]), [], random.Random(7)
    texts = [b"GET / HTTP/1.1\r\n\r\n", random_bytes.randbytes(80), random_bytes.randbytes(100000), reply_of(1), reply_of(0), reply_of(99),
             struct.pack("<IIII", 11, 3, 0, 0), struct.pack("<IIII", 4, 0, 1 << 31, 1 << 31) * 8, reply_of(1)[:50]]
    for text in texts:
        stranger = connect(port)
        try:
            stranger.sendall(text)
        except OSError:
            pass                # it has been turned away
        held.append(stranger)
        connect(port).close()
    for _ in range(300):
        try:
            held.append(socket.create_connection(("127.0.0.1", port), timeout=5))
        except OSError:
            pass
    print("there", flush=True)
    signal.pause()


main()
