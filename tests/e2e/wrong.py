# SPDX-License-Identifier: Apache-2.0
"""What the tables of wrong settings share: files that are not what they are given for, and how a message has to end."""
import os
import socket
from concurrent import futures

import lib

# In parentheses; a place in a file says where to mend it.
WAY_OUT = r"\(.+\)$|:\d+:\d+: "
HOST = "http://127.0.0.1:9"


def files(place):
    """Files that are not what they are given for."""
    texts = {"empty": "", "blank": " \n\n", "lines": "one\ntwo\n", "text": "hello\n", "nul": "a\0b",
             "control": "a\x01b\n", "empty-key.json": '{"agent":{"stateDir":""}}', "long": "k" * 5000,
             "types-twice.json": '{"source":{"logTypes":["scope","scope"]}}', "types-comma.json": '{"source":{"logTypes":["device,scope"]}}',
             "folder-comma.json": '{"source":{"folder":["a,b"]}}', "folder-blank.json": '{"source":{"folder":""}}', "folder-empty.json": '{"source":{"folder":["a",""]}}',
             "source-comma.json": '{"sources":[{"folder":"a,b"}]}', "path-dots.json": '{"publisher":{"apiPath":"/."}}', "bearer": "Bearer k\n", "quoted": "'k'\n",
             "bom": "\ufeffk\n", "bom.json": "\ufeff{}",
             "cut.pem": "-----BEGIN CERTIFICATE-----\nMAMC\n",
             "cert.pem": "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n",
             "key.pem": "-----BEGIN PRIVATE KEY-----\nMAMCAQA=\n-----END PRIVATE KEY-----\n",
             "locked.pem": "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAMCAQA=\n-----END ENCRYPTED PRIVATE KEY-----\n"}
    for name, text in texts.items():
        (place.path / name).write_text(text)
    os.mkfifo(place.path / "pipe")
    (place.path / "pipe.link").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(place.path / "socket"))
    return place.path


def in_parallel(rows, one):
    """All of them, also behind one that fails."""
    wrong = []

    def judge(row):
        try:
            one(*row)
        except lib.Failed as failed:
            wrong.append(str(failed))
    with futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(judge, row) for row in rows]:
            done.result()
    lib.check(not wrong, f"{len(wrong)} of {len(rows)}:\n" + "\n".join(wrong))
