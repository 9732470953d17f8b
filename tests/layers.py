#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The arrows of docs/architecture.md, and the sizes of files and functions, as a check."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE_LINES = 400
FUNCTION_LINES = 60

# Folder → what it may include, besides itself, the system and <gpufl/…>.
MAY = {
    "include": [],
    "schema": [],
    "collector-lib": ["schema"],
    "upload": ["schema"],
    "agent": ["schema", "upload"],
    "cli": ["schema", "upload", "collector-lib"],
    "backend": ["schema"],
    "examples": [],
}
# Each foreign library is included by one file; json-c by the few that parse.
ONLY = {
    "curl/": ["upload/transport_http.c", "upload/http_slot.h"],
    "zstd": ["upload/encode.c", "backend/decode.c"],
    "zlib": ["upload/encode.c", "upload/gz_cache.c", "upload/gz_file.c",
             "backend/decode.c",
             "backend/ingest.c"],
    "json-c/": ["upload/identity.c", "upload/reply.c", "upload/upload_cursor.c", "upload/java_cursor.c",
                "agent/config.c", "backend/digest_records.c"],
    "inotifytools/": ["agent/watch.c"],
    "microhttpd": ["backend/http_internal.h", "backend/http_changes.h"],
    "sqlite3": ["backend/store_internal.h"],
    "cupti": ["collector-lib/cupti/api.h"],
    "dlfcn": ["collector-lib/nvml_api.c", "collector-lib/tracer_load.c", "collector-lib/demangle.c",
              "collector-lib/cupti/api.c"],
}


def includes(path):
    return re.findall(r'^\s*#\s*include\s*([<"])([^">]+)[">]', path.read_text(), re.M)


def arrows(path, name, top):
    for kind, target in includes(path):
        folder = target.split("/")[0]
        if kind == '"' and folder != top and folder not in MAY[top]:
            yield f"{name} includes {target}: an arrow against the grain"
        for library, files in ONLY.items():
            if kind == "<" and target.startswith(library) and name not in files:
                yield f"{name} includes <{target}>: only {', '.join(files)} may"


def sizes(path, name):
    lines = path.read_text().splitlines()
    if len(lines) > FILE_LINES:
        yield f"{name} has {len(lines)} lines, {FILE_LINES} at most"
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start:
            if number - start - 1 > FUNCTION_LINES:
                yield f"{name}:{start}: a function of {number - start - 1} lines"
            start = None


def licence(path, name):
    if "SPDX-License-Identifier: Apache-2.0" not in path.read_text()[:200]:
        yield f"{name} has no SPDX line"


def main():
    bad = []
    for top in MAY:
        for path in sorted((ROOT / top).rglob("*.[ch]")):
            name = str(path.relative_to(ROOT))
            bad += arrows(path, name, top)
            bad += licence(path, name)
            if path.suffix == ".c":
                bad += sizes(path, name)
    for path in sorted((ROOT / "tests").rglob("*.[ch]")):
        bad += licence(path, str(path.relative_to(ROOT)))
    print("\n".join(bad) if bad else "layers: clean")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
