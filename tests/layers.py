#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rooms of docs/architecture.md as a check: which folder may include which, no circle of
files, each header one file's, each foreign library behind the files that wrap it."""
import collections
import sys

from source_tree import ROOT, code_only, definitions, files, includes, unit_of

# Room -> the rooms below it that its files may include, besides itself, the system and <gpufl/...>.
# A room is a folder; the files directly in a folder with rooms are a room of their own.
BELOW = {
    "include": [],
    "base": [],
    "schema": ["base"],
    "collector-lib/core": ["base", "schema"],
    "collector-lib/sample": ["base", "schema", "collector-lib/core"],
    "collector-lib/trace": ["base", "schema", "collector-lib/core"],
    "collector-lib/writer": ["base", "schema", "collector-lib/core", "collector-lib/sample",
                             "collector-lib/trace"],
    "collector-lib": ["base", "schema", "collector-lib/core", "collector-lib/sample",
                      "collector-lib/trace", "collector-lib/writer"],
    "collector-lib/cupti": ["base", "collector-lib/core", "collector-lib/trace"],
    "collector-lib/inject": [],
    "upload/http": ["base", "schema"],
    "upload/journal": ["base", "schema"],
    "upload/source": ["base", "schema", "upload/http", "upload/journal"],
    "upload/core": ["base", "schema", "upload/http", "upload/journal", "upload/source"],
    "upload/engine": ["base", "schema", "upload/http", "upload/journal", "upload/source",
                      "upload/core"],
    "upload": ["base", "schema", "upload/http", "upload/journal", "upload/source",
               "upload/core", "upload/engine"],
    "agent/options": ["base", "schema", "upload/core", "upload/engine"],
    "agent": ["base", "schema", "upload/http", "upload/journal", "upload/source",
              "upload/core", "upload/engine", "agent/options"],
    "cli": ["base", "schema", "collector-lib/sample"],  # nothing of upload: see Makefile
    "cli/transfer": ["base", "schema", "cli", "upload/http", "upload/journal",
                     "upload/source", "upload/core", "upload/engine", "upload"],
    "backend/digest": ["base", "schema"],
    "backend/store": ["base", "schema", "backend/digest"],
    "backend/api": ["base", "schema", "backend/digest", "backend/store"],
    "backend/http": ["base", "schema", "backend/digest", "backend/store", "backend/api"],
    "backend": ["base", "schema", "backend/store", "backend/http"],
    "examples": [],
}
# Foreign library -> the files that may include it.
ONLY = {
    "curl/": ["upload/http/transport_http.c", "upload/http/http_slot.h"],
    "zstd": ["upload/http/encode.c", "backend/store/codec.c"],
    "zlib": ["upload/http/encode.c", "upload/source/gz_cache.c", "upload/source/gz_file.c",
             "backend/store/codec.c", "backend/http/ingest.c"],
    "json-c/": ["upload/source/identity.c", "upload/http/reply.c",
                "upload/engine/upload_cursor.c", "upload/source/java_cursor.c",
                "agent/options/config.c", "backend/digest/digest_records.c"],
    "inotifytools/": ["agent/watch.c"],
    "microhttpd": ["backend/http/http_auth.h", "backend/http/http_changes.h",
                   "backend/http/http_respond.h", "backend/http/http_route.h",
                   "backend/http/http_sessions.h"],
    "sqlite3": ["backend/store/store_statement.h"],
    "cupti": ["collector-lib/cupti/cupti_api.h"],
    "dlfcn": ["collector-lib/sample/nvml_api.c", "collector-lib/trace/tracer_load.c",
              "collector-lib/trace/demangle.c", "collector-lib/cupti/cupti_api.c",
              "cli/transfer_module.c"],
}


def room_of(name):
    """The longest room that is a prefix of the file's folder; None when no room has it."""
    folder = name.rsplit("/", 1)[0]
    return folder if folder in BELOW else None


def arrows(name, path):
    room = room_of(name)
    if room is None:
        yield f"{name} lies in no room of tests/layers.py"
        return
    for kind, target in includes(path):
        other = room_of(target) if kind == '"' else room
        if other != room and other not in BELOW[room]:
            yield f"{name} includes {target}: an arrow back up"
        for library, allowed in ONLY.items():
            if kind == "<" and target.startswith(library) and name not in allowed:
                yield f"{name} includes <{target}>: only {', '.join(allowed)} may"


def uses(sources, owner):
    """unit -> {unit it needs: why}, by includes and by the functions that it names."""
    graph = collections.defaultdict(dict)
    for name, path in sources:
        unit = unit_of(name)
        for kind, target in includes(path):
            if kind == '"' and unit_of(target) != unit:
                graph[unit].setdefault(unit_of(target), f"includes {target}")
        for word in set(code_only(path).words):
            other = owner.get(word)
            if other and other != unit:
                graph[unit].setdefault(other, f"uses {word}")
    return graph


def circles(graph):
    """Groups of units that need each other, by Tarjan's algorithm without recursion."""
    index, low, on, stack, out = {}, {}, set(), [], []
    for start in list(graph):
        work = [(start, iter(graph[start]))] if start not in index else []
        if work:
            index[start] = low[start] = len(index)
            stack.append(start)
            on.add(start)
        while work:
            unit, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on.add(other)
                    work.append((other, iter(graph.get(other, {}))))
                    break
                if other in on:
                    low[unit] = min(low[unit], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[unit])
                if low[unit] == index[unit]:
                    group = []
                    while not group or group[-1] != unit:
                        group.append(stack.pop())
                        on.discard(group[-1])
                    if len(group) > 1:
                        out.append(sorted(group))
    return out


def crowds(sources):
    """Headers that declare what another file defines."""
    defined = collections.defaultdict(set)
    for name, path in sources:
        for function in definitions(path):
            if not function.static:
                defined[function.name].add(unit_of(name))
    for name, path in sources:
        if name.endswith(".h"):
            for function in code_only(path).declared:
                homes = defined.get(function, set())
                if homes and unit_of(name) not in homes:
                    yield f"{name} declares {function}, which {sorted(homes)[0]}.c defines"


def main():
    only = sys.argv[1:]
    sources = [(n, p) for n, p in files("*.[ch]", BELOW) if not n.startswith("include/")]
    bad = [line for name, path in sources for line in arrows(name, path)]
    owner = {f.name: unit_of(n) for n, p in sources if n.endswith(".c")
             for f in definitions(p) if not f.static and f.name != "main"}
    graph = uses(sources, owner)
    for group in circles(graph):
        links = [f"    {a} {why}" for a in group for b, why in sorted(graph[a].items())
                 if b in group]
        bad.append(f"{group[0]}: a circle of {len(group)} files:\n" + "\n".join(links))
    bad += crowds(sources)
    bad = [line for line in bad if not only or line.startswith(tuple(only))]
    print("\n".join(bad) if bad else "layers: clean")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
