# SPDX-License-Identifier: Apache-2.0
"""The C++ header and the whole set of options: what a program written for the existing client
sees. Row ids are those of docs/api-coverage.md."""
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import lib
from lib import check, equal
import test_collector as collector
from writers import Live

API = lib.ROOT / "tests/e2e/api"
ENGINES = [f"nvidia.{name}" for name in (
    "none", "trace", "pc_sampling", "sass_metrics", "range_profiler", "pc_sampling_with_sass", "pm_sampling",
    "range_profiler_kernel_replay")]


def _compile(place, compiler, std, *sources, link=True):
    out = place.path / f"{compiler}-{std}"
    flags = [*lib.SANITIZER] if compiler == "g++" else []
    libs = [f"-L{lib.BUILD}", "-lgpufl", "-lgpufl-upload", f"-Wl,-rpath,{lib.BUILD}", "-o", out]
    done = subprocess.run([compiler, f"-std={std}", "-Wall", "-Wextra", "-Wshadow", "-pedantic", "-Werror",
                           *flags, f"-I{lib.ROOT}/include", *(API / s for s in sources),
                           *(libs if link else ["-fsyntax-only"])],
                          capture_output=True, text=True, check=False)
    return done, out


def every_name_of_the_reference_compiles_and_runs(place):
    """S2-01 to S2-05, S2-18, S2-49, S2-51 to S2-54, S2-57."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for std in ("c++11", "c++17", "c++20"):
        done, program = _compile(place, "g++", std, "names.cpp", "names_too.cpp")
        equal((done.returncode, done.stderr), (0, ""), f"g++ {std}")
    logs = place.path / "cpp-logs"
    done = subprocess.run([program, logs, backend.url], capture_output=True, text=True, check=False,
                          env=lib.environment({}))
    equal(done.returncode, 0, f"it runs ({done.stderr})")
    session, = (d for d in logs.iterdir() if not d.name.startswith("."))
    equal(collector.paired(session), {"macro": 1, "nested": 1, "object": 1, "lambda": 1,
                                      "result": 1, "loop": 2, "thrown": 1, "returned": 1}, "scopes")
    names = [r["name"] for r in collector.records(session, "system") if "name" in r]
    equal(names, ["phase", "phase"], "marks")
    success, events, warnings = done.stdout.split()
    lines = sum(len(lib.on_disk(session, c).splitlines()) for c in lib.CHANNELS)
    equal((success, int(events), warnings), ("1", lines, "0"), "the upload's result")
    lib.same(backend, session)
    report = (place.path / "cpp-logs.report").read_text()
    check("names" in report and "macro" in report and "Losses" in report, report)


def the_forms_of_the_reference_compile(place):
    """S2-01, S2-02, S2-06, S2-49 to S2-53: as printed, by both compilers."""
    for compiler in ("g++", "clang++"):
        for std in ("c++11", "c++17", "c++20"):
            for source in ("names.cpp", "blocks.cpp") if shutil.which(compiler) else ():
                done, _ = _compile(place, compiler, std, source, link=False)
                equal((done.returncode, done.stderr), (0, ""), f"{compiler} {std} {source}")


def _members(text, struct):
    """Type and name of each field of a struct, in the order of the header."""
    body = re.sub(r"/\*.*?\*/", "", re.search(rf"^struct {struct} {{\n(.*?)^}};", text, re.M | re.S).group(1), flags=re.S)
    return re.findall(r"([\w:<>]+(?: \w+)*)\s+\*?(\w+)\s*(?:=[^;]*)?;", body)


def each_field_of_the_cpp_options_reaches_its_own_field(place):
    """S2-02: generated from the headers; gpufl_init is the test's own."""
    fields = _members((lib.ROOT / "include/gpufl/options.hpp").read_text(), "InitOptions")
    in_c = [name for _, name in _members((lib.ROOT / "include/gpufl/gpufl.h").read_text(), "gpufl_init_options")]
    equal([name for _, name in fields], in_c[1:], "fields of both, behind struct_size")
    value = {"std::string": '"other"', "bool": "!o.{0}", "int": "o.{0} + 7",
             "BackendKind": "gpufl::BackendKind::Amd", "ProfilingEngine": "gpufl::ProfilingEngine::Deep",
             "std::vector<std::string>": '{{"other", "more"}}'}
    text = {"std::string": '"other"', "std::vector<std::string>": '"other,more"'}
    cases = []
    for kind, name in fields:
        there = f"std::string(seen.{name}) == {text[kind]}" if kind in text else \
            f"static_cast<int>(seen.{name}) == static_cast<int>(o.{name})"
        cases.append(f'    {{ gpufl::InitOptions o; o.{name} = {value[kind].format(name)}; gpufl::init(o);\n'
                     f'      if (!({there}) || differing() != "{name} ") say("{name}"); }}\n')
    same = "".join(f"    if ({f'std::strcmp(seen.{name}, plain.{name}) != 0' if kind in text else f'seen.{name} != plain.{name}'})"
                   f' names += "{name} ";\n' for kind, name in fields)
    (place.path / "fields.cpp").write_text(f"""#include <gpufl/gpufl.hpp>
#include <cstdio>
#include <cstring>
static gpufl_init_options seen;
static std::string kept[{len(fields)}];
extern "C" gpufl_status gpufl_init(const gpufl_init_options *o) {{
    seen = *o;
    unsigned n = 0;
    for (const char **t : {{{", ".join(f"&seen.{name}" for kind, name in fields if kind in text)}}}) {{
        kept[n] = *t;
        *t = kept[n++].c_str();
    }}
    return GPUFL_OK;
}}
static std::string differing() {{
    static const gpufl_init_options plain = GPUFL_INIT_OPTIONS_DEFAULT;
    std::string names;
{same}    return names;
}}
static int wrong;
static void say(const char *name) {{ wrong++; std::printf("%s: differing: %s\\n", name, differing().c_str()); }}
int main() {{
    gpufl::init(gpufl::InitOptions());
    if (differing() != "" || seen.struct_size != sizeof seen) say("defaults");
{"".join(cases)}    return wrong;
}}
""")
    done, program = _compile(place, "g++", "c++11", place.path / "fields.cpp")
    equal((done.returncode, done.stderr), (0, ""), "it compiles")
    done = subprocess.run([program], capture_output=True, text=True, check=False, env=lib.environment({}))
    equal((done.returncode, done.stdout), (0, ""), "fields that do not arrive, or not alone")


def _knows(compiler, std):
    """Whether it is installed, and knows the standard."""
    return shutil.which(compiler) and subprocess.run(
        [compiler, f"-std={std}", "-x", "c++" if "++" in std else "c", "-fsyntax-only", "/dev/null"],
        stderr=subprocess.DEVNULL, check=False).returncode == 0


def _positions(place, source, compilers, standards, ran, scopes):
    for compiler in compilers:
        for std in (s for s in standards if _knows(compiler, s)):
            done, program = _compile(place, compiler, std, source)
            equal((done.returncode, done.stderr), (0, ""), f"{compiler} {std}")
            logs = place.path / f"{compiler}-{std}-logs"
            done = subprocess.run([program, logs], capture_output=True, text=True, check=False,
                                  env=lib.environment({}))
            equal((done.returncode, done.stdout.split()), (0, ran.split()), f"{compiler} {std} ({done.stderr})")
            session, = logs.glob("[!.]*")
            equal(collector.paired(session), scopes, f"{compiler} {std}: scopes")


def a_scope_is_one_statement_wherever_it_stands(place):
    """S2-49: it leaves an else to the if in front of it, and nothing warns."""
    if lib.SANITIZER:
        lib.skip("not every compiler links what was built by gcc's sanitizer")
    both = {"then": 1, "in else": 1, "alone": 1, "around": 2, "outer": 2, "inner": 2, "while": 2, "empty": 3, "two": 3, "of a line": 3}
    _positions(place, "positions.cpp", ("g++", "clang++"), ("c++11", "c++14", "c++17", "c++20", "c++23", "c++2b"),
               "then first alone 1 else second 3 yes nested two no nested two 0 2",
               {**both, "chain": 2, "for": 4, "do": 1, "case": 1})
    _positions(place, "positions.c", ("gcc", "clang"), ("c99", "c11", "c17", "c2x"),
               "then first alone else second yes nested two no nested two 0", {**both, "for": 3})


STATEMENTS = """
int f(int x);
int f(int x)
{
    GFL_SCOPE("alone");
    GFL_SCOPE("empty") {}
    if (x)
        GFL_SCOPE("then");
    else
        GFL_SCOPE("else") { x++; }
    GFL_SCOPE("before a block");
    {
        x++;
    }
    GFL_SCOPE("around") GFL_SCOPE("within") x++;
    gpufl_system_start(gpufl_status_text(GPUFL_OK));
    return x;
}
int g(int x);
int g(int x)
{
    GFL_SCOPE("at the end") {
        if (x)
            return 1;
        GFL_SCOPE("within it") return 2;
    }
}
"""


def the_headers_warn_of_nothing(place):
    """Also with what few programs switch on, in code that stands in theirs."""
    always = ["-Wall", "-Wextra", "-Wshadow", "-Wempty-body", "-pedantic", "-Werror", f"-I{lib.ROOT}/include", "-c", "-o", os.devnull, "-Og"]
    in_cpp = sorted(str(p.relative_to(lib.ROOT / "include")) for p in (lib.ROOT / "include").rglob("*.hpp"))
    for name, headers, cases in (
            ("t.c", ["gpufl/gpufl.h", "gpufl/upload.h"], [(c, s, []) for c in ("gcc", "clang") for s in ("c99", "c11", "c17", "c2x")]),
            ("t.cpp", in_cpp, [(c, s, ["-Wold-style-cast", *(["-Wuseless-cast"] if c == "g++" else [])])
                               for c in ("g++", "clang++") for s in ("c++11", "c++17", "c++20")])):
        source = place.path / name
        source.write_text("".join(f"#include <{h}>\n" for h in headers) + STATEMENTS)
        for compiler, std, more in (c for c in cases if _knows(*c[:2])):
            done = subprocess.run([compiler, f"-std={std}", *always, *more, source], capture_output=True, text=True, check=False)
            equal((done.returncode, done.stderr), (0, ""), f"{compiler} {std}")


def a_case_within_a_scope_is_not_taken_silently_for_one_of_the_switch_around_it(place):
    """It would jump over the begin of the scope. In C, it is warned of; in C++, it is an error."""
    for compiler, std, warns, said in (("gcc", "c11", "-Wall", "enumerated type"), ("clang", "c11", "-Wall", "enumerated type"),
                                       ("g++", "c++11", "-w", "jump"), ("clang++", "c++11", "-w", "jump|cannot")):
        if not _knows(compiler, std):
            continue
        source = place.path / ("case.cpp" if "++" in compiler else "case.c")
        source.write_text(f"""#include <gpufl/gpufl.h{"pp" if "++" in compiler else ""}>
void f(int x);
void f(int x)
{{
    switch (x) {{
    case 0:
        GFL_SCOPE("block") {{
            x++;
    case 1:
            gpufl_flush();
        }}
    }}
}}
""")
        done = subprocess.run([compiler, f"-std={std}", warns, "-Werror", f"-I{lib.ROOT}/include", "-c", "-o", os.devnull, source],
                              capture_output=True, text=True, check=False)
        check(done.returncode != 0 and re.search(said, done.stderr), f"{compiler}: {done.stderr}")


def programs_of_the_existing_client_compile_and_run(place):
    """S2-01, S2-18, S2-102: GFL_BENCH and its like, its headers, uploadLogs with the options of init."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for compiler in ("g++", "clang++"):
        for std in (s for s in ("c++14", "c++17", "c++23", "c++2b") if _knows(compiler, s)):
            done, _ = _compile(place, compiler, std, "existing.cpp", link=False)
            equal((done.returncode, done.stderr), (0, ""), f"{compiler} {std}")
    for std in ("c++11", "c++20"):
        done, program = _compile(place, "g++", std, "existing.cpp")
        equal((done.returncode, done.stderr), (0, ""), std)
        logs = place.path / f"{std}-logs"
        done = subprocess.run([program, logs, backend.url], capture_output=True, text=True, check=False,
                              env=lib.environment({}))
        equal(done.returncode, 0, done.stderr)
        session, = logs.glob("[!.]*")
        names, counted = done.stdout.splitlines()
        lines = sum(len(lib.on_disk(session, c).splitlines()) for c in lib.CHANNELS)
        equal((names.split(), counted.split()), (ENGINES, ["213", "0", "1", str(lines)]), std)
        equal([line.split("] ")[-1].split(": ")[-1] for line in done.stderr.splitlines()],
              ["one 1", "two 2.5 more", "three", "four 4"], "lines of its log macros")
        equal(_repeated(session), {"bench_warmup": (3, 0), "bench": (10, 3), "repeated": (2, 0), "meta": (4, 0)},
              f"{std}: repeat and warmup")
        lib.same(backend, session)


def what_the_page_calls_missing_is_in_no_header(place):
    """And the rest of the page's table is."""
    page = (lib.ROOT / "docs/drop-in.md").read_text().partition("## C++ programs")[2]
    there, _, missing = page.partition("do not compile")
    headers = "".join(f.read_text() for f in (lib.ROOT / "include").rglob("*.h*"))

    def names(table):
        first = "".join(row.split("|")[1] for row in table.splitlines() if row.startswith("| `"))
        return set(re.findall(r"`(\w+)(?=[(`])", first))

    check(len(names(missing)) >= 12 and {"counter", "probeNvml"} < names(missing), f"{names(missing)}")
    equal([n for n in sorted(names(missing)) if re.search(rf"\b{n}\b", headers)], [], "in a header")
    equal([n for n in ("ScopeMeta", "deepWindow", "uploadLogs", "GFL_BENCH") if n not in names(there) or n not in headers], [],
          "in none")


def a_directory_left_to_init_is_the_one_that_is_uploaded(place):
    """S2-102: log_path is "" in the options."""
    source = place.path / "left.cpp"
    source.write_text("""#include <gpufl/gpufl.hpp>
#include <cstdio>
int main(int, char **argv) {
    gpufl::InitOptions opts;
    if (*argv[2]) opts.app_name = *argv[2] == '-' ? "" : argv[2];
    opts.backend_url = argv[1];
    opts.api_key = "gpfl_marker_key";
    gpufl::init(opts);
    gpufl::shutdown();
    std::printf("%d\\n", gpufl::uploadLogs(opts).success);
}
""")
    backend = lib.Backend(place, "--api-key", lib.KEY)
    done, program = _compile(place, "g++", "c++11", source)
    equal((done.returncode, done.stderr), (0, ""), "it compiles")
    for i, (app, env, where) in enumerate((
            ("", {}, "gpufl"), ("mine", {}, "mine"), ("", {"GPUFL_APP_NAME": "env"}, "env"),
            ("-", {}, "gpufl"), ("-", {"GPUFL_APP_NAME": "env"}, "gpufl"),  # "" in the program counts as set
            ("mine", {"GPUFL_APP_NAME": "env", "GPUFL_LOG_DIR": "there"}, "there"))):
        cwd = place.path / f"in-{i}"
        cwd.mkdir()
        done = subprocess.run([program, backend.url, app], capture_output=True, text=True, check=False, cwd=cwd,
                              env=lib.environment(env))
        equal((done.returncode, done.stdout, done.stderr), (0, "1\n", ""), f"{app} {env}")
        session, = (cwd / where).glob("[!.]*")
        lib.same(backend, session)


def an_upload_in_cpp_tells_what_is_away_and_what_was_lost(place):
    source = place.path / "away.cpp"
    source.write_text("""#include <gpufl/gpufl.hpp>
#include <cstdio>
int main(int, char **argv) {
    gpufl::UploadOptions opts;
    opts.log_path = argv[1];
    opts.backend_url = argv[2];
    opts.api_key = "gpfl_marker_key";
    opts.all_sessions = true;
    gpufl::UploadResult result = gpufl::uploadLogs(opts);
    std::printf("%d %u %u\\n", result.success, result.sessions_away, result.sessions_lossy);
}
""")
    backend = lib.Backend(place, "--api-key", lib.KEY)
    done, program = _compile(place, "g++", "c++11", source)
    equal((done.returncode, done.stderr), (0, ""), "it compiles")
    live, lossy = Live(place.logs), Live(place.logs)
    for writer in (live, lossy):
        writer.line("device")
    (lossy.dir / ".gpufl-transport-loss.00000000-0000-4000-8000-000000000000.json").write_text("{}")
    lossy.end()
    for want in ("1 0 1\n", "0 1 1\n"):
        done = subprocess.run([program, place.logs, backend.url], capture_output=True, text=True, check=False,
                              env=lib.environment({}))
        equal((done.returncode, done.stdout), (0, want), done.stderr)
        if live.dir.exists():
            live.dir.rename(place.path / "elsewhere")


def a_report_that_cannot_be_written_is_said(place):
    """S2-06, S2-101: the function of the reference returns nothing."""
    source = place.path / "report.cpp"
    source.write_text("""#include <gpufl/gpufl.hpp>
int main(int, char **argv) {
    gpufl::generateReport();
    gpufl::InitOptions opts;
    opts.log_path = argv[1];
    gpufl::init(opts);
    gpufl::shutdown();
    gpufl::generateReport(std::string(argv[1]) + "/none/report");
    gpufl::generateReport(std::string(argv[1]) + "/report");
}
""")
    done, program = _compile(place, "g++", "c++11", source)
    equal((done.returncode, done.stderr), (0, ""), "it compiles")
    done = subprocess.run([program, place.logs], capture_output=True, text=True, check=False, env=lib.environment({}))
    equal(done.returncode, 0, done.stderr)
    none, unwritable = done.stderr.splitlines()
    check("no session has ended" in none, none)
    check(f"{place.logs}/none/report: cannot be written" in unwritable, unwritable)


def errno_says_why_a_file_operation_failed(place):
    """status.h, also where nothing that is said can be written: that sets errno, too."""
    def said(*words, env=None):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([*lib.VALGRIND, *lib.EMULATOR, lib.BUILD / "tests/e2e/script", *words],
                                  stdout=subprocess.PIPE, stderr=full, text=True, check=False, env=lib.environment(env))
        equal(done.returncode, 0, f"{words}")
        return done.stdout.splitlines()

    taken = place.path / "taken"
    taken.touch()
    equal(said(f"log_path={taken}/logs", "init", "errno"), ["3 ", "ENOTDIR"], "gpufl_init below a file")
    equal(said("log_path=/proc/none", "init", "errno"), ["3 ", "ENOENT"], "gpufl_init in /proc")
    lines = said(f"log_path={place.logs}", "init", "shutdown", "report:/dev/full", "errno", f"report:{taken}/report", "errno")
    equal(lines[1:], ["3", "ENOSPC", "3", "ENOTDIR"], "gpufl_generate_report")
    equal(said(f"log_path={place.logs}", "backend_url=http://127.0.0.1:9", "api_key=k", "upload", "errno",
               env={"STATE_DIRECTORY": f"{taken}/state"}), ["3 0 0", "ENOTDIR"], "gpufl_upload_logs")


def what_the_system_refuses_is_named(place):
    if lib.SANITIZER:
        lib.skip("the runtime of the sanitizer creates threads and keys itself")
    built, program = _compile(place, "gcc", "gnu11", "refused.c")
    equal((built.returncode, built.stderr), (0, ""), "it compiles")
    for what, printed, reason in (("thread", f"3 {errno.EAGAIN}", "cannot start a thread: Resource temporarily unavailable (raise"),
                                  ("key", "2 ", "out of memory, or of keys for data of threads")):
        done = subprocess.run([program, what, place.logs], capture_output=True, text=True, check=False,
                              env=lib.environment({}))
        equal(done.returncode, 0, done.stderr)
        check(done.stdout.startswith(printed), f"{what}: {done.stdout}")
        equal(done.stderr.count("\n"), 1, done.stderr)
        check(f"not recording: {reason}" in done.stderr, f"{what}: {done.stderr}")


def messages_go_to_the_function_that_the_program_sets(place):
    done, program = _compile(place, "g++", "c++11", "logged.cpp")
    equal((done.returncode, done.stderr), (0, ""), "it compiles")

    def run(*more):
        done = subprocess.run([program, place.logs, *more], capture_output=True, text=True, check=False, timeout=60 * lib.SLOW,
                              env=lib.environment({"GPUFL_SYSTEM_SAMPLE_RATE_MS": "fa\nst"}))
        equal(done.returncode, 0, done.stderr)
        return done.stdout.splitlines(), done.stderr.splitlines()

    ignored = r"GPUFL_SYSTEM_SAMPLE_RATE_MS=fa\nst ignored: expected a whole number from 0 to 86400000"
    printed, said = run()
    equal([line.split(" in ")[0].rsplit(" ", 1)[0] for line in printed if "session" in line],
          ["2 session", "0 not recording: cannot create a"], "information, and an error")
    equal([line for line in printed if "session" not in line], [f"1 {ignored}"] * 2, "warnings, a line each")
    equal((said[0], len(said)), (f"[GPUFL] {ignored}", 2), "with no function: to stderr")
    printed, said = run("more")
    equal(printed[-2:], ["itself 1", "late 0"], "what is replaced is not called any more")


def a_function_that_takes_messages_and_does_not_return_holds_up_nobody_for_long(place):
    """It waits for a lock of the thread that exits, ends the session, or replaces it: as a function of Python does for
    the interpreter's."""
    if lib.SANITIZER:
        lib.skip("the program is built by gcc, for the libraries of the release")
    built, program = _compile(place, "gcc", "gnu11", "stuck_log.c")
    equal((built.returncode, built.stderr), (0, ""), "it compiles")
    for how in ("exit", "shutdown", "replace"):
        done = subprocess.run([program, place.logs, how], capture_output=True, text=True, check=False, timeout=60 * lib.SLOW,
                              env=lib.environment({"GPUFL_LOG_MAX_SPOOL_BYTES": "65536", "GPUFL_SHUTDOWN_TIMEOUT_MS": "100"}))
        equal((done.returncode, done.stdout), (7, "called\n"), f"{how}: {done.stderr}")
        hung = "[GPUFL] the function of gpufl_set_log_callback has not returned for 1100 ms: "
        given_up = "it stays set" if how == "replace" else "until it does, messages are written here"
        equal(done.stderr.count(hung + given_up), 1, f"{how}: {done.stderr}")
        equal(done.stderr.count("] session "), 1, f"{how}: that the session has no end: {done.stderr}")


def _built(place, name, source, *flags):
    """A program that is linked as the flags say, or with nothing of gpufl."""
    if lib.SANITIZER or lib.EMULATOR:
        lib.skip("the program is built by gcc, for the libraries of the release")
    program = place.path / name
    subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", f"-I{lib.ROOT}/include", API / source,
                    "-o", program, *flags, "-pthread", "-ldl", "-lm"], check=True)
    return program


SHARED = ["-DLINKED", "-Wl,--no-as-needed", f"-L{lib.BUILD}", "-lgpufl", f"-Wl,-rpath,{lib.BUILD}"]
STATIC = ["-DLINKED", lib.BUILD / "libgpufl.a"]


def nothing_is_written_to_a_file_that_gets_the_number_of_stderr(place):
    program = _built(place, "other_stderr", "other_stderr.c", *SHARED)
    for when, written in (("within", False), ("before", True)):
        file = place.path / when
        done = subprocess.run([program, place.logs, file, when], capture_output=True, text=True, check=False, timeout=60 * lib.SLOW,
                              env=lib.environment({}))
        equal((done.returncode, done.stdout, done.stderr), (0, "", ""), when)
        text = file.read_text()
        equal((text.startswith("weights\n"), text.count("was removed: what it records is lost"), "[GPUFL]" in text),
              (True, int(written), written), text)


def floating_point_of_the_program_is_its_own(place):
    """It raises for what is inexact, as every mean is, and threads inherit that."""
    program = _built(place, "floats", "floats.c", *SHARED, "-lgpufl-upload")
    report = place.path / "report"
    done = subprocess.run([program, place.logs, report], capture_output=True, text=True, check=False, timeout=60 * lib.SLOW,
                          env=lib.environment({"GPUFL_SIMULATED_GPUS": "2", "STATE_DIRECTORY": str(place.path)}))
    equal((done.returncode, done.stdout), (0, "1 1 0\n"), done.stderr)
    check("mean" in report.read_text() and all(_type == "shutdown" for _type in (
        collector.records(session, "system")[-1]["type"] for session in place.logs.glob("[!.]*"))), "all is there")


def handlers_of_fork_may_call_gpufl_whenever_they_were_registered(place):
    """Those that are there before the library is loaded only record: they wait for nothing, and nothing blames the disk."""
    all_three = [{"before": 1}, {"behind": 1, "goes on": 1}, {"in the child": 1}]
    for name, flags, library, scopes in (("shared", ["-rdynamic", *SHARED], [], all_three),
                                         ("static", ["-rdynamic", "-Wl,--whole-archive", *STATIC, "-Wl,--no-whole-archive"], [], all_three),
                                         ("loaded", [], [lib.BUILD / "libgpufl.so"], [{"before": 1, "behind": 1, "goes on": 1}])):
        program, logs = _built(place, name, "fork_handlers.c", *flags), place.path / f"{name}-logs"
        done = subprocess.run([program, logs, *library], capture_output=True, text=True, check=False, timeout=60 * lib.SLOW,
                              env=lib.environment({}))
        equal((done.returncode, done.stderr), (7, ""), name)
        sessions = list(logs.iterdir())
        equal(sorted((collector.paired(session) for session in sessions), key=str), sorted(scopes, key=str), f"{name}: scopes")
        equal({collector.records(session, "system")[-1]["type"] for session in sessions}, {"shutdown"}, "ends")


def _in_other_pids():
    """A command that runs a program in a PID namespace of its own, with a /proc that has the numbers of the one outside."""
    unshare = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--pid", "--fork", "--kill-child"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
        lib.skip("this user may make no PID namespace")
    return unshare


def _handlers_of_exit_run_on_one_thread(place, through, times):
    shared = lib.BUILD / "libgpufl.so"
    for how, flags, library, count in (("ends", SHARED, [], times), ("loads", [], [shared], 1), ("two", STATIC, [shared], 1)):
        program = _built(place, how, "last_thread.c", *flags)
        for _ in range(count):  # which thread is the last one is a matter of chance
            done = subprocess.run([*through, program, place.logs, how, *library], capture_output=True, text=True, check=False,
                                  timeout=60 * lib.SLOW, env=lib.environment({}))
            equal((done.returncode, done.stderr), (0, ""), how)
            *threads, end = done.stdout.splitlines()
            equal((len(threads), len(set(threads)), end), (3, 1, "end"), f"{how}: one thread: {done.stdout}")
            equal(threads[0].split()[1], "0", f"{how}: signals that it blocks")


def handlers_of_exit_run_on_one_thread_with_the_signals_of_main(place):
    """Whichever thread is the last one, wherever the library was loaded, and also if there are two."""
    _handlers_of_exit_run_on_one_thread(place, [], 40)


def they_do_so_where_proc_has_other_numbers(place):
    _handlers_of_exit_run_on_one_thread(place, _in_other_pids(), 1)


def where_proc_has_other_numbers_exit_waits_no_longer_for_a_driver_that_is_loaded(place):
    """It looks at what the thread waits for that exits."""
    if lib.MEASURES_ITSELF:
        lib.skip("the thread that is left behind is taken for a leak")
    done = subprocess.run([*_in_other_pids(), lib.BUILD / "tests/e2e/script", f"log_path={place.logs}", "init", "shutdown"],
                          capture_output=True, text=True, check=False, timeout=60 * lib.SLOW, env=lib.environment({
                              "LD_LIBRARY_PATH": str(lib.BUILD / "tests/fake"), "GPUFL_SHUTDOWN_TIMEOUT_MS": "50",
                              "FAKE_NVML_LOADED": str(place.path / "loaded")}))
    equal((done.returncode, done.stderr.count("exit() has given up")), (0, 1), done.stderr)


def a_function_that_takes_messages_does_not_hold_up_the_session_that_they_are_about(place):
    """It waits for a lock of the thread in gpufl_init, and for that: gpufl_init does not wait for it."""
    program = _built(place, "stuck_log", "stuck_log.c", *SHARED)
    done = subprocess.run([program, place.logs, "init"], capture_output=True, text=True, check=False, timeout=60 * lib.SLOW,
                          env=lib.environment({"LD_PRELOAD": str(lib.BUILD / "tests/fake/no_locks.so")}))
    equal((done.returncode, done.stdout, done.stderr), (7, "called\n", ""), "it begins, and it is told of the lock")


def a_function_that_takes_messages_is_not_replaced_while_it_runs(place):
    """In C++, its memory was released."""
    if lib.SANITIZER:
        lib.skip("the program is built by gcc, for the libraries of the release")
    built, program = _compile(place, "g++", "c++11", "log_replaced.cpp")
    equal((built.returncode, built.stderr), (0, ""), "it compiles")
    done = subprocess.run([program, place.logs], capture_output=True, text=True, check=False, timeout=60 * lib.SLOW,
                          env=lib.environment({"GPUFL_SYSTEM_SAMPLE_RATE_MS": "fast", "GPUFL_SHUTDOWN_TIMEOUT_MS": "100"}))
    equal((done.returncode, done.stdout.splitlines()[-1]), (7, "101"), f"it stays set until it has returned: {done.stderr}")
    equal(set(done.stdout.splitlines()[:-1]), {"old 100s"}, "it is whole")


def little_stack_is_enough(place):
    program = _built(place, "small_stack", "small_stack.c", *SHARED)
    faults = {"thread": ({}, {"GPUFL_CONFIG_FILE": "/etc/passwd"}, {"GPUFL_LOG_DIR": "/proc/none"}),
              "handler": ({"LD_LIBRARY_PATH": lib.BUILD / "tests/fake", "FAKE_NVML_HANG": "Sample",
                           "GPUFL_SYSTEM_SAMPLE_RATE_MS": "10", "GPUFL_SHUTDOWN_TIMEOUT_MS": "100"},),
              "malloc": ({},)}
    for how, settings in faults.items():
        for env in settings:
            done = subprocess.run([program, "" if "GPUFL_LOG_DIR" in env else place.logs, how], capture_output=True, text=True,
                                  check=False, timeout=60 * lib.SLOW, env=lib.environment({k: str(v) for k, v in env.items()}))
            equal(done.returncode, 7, f"{how} {env}: {done.stderr}")
            equal(bool(env) or how == "malloc", "[GPUFL]" in done.stderr, f"{how} {env}: something has to be said: {done.stderr}")


def no_thread_of_ours_reads_the_environment(place):
    """A job that calls setenv(3) would have it moved meanwhile: what is set is read in gpufl_init."""
    program = _built(place, "environment", "environment.c", *SHARED)
    for locale in ("C", "C.UTF-8"):
        done = subprocess.run([program, place.path / locale, collector.AMD["GPUFL_SYSFS"]], capture_output=True, text=True, check=False,
                              timeout=60 * lib.SLOW, env=lib.environment({**collector.AMD, "LC_ALL": locale}))
        equal((done.returncode, done.stdout), (0, ""), f"names that other threads read ({done.stderr})")
        check("cannot be restored yet: File exists" in done.stderr, done.stderr)


def a_main_that_ends_itself_gives_the_process_its_status(place):
    """As if there were no thread of ours. Before, the job seemed to have succeeded."""
    program = _built(place, "main_left", "main_left.c", *SHARED)
    for how, status in (("exit", 4), ("strict", 4), ("killed", -signal.SIGKILL)):
        logs = place.path / how
        done = subprocess.run([program, logs, how], capture_output=True, text=True, check=False, timeout=60 * lib.SLOW,
                              env=lib.environment({}))
        equal((done.returncode, done.stderr), (status, ""), how)
        session, = logs.iterdir()
        equal(collector.records(session, "system")[-1]["type"], "shutdown", f"{how}: the session has an end")


def threads_of_the_kernel_keep_no_process(place):
    """Those of io_uring are listed among the job's. Its own ones work on when main has left."""
    program = _built(place, "ring", "ring.c", *SHARED)
    done = subprocess.run([program, place.logs], capture_output=True, text=True, check=False, timeout=60 * lib.SLOW,
                          env=lib.environment({}))
    if done.returncode == 77:
        lib.skip(f"no io_uring: {done.stderr}")
    equal((done.returncode, done.stdout, done.stderr), (0, "worked\n", ""), "it ends as it does alone")
    session, = place.logs.iterdir()
    equal(collector.paired(session), {"work": 1}, "scopes")
    equal(collector.records(session, "system")[-1]["type"], "shutdown", "the session has an end")


def a_child_that_was_made_without_handlers_of_fork_waits_for_nothing(place):
    """It has no writer that could answer; the session is its parent's."""
    program = _built(place, "foreign_child", "foreign_child.c", *SHARED)
    done = subprocess.run([program, place.logs], capture_output=True, text=True, check=False, timeout=60 * lib.SLOW,
                          env=lib.environment({}))
    equal((done.returncode, done.stdout), (7, "5 5 3 1\n"), done.stderr)
    said, = done.stderr.splitlines()
    check("not recording: this process was made by _Fork()" in said, said)
    session, = place.logs.iterdir()
    equal(collector.paired(session), {"in the parent": 1, "with the parent's memory": 1}, "scopes")
    equal(collector.records(session, "system")[-1]["type"], "shutdown", "its end")


def the_old_name_of_an_option_does_not_compile(place):
    """S2-35."""
    done, _ = _compile(place, "g++", "c++17", "old_name.cpp", link=False)
    check(done.returncode != 0 and "sampling_auto_start" in done.stderr, done.stderr)


def _repeated(session):
    """What begins of scopes say of repeat and warmup, by name, where they say anything."""
    names, rows = {}, []
    for r in collector.records(session, "scope"):
        names |= r.get("scope_name_dict", {})
    for row in collector.rows(session, "scope", "scope_event_batch"):
        rows += [row] if row["repeat"] or row["warmup"] else []
    equal({row["event_type"] for row in rows}, {0}, "begins alone say it")
    return {names[str(row["name_id"])]: (row["repeat"], row["warmup"]) for row in rows}


def _run_job(place, env, part="threads"):
    done = place.run("tests/e2e/job", place.logs, part, env=env)
    session = place.logs / done.stdout.split("\n")[0]
    equal(done.returncode, 0, f"the job ({done.stderr})")
    return done, session


def _capabilities(session):
    found, = (r for r in collector.records(session, "device")
              if r["type"] == "capture_capabilities")
    return found


def every_engine_is_recorded_as_requested_and_monitor_runs(place):
    """S2-27, S2-48, S2-70: one sentence, and the session."""
    wire = {"Monitor": "nvidia.none", "Trace": "nvidia.trace", "PcSampling": "nvidia.pc_sampling",
            "SassMetrics": "nvidia.sass_metrics", "RangeProfiler": "nvidia.range_profiler",
            "Deep": "nvidia.pc_sampling_with_sass", "PmSampling": "nvidia.pm_sampling",
            "RangeProfilerKernelReplay": "nvidia.range_profiler_kernel_replay"}
    for name, on_wire in wire.items():
        done, session = _run_job(place, {"GPUFL_PROFILING_ENGINE": name}, "control-flow")
        found = _capabilities(session)
        equal((found["requested_engine"], found["selected_engine"]), (on_wire, "nvidia.none"), name)
        equal(done.stderr.count("\n"), 0 if name == "Monitor" else 1, f"sentences: {done.stderr}")
    done, session = _run_job(place, {"GPUFL_PROFILING_ENGINE": "Foo"}, "control-flow")
    check("PcSampling" in done.stderr and done.stderr.count("\n") == 1, done.stderr)
    status = {c["feature"]: c["status"] for c in _capabilities(session)["capabilities"]}
    equal((status["sync_activity"], status["memory_activity"]), ("skipped", "not_requested"),
          "requested by default, or not")


def what_code_does_not_set_comes_from_the_environment(place):
    env = {"GPUFL_LOG_DIR": str(place.path / "from-env"), "GPUFL_APP_NAME": "named", "GPUFL_PROFILING_ENGINE": "TRACE",
           "GPUFL_SYSTEM_SAMPLE_RATE_MS": "10"}
    words = ("backend=3", "continuous=1", "init", "scope:a:100", "shutdown")
    done = place.run("tests/e2e/script", *words, env=env, cwd=place.path)
    session = place.path / "from-env" / done.stdout.split()[1]
    equal(collector.records(session, "system")[0]["app"], "named", "name")
    check(list(collector.rows(session, "system", "host_metric_batch")), "samples")
    equal(_capabilities(session)["requested_engine"], "nvidia.trace", "in any case")
    done = place.run("tests/e2e/script", f"log_path={place.logs}", "app_name=mine", *words, env=env)
    equal(collector.records(place.logs / done.stdout.split()[1], "system")[0]["app"], "mine", "code goes first")
    done = place.run("tests/e2e/script", f"log_path={place.logs}", *words, env={"GPUFL_SYSTEM_SAMPLE_RATE_MS": "fast"})
    check("GPUFL_SYSTEM_SAMPLE_RATE_MS=fast ignored: expected a whole number" in done.stderr, done.stderr)


def _injected(place, how, stderr=subprocess.PIPE):
    """What became of injected.c, and where sessions of gpufl trace would be."""
    fake, other = lib.BUILD / "tests/fake", place.path / "other"
    if lib.SANITIZER or lib.EMULATOR or not (fake / "libcupti.so.13").exists():
        lib.skip("the program is built by gcc, for the libraries of the release, and needs the fake libcupti")
    built, program = _compile(place, "gcc", "gnu11", "injected.c")
    equal(built.returncode, 0, built.stderr)
    env = {"LD_LIBRARY_PATH": f"{fake}:{lib.BUILD}", "FAKE_CUPTI_INIT": how, "GPUFL_PROFILING_ENGINE": "Trace",
           "CUDA_INJECTION64_PATH": str(lib.BUILD / "libgpufl-inject.so"), "GPUFL_LOG_DIR": str(other),
           "GPUFL_APP_NAME": "traced"}
    done = subprocess.run([program, place.logs, how], stdout=subprocess.PIPE, stderr=stderr, text=True, check=False, timeout=60,
                          env=lib.environment(env))
    equal(done.returncode, 0, f"{how}: {done.stderr}")
    return done, other


def what_is_said_under_injection_does_not_end_a_job_whose_stderr_nobody_reads(place):
    read, write = os.pipe()
    os.close(read)
    try:
        _injected(place, "behind", write)
    finally:
        os.close(write)


def a_program_that_records_itself_keeps_its_session_under_injection(place):
    """Also if its gpufl_init is at work as CUDA starts: because CUPTI, which it calls, starts it, or waits while another
    thread of the program does. The library that is injected there does not wait for gpufl_init in turn."""
    for how in ("behind", "within", "beside"):
        done, other = _injected(place, how)
        before, behind = done.stdout.split()
        equal(behind, before, f"{how}: the session")
        equal(collector.paired(place.logs / before), {"job": 1}, f"{how}: its scope")
        equal(len(list(collector.rows(place.logs / before, "device", "kernel_event_batch"))), 1, f"{how}: its kernel")
        check(not other.exists(), f"{how}: there is no other session")
        session = f", in session {before}" if how == "behind" else ""
        equal(done.stderr, f"[GPUFL] the program records itself{session}: no other session is begun for gpufl trace\n", how)


def a_program_that_asks_for_a_session_does_not_record_itself(place):
    """A call that has the lock for a moment is not taken for a session. Ten times: it is a matter of chance."""
    for _ in range(10):
        done, _ = _injected(place, "asks")
        check(done.stdout.strip() and not done.stderr, f"a session: {done.stdout} {done.stderr}")


def a_program_that_records_itself_once_cuda_runs_ends_the_session_of_trace(place):
    """Which has what was before, and is whole."""
    done, other = _injected(place, "before")
    own, = {*done.stdout.split()}
    traced, = (d for d in other.iterdir() if not d.name.startswith("."))
    for session, whose in ((traced, "of trace"), (place.logs / own, "its own")):
        records = collector.records(session, "device")
        equal((records[0]["app"], records[-1]["type"]), ("traced", "shutdown"), f"{whose}: its name, and its end")
        equal(len(list(collector.rows(session, "device", "kernel_event_batch"))), 1, f"{whose}: its kernel")
    equal(done.stderr, f"[GPUFL] the program begins a session of its own: session {traced.name} of gpufl trace ends here\n",
          "and it is said")


def remote_upload_says_one_line_and_uploads_nothing(place):
    """S2-15, S2-16, S2-47."""
    import sink
    with sink.Sink() as s:
        done, _ = _run_job(place, {"GPUFL_REMOTE_UPLOAD": "1", "GPUFL_BACKEND_URL": s.url,
                                   "GPUFL_API_KEY": lib.KEY}, "control-flow")
        equal(done.stderr.count("\n"), 1, done.stderr)
        check("remote_upload" in done.stderr and "deprecated" in done.stderr, done.stderr)
        equal(s.requests, [], "requests")


def the_configuration_file_stands_below_environment_and_code(place):
    """S2-37, S2-44, S2-46."""
    config = place.path / "gpufl.json"
    config.write_text(json.dumps({"system_sample_rate_ms": 20, "continuous_system_sampling": True,
                                  "app_name": "from file", "profiling_engine": "Trace",
                                  "enable_memory_tracking": True, "later": {"a": [1]}}))
    job = place.start("tests/e2e/script", f"log_path={place.logs}", "app_name=by code", "init", "hold", "shutdown",
                      env={"GPUFL_CONFIG_FILE": str(config), "GPUFL_PROFILING_ENGINE": "Monitor"},
                      stdin=subprocess.PIPE)
    session, = lib.until(lambda: list(place.logs.glob("[!.]*")), "a session")
    lib.until(lambda: lib.on_disk(session, "system").count(b'"host_metric_batch"') > 3, "file: rate 20")
    job.communicate(b"")
    check('unknown key "later"' in job.log.read_text(), job.log.read_text())
    times = [row["base"] + row["dt_ns"] for row in collector.rows(session, "system", "host_metric_batch")]
    gap = min(b - a for a, b in zip(times, times[1:]))
    check(gap < 100e6 * lib.SLOW, f"file: rate 20, no two samples nearer than {gap} ns")
    equal(_capabilities(session)["requested_engine"], "nvidia.none", "environment beats file")
    equal(collector.records(session, "device")[0]["app"], "by code", "code beats file")
    status = {c["feature"]: c["requested"] for c in _capabilities(session)["capabilities"]}
    equal(status["memory_activity"], True, "a flag by file")


def a_broken_configuration_file_is_reported_with_line_and_column(place):
    """S2-37: init goes on; a value of another type says which was expected."""
    config = place.path / "gpufl.json"
    for text, word in (('{\n "app_name": "x",\n oops }', "gpufl.json:3:2:"), ("", "gpufl.json:1:1:"),
                       ("[1]", "gpufl.json:1:1:"), ('{"sys_sample_rate_ms":5}', 'did you mean "system_sample_rate_ms"?'),
                       ('{"system_sample_rate_ms":"fast"}', "gpufl.json: system_sample_rate_ms ignored: expected a number\n"),
                       ('{"continuous_system_sampling":1}', "gpufl.json: continuous_system_sampling ignored: expected a boolean\n"),
                       ('{"app_name":5}', "gpufl.json: app_name ignored: expected a string\n"),
                       ('{"profiling_engine":true}', "gpufl.json: profiling_engine ignored: expected a string\n"),
                       ('{"backend":"Intel"}', "Auto, Nvidia"), ('{"a":' + "[" * 200, "gpufl.json:1:23:")):
        config.write_text(text)
        done, _ = _run_job(place, {"GPUFL_CONFIG_FILE": str(config)}, "control-flow")
        check(word in done.stderr and done.stderr.count("\n") == 1, f"{text!r}: {done.stderr}")
    done, _ = _run_job(place, {"GPUFL_CONFIG_FILE": "/nonexistent.json"}, "control-flow")
    check("/nonexistent.json" in done.stderr, done.stderr)
    os.mkfifo(place.path / "pipe")
    done, _ = _run_job(place, {"GPUFL_CONFIG_FILE": str(place.path / "pipe")}, "control-flow")
    equal(done.stderr, f"[GPUFL] GPUFL_CONFIG_FILE: '{place.path}/pipe' ignored: a pipe, not a regular file "
                       "(give a regular file, or a link to one)\n", "nobody writes into it")


def a_directory_that_cannot_be_written_names_what_has_set_it(place):
    for words, env, name in ((("log_path=/proc/none",), {}, "log_path"), (("log_path=/proc/none",), {"GPUFL_LOG_DIR": "/tmp"}, "log_path"),
                             ((), {"GPUFL_LOG_DIR": "/proc/none"}, "GPUFL_LOG_DIR")):
        done = place.run("tests/e2e/script", *words, "init", env=env)
        equal(done.stderr, "[GPUFL] not recording: cannot create a session in /proc/none: No such file or directory "
                           f"(set {name} to a writable directory)\n", f"{words} {env}")


def no_wait_ends_as_the_clock_of_the_day_is_set(place):
    if lib.SANITIZER:
        lib.skip("its runtime wants to be loaded first")
    (place.path / "set").write_text("-100000")
    for env in ({}, {"LD_PRELOAD": str(lib.BUILD / "tests/fake/fast_clock.so"), "FAKE_CLOCK_SET": str(place.path / "set")}):
        done = place.run("tests/e2e/script", f"log_path={place.logs}", *("init", "scope:a:1", "fork", "shutdown") * 10, env=env)
        equal((done.returncode, done.stderr), (0, ""), f"{env}")
    equal(len(list(place.logs.glob("[!.]*"))), 20, "sessions")


def debug_output_is_on_stderr_and_a_clean_run_is_silent(place):
    """S2-39."""
    quiet, _ = _run_job(place, {}, "control-flow")
    loud, _ = _run_job(place, {"GPUFL_DEBUG": "1"}, "control-flow")
    equal((quiet.stderr, len(quiet.stdout.splitlines())), ("", 1), "quiet")
    check(loud.stderr and len(loud.stdout.splitlines()) == 1, "loud on stderr alone")


def flush_logs_always_syncs_each_write(place):
    """S2-38."""
    if not shutil.which("strace") or lib.SANITIZER:
        lib.skip("needs strace; a sanitizer makes calls of its own")
    for on in (False, True):
        out = place.path / f"strace-{on}"
        env = lib.environment({"GPUFL_FLUSH_LOGS_ALWAYS": "1"} if on else {})
        subprocess.run(["strace", "-f", "-o", out, "-e", "trace=write,fdatasync,fsync",
                        lib.BUILD / "tests/e2e/job", place.logs, "control-flow"], env=env,
                       check=True, stdout=subprocess.DEVNULL)
        text = out.read_text()
        syncs = len(re.findall(r"f(data)?sync\(", text))
        writes = len(re.findall(r"write\(\d+, \"\{\\\"", text))
        check(writes > 5, f"{writes} writes")
        # The manifest is written once, before the session is there.
        equal(syncs, writes - 1 if on else 0, f"syncs with flush_logs_always {on}")


def stats_flush_and_report_tell_the_same(place):
    """S2-52."""
    done = place.run("tests/e2e/job", place.logs, "stats")
    equal(done.returncode, 0, done.stderr)
    lines = done.stdout.splitlines()
    session = place.logs / lines[0]
    recorded, after = int(lines[1].split()[0]), int(lines[2].split()[0])
    equal((recorded, after), (10, 11), "pairs at the flush, and after the end")
    report = "\n".join(lines[3:])
    for word in ("duration", "work", "last", "Losses", session.name):
        check(word in report, f"{word} in the report")
    equal(collector.paired(session), {"work": 10, "last": 1, "unused": 1}, "pairs")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
