# SPDX-License-Identifier: Apache-2.0
"""Starts a program anew by the Python that has a module, where this one lacks it."""
import importlib.util
import os
import sys

DEBIAN = "/usr/bin/python3"  # where apt puts its modules


def needs(module):
    if importlib.util.find_spec(module) is None and os.access(DEBIAN, os.X_OK) and sys.executable != DEBIAN:
        os.execv(DEBIAN, [DEBIAN, *sys.argv])
