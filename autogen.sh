#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Make configure and the Makefile.in from a fresh checkout. Needs autoconf, automake, libtool, pkg-config.
set -e
cd "$(dirname "$0")"
exec autoreconf --install --warnings=all,no-obsolete "$@"
