# SPDX-License-Identifier: BSD-3-Clause
"""The build back end: setuptools, and the torch of the environment that the package is for.

pip builds in an environment of its own, without torch. An extension must be built with the torch that
will load it, so the folders of the interpreter's environment are added behind those of pip's.
"""
import importlib.util
import sys
import sysconfig

from setuptools import build_meta

if importlib.util.find_spec("torch") is None:
    sys.path += [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    if importlib.util.find_spec("torch") is None:
        sys.exit("weft: there is no torch in this environment; install it first (pip install torch)")

build_wheel = build_meta.build_wheel
build_sdist = build_meta.build_sdist
get_requires_for_build_wheel = build_meta.get_requires_for_build_wheel
get_requires_for_build_sdist = build_meta.get_requires_for_build_sdist
prepare_metadata_for_build_wheel = build_meta.prepare_metadata_for_build_wheel
build_editable = build_meta.build_editable
get_requires_for_build_editable = build_meta.get_requires_for_build_editable
prepare_metadata_for_build_editable = build_meta.prepare_metadata_for_build_editable
