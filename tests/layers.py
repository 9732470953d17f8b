#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rooms of docs/architecture.md as a check: which folder may include which, no circle of
files, each header one file's, each foreign library behind the files that wrap it."""
import collections
import re
import sys

from source_tree import ROOT, all_code, code_only, definitions, files, includes, unit_of

# Room -> the rooms below it that its files may include, besides itself, the system and <gpufl/...>.
# A room is a folder; the files directly in a folder with rooms are a room of their own.
BELOW = {
    "include": [],
    "base": [],
    "schema": [],
    "collector-lib/core": ["base", "schema"],
    "collector-lib/files": ["collector-lib/core"],
    "collector-lib/job": ["base", "collector-lib/core", "collector-lib/files"],
    "collector-lib/sample": ["collector-lib/core", "collector-lib/files"],
    "collector-lib/trace": ["base", "schema", "collector-lib/core", "collector-lib/files"],
    "collector-lib/writer": ["base", "schema", "collector-lib/core", "collector-lib/files",
                             "collector-lib/job", "collector-lib/sample", "collector-lib/trace"],
    "collector-lib": ["base", "collector-lib/core", "collector-lib/files", "collector-lib/job",
                      "collector-lib/trace", "collector-lib/writer"],
    "collector-lib/cupti": ["base", "collector-lib/core", "collector-lib/trace"],
    "collector-lib/inject": ["collector-lib"],
    "upload/http": ["base", "schema"],
    "upload/journal": ["base", "schema"],
    "upload/source": ["base", "schema", "upload/http", "upload/journal"],
    "upload/owners": ["base"],
    "upload/pace": ["base"],
    "upload/published": ["base", "schema", "upload/http", "upload/journal", "upload/source"],
    "upload/core": ["base", "schema", "upload/http", "upload/journal", "upload/owners",
                    "upload/pace", "upload/source"],
    "upload/lifecycle": ["base", "schema", "upload/http", "upload/journal", "upload/owners",
                         "upload/pace", "upload/source", "upload/published", "upload/core"],
    "upload/batch": ["base", "schema", "upload/http", "upload/journal", "upload/source",
                     "upload/core", "upload/lifecycle"],
    "upload/resolve": ["base", "schema", "upload/http", "upload/journal", "upload/source",
                       "upload/core", "upload/lifecycle", "upload/batch"],
    "upload/engine": ["base", "schema", "upload/http", "upload/journal", "upload/owners",
                      "upload/pace", "upload/source", "upload/published", "upload/core", "upload/lifecycle",
                      "upload/batch", "upload/resolve"],
    "upload/verify": ["base", "schema", "upload/http", "upload/source"],
    "upload": ["base", "schema", "upload/http", "upload/journal", "upload/source",
               "upload/published", "upload/core", "upload/engine"],
    "agent/options": ["base", "schema", "upload/engine"],
    "agent/watch": ["base", "schema"],
    "agent": ["base", "schema", "upload/http", "upload/journal", "upload/source",
              "upload/published", "upload/core", "upload/engine", "agent/options",
              "agent/watch"],
    "cli": ["base", "schema", "collector-lib/sample"],  # nothing of upload: see Makefile
    "cli/transfer": ["base", "schema", "cli", "upload/http", "upload/journal",
                     "upload/owners", "upload/source", "upload/published", "upload/core",
                     "upload/resolve", "upload/engine", "upload/verify", "upload"],
    "backend/digest": ["base", "schema"],
    "backend/store": ["base", "schema", "backend/digest"],
    "backend/api": ["base", "schema", "backend/digest", "backend/store"],
    "backend/http": ["base", "schema", "backend/digest", "backend/store", "backend/api"],
    "backend": ["base", "schema", "backend/store", "backend/http"],
    "examples": [],
}
# Foreign library -> the files that may include it.
ONLY = {
    "curl/": ["upload/http/transport_http.c", "upload/http/http_slot.h",
              "upload/http/system_trust.c"],
    "zstd": ["upload/http/encode.c", "backend/store/codec.c"],
    "zlib": ["upload/http/encode.c", "upload/source/gz_decoder.c",
             "upload/source/gz_file.c",
             "backend/store/codec.c", "backend/http/ingest.c"],
    "json-c/": ["upload/source/identity.c", "upload/http/reply.c",
                "upload/http/reply_json.c", "upload/http/reply_positions.c",
                "upload/engine/upload_cursor.c", "upload/source/java_cursor.c",
                "agent/options/config.c", "agent/options/config_list.c",
                "backend/digest/digest_records.c",
                "backend/http/json_read.h"],
    "inotifytools/": ["agent/watch/watch.c"],
    "microhttpd": ["backend/http/http_auth.h", "backend/http/http_changes.h",
                   "backend/http/http_query.h", "backend/http/http_respond.h",
                   "backend/http/http_route.h", "backend/http/http_sessions.h",
                   "backend/http/http_site.h", "backend/http/http_strict.h", "backend/http/read_ahead.h"],
    "sqlite3": ["backend/store/store_statement.h"],
    "linux/landlock": [],  # agent/landlock.h declares what older headers lack
    "openssl": [],  # libcurl brings it
    "cupti": ["collector-lib/cupti/cupti_api.h"],
    "dlfcn": ["collector-lib/sample/nvml_api.c", "collector-lib/trace/tracer_load.c",
              "collector-lib/trace/demangle.c", "collector-lib/cupti/cupti_api.c",
              "collector-lib/keep_loaded.c", "cli/transfer_module.c"],
}
# The headers of the C library and the kernel that each room may include, and those that only some may:
# whatever else is spelled <...> is a library, and has to be listed above.
EVERYWHERE = {"assert.h", "ctype.h", "dirent.h", "endian.h", "errno.h", "fcntl.h", "inttypes.h", "limits.h",
              "pthread.h", "signal.h", "stdarg.h", "stdatomic.h", "stdbool.h", "stddef.h", "stdint.h",
              "stdio.h", "stdlib.h", "string.h", "strings.h", "sys/stat.h", "sys/types.h", "time.h",
              "unistd.h"}
SYSTEM = {
    "base": {"arm_acle.h", "arm_neon.h", "arpa/inet.h", "asm/hwcap.h", "getopt.h", "immintrin.h", "locale.h",
            "linux/magic.h", "linux/openat2.h", "netinet/in.h", "sys/auxv.h", "sys/random.h", "sys/socket.h",
             "sys/syscall.h", "sys/vfs.h"},
    "collector-lib": {"link.h", "sys/auxv.h", "sys/syscall.h"},
    "collector-lib/core": {"execinfo.h", "link.h", "poll.h", "sched.h", "sys/random.h", "sys/resource.h",
                           "sys/statvfs.h", "sys/uio.h"},
    "collector-lib/files": {"linux/futex.h", "sys/resource.h", "sys/syscall.h"},
    "collector-lib/job": {"sys/wait.h"},
    "collector-lib/sample": {"arpa/inet.h", "net/if.h", "sys/ioctl.h", "sys/socket.h", "sys/sysinfo.h"},
    "collector-lib/trace": {"elf.h", "link.h"},
    "collector-lib/cupti": {"sys/file.h", "sys/socket.h", "sys/un.h"},
    "upload/http": {"arpa/inet.h"},
    "upload/journal": {"pwd.h"},
    "upload/source": {"linux/magic.h", "sys/sysmacros.h", "sys/vfs.h"},
    "upload/published": {"sys/file.h", "sys/sysmacros.h"},
    "upload/core": {"sys/mman.h"},
    "upload/engine": {"malloc.h", "sys/file.h"},
    "upload": {"poll.h"},
    "agent/watch": {"poll.h", "sys/eventfd.h"},
    "agent": {"arpa/inet.h", "malloc.h", "netinet/in.h", "poll.h", "sched.h", "sys/eventfd.h", "sys/prctl.h",
             "sys/resource.h", "sys/signalfd.h", "sys/socket.h", "sys/syscall.h", "sys/time.h", "sys/un.h",
             "sys/vfs.h"},
    "cli/transfer": {"poll.h"},
    "cli": {"glob.h", "sys/auxv.h", "sys/random.h", "sys/wait.h"},
    "backend/http": {"arpa/inet.h", "netinet/in.h", "sys/socket.h"},
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
        if kind == '"' or target.startswith("gpufl/"):
            continue
        listed = [allowed for library, allowed in ONLY.items() if target.startswith(library)]
        for allowed in listed:
            if name not in allowed:
                yield f"{name} includes <{target}>: only {', '.join(allowed) or 'nothing'} may"
        if not listed and target not in EVERYWHERE and target not in SYSTEM.get(room, ()):
            yield f"{name} includes <{target}>, which tests/layers.py does not list for {room}"
    for computed in re.findall(r'^\s*#\s*include\s+(?![<"])\S+', code_only(path).text, re.M):
        yield f"{name}: {computed.strip()}: name the file"


def named(path, owner):
    """What a file names of others: functions, and the objects that it declares itself. (A word
    alone is no object: it may be a local variable. One from a header shows as its include.)"""
    code = code_only(path)
    return {w for w in set(code.words) & owner.keys() if w not in owner.objects} \
        | code.declared & owner.keys()


def uses(sources, owner):
    """unit -> {unit it needs: why}, by includes and by the functions that it names."""
    graph = collections.defaultdict(dict)
    for name, path in sources:
        unit = unit_of(name)
        for kind, target in includes(path):
            if kind == '"' and unit_of(target) != unit:
                graph[unit].setdefault(unit_of(target), f"includes {target}")
        for word in named(path, owner):
            other = owner[word]
            if other != unit:
                graph[unit].setdefault(other, f"uses {word}")
    return graph


def detours(sources, owner):
    """Arrows back up without an include: what a file declares for itself, and uses."""
    public = set().union(*(code_only(path).declared for _, path in files("*.h", ["include"])))
    for name, path in sources:
        room = room_of(name)
        for word in sorted(named(path, owner) - public):
            other = room_of(owner[word] + ".c")
            if other != room and other not in BELOW.get(room, ()):
                yield f"{name} uses {word} of {owner[word]}.c: an arrow back up"


def unused(graph):
    """Arrows of BELOW that no file needs: they would allow what nobody has thought about."""
    for room, below in BELOW.items():
        used = {room_of(other + ".c") for unit, others in graph.items() if room_of(unit + ".c") == room
                for other in others}
        for other in below:
            if other not in used:
                yield f"tests/layers.py lets {room} use {other}, which it does not"


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


class Owner(dict):
    """Function or object -> the unit that defines it."""

    def __init__(self, sources):
        own = [(n, p) for n, p in sources if n.endswith(".c")]
        super().__init__((word, unit_of(n)) for n, p in own for word in shared(p))
        self.objects = set().union(*(code_only(p).objects for _, p in own))


def shared(path):
    """The functions and objects of a file that other files can name."""
    return {f.name for f in definitions(path) if not f.static and f.name != "main"} \
        | code_only(path).objects


def crowds(sources):
    """Headers that declare what another file defines, or have nothing of their own."""
    defined = collections.defaultdict(set)
    for name, path in sources:
        for word in shared(path):
            defined[word].add(unit_of(name))
    for name, path in sources:
        if name.endswith(".h"):
            for word in sorted(code_only(path).declared):
                homes = defined.get(word, set())
                if homes and unit_of(name) not in homes:
                    yield f"{name} declares {word}, which {sorted(homes)[0]}.c defines"
            text = re.sub(r"^\s*#\s*(?:include\b.*|define \w+$|ifndef.*|endif.*)", "",
                          code_only(path).text, flags=re.M)
            if not text.strip():
                yield f"{name} has only includes: include what is needed where it is needed"


def main():
    only = sys.argv[1:]
    sources = [(n, p) for n, p in files("*.[ch]", BELOW) if not n.startswith("include/")]
    bad = [line for name, path in sources for line in arrows(name, path)]
    bad += [f"{name} lies in no room of tests/layers.py" for name in all_code()
            if name.split("/")[0] not in {room.split("/")[0] for room in BELOW}]
    owner = Owner(sources)
    bad += detours(sources, owner)
    graph = uses(sources, owner)
    bad += unused(graph)
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
