# SPDX-License-Identifier: Apache-2.0
"""gpufl-backend beside a second one, and among peers that mean harm or are slow: nothing is split
in two, and nobody is kept out."""
import os
import sys

import lib
from lib import check, equal
from test_backend import SESSION, line, post


def _refused(place, *args, words):
    """A second server says each of the words, and ends."""
    done = place.run("gpufl-backend", *args)
    equal(done.returncode, 1, f"{args}: {done.stdout}{done.stderr}")
    for word in words:
        check(word in done.stderr, f"{word!r} is missing: {done.stderr}")
    equal(done.stderr.count("\n"), 1, "lines")


def a_second_server_on_the_port_is_refused(place):
    backend = lib.Backend(place)
    for address in ("127.0.0.1", "0.0.0.0"):
        other = place.path / "other.db"
        _refused(place, "--listen", f"{address}:{backend.port}", "--db", other, "--insecure",
                 words=("--listen", f"{address}:{backend.port}", "Address already in use", "name another port"))
        check(not other.exists(), "it makes no database")
    equal(post(backend, line(1))[0], 200, "the first one serves on")
    backend.kill()
    backend.start()  # at once, on the same port
    equal(backend.export(SESSION, "device"), line(1), "what is stored")


def a_second_server_on_the_database_is_refused(place):
    backend = lib.Backend(place)
    db = place.path / "backend.db"
    link, hard = place.path / "link.db", place.path / "hard.db"
    link.symlink_to(db)
    os.link(db, hard)
    for name in (db, link, hard):
        _refused(place, "--listen", "127.0.0.1:0", "--db", name,
                 words=("--db", str(name), "in use by another gpufl-backend", "name another file"))
    hard.unlink()
    equal(post(backend, line(1))[0], 200, "the first one serves on")
    backend.kill()
    backend.start()
    equal(backend.export(SESSION, "device"), line(1), "what is stored")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
