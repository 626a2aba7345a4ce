#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Connects, as another user, to all that a job on this host listens on: other_user.py URI TRIES.

URI is a rank's PMIX_SERVER_URI*. Connections that send nothing, or random bytes, must be closed by
the server without an answer, and datagrams to the job's abstract sockets must not get through.
"""
import random
import re
import socket
import sys

LIMIT_S = 20    # far more than an answer takes


def expect_closed(port, text):
    """The server closes the connection and says nothing."""
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as connection:
        try:
            if text:
                connection.sendall(text)
            answer = connection.recv(1000)
        except (ConnectionResetError, BrokenPipeError):
            return
        if answer:
            sys.exit(f"port {port} answered {answer!r} to {text[:40]!r}")


def main():
    dice = random.Random(5)
    port = int(re.search(r"tcp4?://127\.0\.0\.1:(\d+)", sys.argv[1]).group(1))
    for attempt in range(int(sys.argv[2])):
        expect_closed(port, dice.randbytes(dice.randrange(1, 300)) if attempt % 2 else b"")


main()
