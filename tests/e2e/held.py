# SPDX-License-Identifier: Apache-2.0
"""The table of reasons for which sessions are held, and what status says of one."""
import re
import shlex

import lib
from lib import check, equal

HELD = {key: (way, "".join(re.findall('"([^"]*)"', text))) for key, way, text in re.findall(
    r'X\(\w+, "(\w+)", (\w+),((?:\s*"[^"]*")+)\)', (lib.ROOT / "upload/core/held.h").read_text().replace("\\\n", " "))}


def is_held(done, status, key):
    """An upload and status tell the reason; \\return the words of the command that status names, after `gpufl`."""
    way, text = HELD[key]
    equal(done.returncode, 1, f"{key}: {done.stdout} {done.stderr}")
    check(text in done.stdout, f"{key}: {done.stdout}")
    equal(status.returncode, 1, status.stdout)
    check(text in status.stdout, f"{key}: {status.stdout}")
    found = re.findall(r"^  to .*?: gpufl (.*)$", status.stdout, re.M)
    if way == "MEND":
        check("\n  to " not in status.stdout[status.stdout.index(text):][:len(text) + 6], status.stdout)
        return []
    verb = {"RESOLVE": "resolve", "FORCE": "upload"}[way]
    equal({shlex.split(words)[0] for words in found}, {verb}, status.stdout)
    return shlex.split(found[0])
