# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: what it shows equals the files, moves by itself, and takes every
name from a session as text. Usage: test_page.py BUILD_DIR."""
import collections
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import lib  # noqa: E402
from browser import Browser  # noqa: E402
from lib import check, equal, until  # noqa: E402
from positions import Part, ZERO, claim, verdicts  # noqa: E402
from test_backend import SESSION, line, post  # noqa: E402
from test_dashboard import BASE, COPIES, SOURCE, _launches, _line, _metrics, _names, _records, _rows, _sampled_lines  # noqa: E402

SCRIPTS_MAX_BYTES = 300 << 10
HOSTILE = ["<img src=x onerror=\"document.title='taken'\">", "\"'&</td></table><script>alert(1)</script>",
           "k" * 10240, "\u202egnp.exe", "${alert(1)}", "javascript:alert(1)"]


class _Page:
    """A backend and a browser that looks at it."""

    def __init__(self, place, *args, **browser):
        self.backend = lib.Backend(place, *args)
        self.browser = Browser(**browser)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                equal(self.browser.errors(), [], "what the console says")
        finally:
            self.browser.close()
            self.backend.kill()  # so that a next one can have its database

    def open(self, part=""):
        self.browser.go(f"{self.backend.url}/{part}")

    def see(self, text, selector="#view", seconds=20):
        until(lambda: text in self.browser.text(selector), f"the page shows {text!r}", seconds)

    def table(self, first_heading):
        """The rows of the table with that first column, as text."""
        return self.browser.run(
            "const t = [...document.querySelectorAll('table')].find(t => t.querySelector('th').innerText"
            " === arguments[0]);"
            "return t ? [...t.tBodies[0].rows].map(r => [...r.cells].map(c => c.innerText.trim())) : []",
            first_heading)

    def asked(self):
        """URLs of all that the page has asked for."""
        return self.browser.run("return performance.getEntriesByType('resource').map(e => e.name)")


def the_command_of_the_empty_page_works_as_pasted(place):
    lib.copy_samples(place)
    with _Page(place) as page:
        page.open()
        page.see("Nothing is stored yet")
        command = page.browser.run("return document.querySelector('code').innerText")
        done = subprocess.run(command, shell=True, cwd=place.logs, capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{lib.BUILD}:{os.environ['PATH']}"})
        equal(done.returncode, 0, f"{command}: {done.stderr}")
        until(lambda: page.table("State"), "the sessions appear")


def a_running_job_appears_and_moves_by_itself(place):
    with _Page(place) as page:
        lib.agent(place, page.backend.url)
        page.open()
        page.see("Nothing is stored yet")
        page.browser.run("window.kept = 1")
        job = place.start("examples/demo-job", place.logs, 12)
        page.see("demo-job")
        until(lambda: page.table("State")[0][0] == "live", "it is live")
        lines = page.table("State")[0][7]
        until(lambda: page.table("State")[0][7] != lines, "lines come in")
        page.browser.run("document.querySelector('td a').click()")
        page.see("GPU utilisation")
        until(lambda: page.browser.run("return document.querySelectorAll('.plot canvas').length > 6"),
              "charts are drawn")
        facts = page.browser.text("dl")
        until(lambda: page.browser.text("dl") != facts, "the session's figures move")
        page.see("complete", "dl", 40)
        equal(job.wait(20), 0, "the job")
        equal(page.browser.run("return window.kept"), 1, "without a reload")


def _pass_minutes(place, minutes):
    """To the backend, all that it has is as much older."""
    with contextlib.closing(sqlite3.connect(place.path / "backend.db")) as db, db:
        db.execute("UPDATE session SET last_seen_ms = last_seen_ms - ?", (minutes * 60000,))
        db.execute("UPDATE alive SET told_ms = told_ms - ?1, last_byte_ms = last_byte_ms - ?1", (minutes * 60000,))


def live_expires_without_news(place):
    with _Page(place) as page:
        equal(post(page.backend, line(1), key=None)[0], 200, "stored")
        page.open()
        until(lambda: page.table("State")[0][0] == "live", "it is live")
        until(lambda: page.table("State")[0][0].startswith("live, silent since "), "it is silent", 40)
        _pass_minutes(place, 10)
        until(lambda: page.table("State")[0][0].startswith("silent"), "it no longer is", 40)
        alive = b'{"sessions":[{"session":"%s","silent_ms":60000}]}' % SESSION.encode()
        equal(post(page.backend, alive, path="/api/v1/events/alive", key=None)[0], 200, "its sender sees it alive")
        until(lambda: page.table("State")[0][0].startswith("live, silent since "), "it is live, and silent")
        equal(post(page.backend, line(2), key=None)[0], 200, "more comes")
        until(lambda: page.table("State")[0][0] == "live", "it is live again")
        shutdown = b'{"type":"shutdown","session_id":"%s","ts_ns":5,"signaled":true}\n' % SESSION.encode()
        equal(post(page.backend, shutdown, key=None)[0], 200, "a launcher's shutdown")
        equal(post(page.backend, b"", path="/api/v1/events/session-complete", key=None)[0], 200, "complete")
        until(lambda: page.table("State")[0][0] == "ended without shutdown: killed or crashed", "it was killed")
        page.open(f"#/s/{SESSION}")
        page.see("ended without shutdown", "dl")


def _shown_ns(text):
    number, unit = text.replace(",", "").split()
    return float(number) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]


def the_kernel_table_is_that_of_the_files(place):
    with _Page(place) as page:
        sessions = lib.copy_samples(place)
        lib.upload(place, page.backend.url, "--all-sessions")
        for session in sessions:
            names = _names(session, "device", "kernel_dict")
            durations = collections.defaultdict(list)
            for _, row in _rows(session, "device", "kernel_event_batch"):
                durations[names[row["kernel_id"]]].append(row["duration_ns"])
            page.open(f"#/s/{session.name}")
            page.see("Kernels")
            rows = page.table("Kernel")
            equal(len(rows), len(durations), "kernels")
            for name, calls, total, mean, least, largest, share in rows:
                of = durations[name]
                equal(int(calls.replace(",", "")), len(of), f"calls of {name}")
                for text, ns in ((total, sum(of)), (mean, sum(of) / len(of)), (least, min(of)),
                                 (largest, max(of))):
                    check(abs(_shown_ns(text) - ns) <= 0.006 * ns + 1, f"{name}: {text} for {ns} ns")
                part = 100 * sum(of) / sum(map(sum, durations.values()))
                check(abs(float(share.split()[0]) - part) <= 0.051, f"{name}: {share} for {part}")


def memory_and_hotspots_are_those_of_the_files(place):
    with _Page(place) as page:
        sessions = lib.copy_samples(place)
        lib.upload(place, page.backend.url, "--all-sessions")
        sampled = copied = waited = 0
        for session in sessions:
            page.open(f"#/s/{session.name}")
            page.see("Kernels")
            copies = collections.Counter()
            for _, row in _rows(session, "device", "memcpy_event_batch"):
                copies[COPIES[row["copy_kind"]]] += 1
            equal({row[0]: int(row[1].replace(",", "")) for row in page.table("Direction")}, dict(copies), "copies")
            syncs = [row["duration_ns"] for _, row in _rows(session, "scope", "synchronization_event_batch")]
            equal(sum(int(row[1].replace(",", "")) for row in page.table("Waits on")), len(syncs), "syncs")
            functions = _names(session, "scope", "function_dict")
            samples = collections.Counter()
            for _, row in _rows(session, "scope", "profile_sample_batch"):
                if row["sample_kind"] == 0:
                    samples[functions[row["function_id"]]] += row["metric_value"]
            equal({row[0]: int(row[1].replace(",", "")) for row in page.table("Function")}, dict(samples),
                  "hotspots")
            channels = {row[0]: int(row[2].replace(",", "")) for row in page.table("Channel")}
            for channel, lines in channels.items():
                equal(lines, sum(1 for _ in _records(session, channel)), f"lines of {channel}")
            stored = sum(int(row[1].replace(",", "")) for row in page.table("Channel"))
            check(0 < sum(int(row[1]) for row in page.table("Delay")) <= stored, "batches with a time in them")
            sampled, copied, waited = sampled + len(samples), copied + len(copies), waited + len(syncs)
        check(sampled and copied and waited, "the sessions lack something")


def what_is_verified_and_what_is_not_there_is_shown(place):
    """In the list, and on the session's own page."""
    want = {}

    def ends(page, text, begin=ZERO, shuts_down=True, claimed=None, **loss):
        session = f"{len(want):08d}-1111-4111-8111-111111111111"
        want[session] = text
        for more in ([loss] if loss else []) * (2 if "2 ranges" in text else 1):
            data = b"no object\n" if "skip" in more else line(1, session)
            part = Part(session, "device", begin, data, **more)
            equal(verdicts(page.backend, part), ["stored"], text)
            begin = part.end
        part = Part(session, "device", begin, line(2, session, "shutdown" if shuts_down else "x"))
        equal(verdicts(page.backend, part), ["stored"], text)
        equal(claim(page.backend, session, device={**part.end, **(claimed or {})})[0], 200, text)

    with _Page(place) as page:
        ends(page, "complete, verified")
        ends(page, "ended without shutdown: killed or crashed; verified", shuts_down=False)
        ends(page, "ended, lines are missing: 1 range is lost", start={"file": 2, "offset": 0, "file_crc": 0})
        ends(page, "ended, lines are missing: 2 ranges were not sent", skip=True)
        ends(page, "ended, lines are missing: what followed them is lost", claimed={"lost_after": True})
        for n, what in ((90, "complete"), (91, "ended without shutdown: killed or crashed")):  # nobody has compared them
            session = f"{n:08d}-1111-4111-8111-111111111111"
            want[session] = what
            equal(post(page.backend, line(1, session, "shutdown" if n == 90 else "x"), session=session)[0], 200, what)
            equal(post(page.backend, b"", path="/api/v1/events/session-complete", session=session)[0], 200, what)
        page.open()
        until(lambda: len(page.table("State")) == len(want), "all are in the list")
        equal({row[1]: row[0] for row in page.table("State")}, want, "states")
        for session, text in want.items():
            page.open(f"#/s/{session}")
            page.see(session)
            equal(page.browser.text("#view dd span"), text, "of the session alone")


def older_sessions_are_a_button_away(place):
    with _Page(place) as page:
        for n in range(1003):
            session = f"{n:08d}-1111-4111-8111-111111111111"
            equal(post(page.backend, line(1, session), session=session)[0], 200, "stored")
        page.open()
        until(lambda: len(page.table("State")) == 1000, "the newest thousand")
        page.browser.run("[...document.querySelectorAll('button')].find("
                         "b => b.textContent === 'Older sessions').click()")
        until(lambda: len(page.table("State")) == 1003, "all of them")
        check("Older" not in page.browser.text("#view"), "there are no older ones")


class _Proxy(http.server.BaseHTTPRequestHandler):
    """Puts the backend below /gpu/flight/."""
    prefix = "/gpu/flight"

    def do_GET(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.backend.port)
        connection.request("GET", self.path.removeprefix(self.prefix)
                           if self.path.startswith(self.prefix + "/") else "/nowhere")
        reply = connection.getresponse()
        self.send_response(reply.status)
        for header in ("Content-Type", "Content-Security-Policy"):
            if reply.headers[header]:
                self.send_header(header, reply.headers[header])
        self.end_headers()
        try:
            while data := reply.read1(65536):
                self.wfile.write(data)
        except (OSError, http.client.HTTPException):
            pass

    def log_message(self, *_):
        pass


def below_a_prefix_of_a_proxy_all_is_found(place):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Proxy) as proxy:
        proxy.daemon_threads = True
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        front = f"http://127.0.0.1:{proxy.server_port}{_Proxy.prefix}/"
        with _Page(place) as page:  # it ends first: what it still asks for would be a failure
            proxy.backend = page.backend
            _metrics(page.backend, 100, 2)
            page.browser.go(front)
            until(lambda: page.table("State"), "the list")
            page.see("live", "#link")
            page.browser.run("document.querySelector('td a').click()")
            page.see("GPU utilisation")
            _metrics(page.backend, 200, 2)  # it is told, through the proxy
            until(lambda: "\n30, " in page.browser.text("dl"), "it moves")
            equal([url for url in page.asked() if not url.startswith(front)], [], "what was asked elsewhere")
        proxy.shutdown()


def keys_alone_reach_a_session(place):
    with _Page(place) as page:
        _metrics(page.backend, 100, 1)
        page.open()
        until(lambda: page.table("State"), "the list")
        for _ in range(10):
            page.browser.key("\ue004")  # Tab
            if page.browser.run("return document.activeElement.closest('td') !== null"):
                break
        page.browser.key("\ue007")  # Enter
        page.see("GPU utilisation")


def names_are_shown_as_text(place):
    with _Page(place) as page:
        body = json.dumps({"type": "job_start", "session_id": SESSION, "ts_ns": BASE, "app": HOSTILE[0],
                           "hostname": HOSTILE[1], "devices": [{"name": HOSTILE[0]}]},
                          separators=(",", ":")).encode() + b"\n"
        body += _line("kernel_event_batch", BASE, ["dt_ns", "kernel_id", "duration_ns"],
                      [[i, i + 1, 100 - i] for i in range(len(HOSTILE))])
        body += _line("scope_event_batch", BASE, ["dt_ns", "scope_instance_id", "name_id", "event_type",
                                                  "depth"], [[0, 1, 1, 0, 0], [99, 1, 1, 1, 0]])
        body += json.dumps({"type": "dictionary_update", "session_id": SESSION,
                            "kernel_dict": {str(i + 1): name for i, name in enumerate(HOSTILE)},
                            "scope_name_dict": {"1": HOSTILE[0]}}, separators=(",", ":")).encode() + b"\n"
        equal(post(page.backend, body)[0], 200, "stored")
        page.open()
        page.see(HOSTILE[0])
        page.open(f"#/s/{SESSION}")
        page.see("Kernels")
        rows = [row[0] for row in page.table("Kernel")]
        equal(rows[:2], HOSTILE[:2], "markup")
        check(rows[2].startswith("kkk") and len(rows[2]) < 400, "a long name is cut")
        equal(rows[3:], HOSTILE[3:], "the others")
        equal(page.browser.run("return document.querySelectorAll('img, main script').length"), 0, "no markup")
        check("taken" not in page.browser.run("return document.title"), "nothing ran")
        wide = page.browser.run("return document.documentElement.scrollWidth - innerWidth")
        check(wide <= 0, f"the page is {wide} pixels too wide")


def _parts(page):
    """[((from, to), {what was asked of that part of the axis})] in the order of asking."""
    parts = []
    for url in page.asked():
        m = re.search(r"/(metrics|scopes)\?(?:.*from_ns=(\d+)&to_ns=(\d+))?", url)
        if m:
            part = (int(m[2]), int(m[3])) if m[2] else None
            if not parts or parts[-1][0] != part:
                parts.append((part, set()))
            parts[-1][1].add(m[1])
    return parts


def _next_part(page, seen):
    """The part that charts and scopes ask for once more than \p seen parts were asked for."""
    def found():
        parts = _parts(page)
        return parts[-1][0] if len(parts) > seen and parts[-1][1] == {"metrics", "scopes"} else None
    return until(found, "charts and scopes show another part")


def _open_charts(page):
    _metrics(page.backend, 1000, 2)
    page.open(f"#/s/{SESSION}")
    page.see("GPU utilisation")
    until(lambda: page.browser.run("return document.querySelectorAll('.plot canvas').length") >= 4,
          "charts are drawn")


def _whole_session_button(page, press=False):
    return page.browser.run(
        "const b = [...document.querySelectorAll('button')].find(b => b.textContent === 'Whole session');"
        "if (arguments[0]) b.click(); return !b.hidden", press)


def dragging_zooms_charts_and_scopes_together(place):
    with _Page(place) as page:
        _open_charts(page)
        x, y, width = page.browser.run(
            "const e = document.querySelector('.plot'); e.scrollIntoView({block: 'center'});"
            "const r = e.getBoundingClientRect(); return [r.x, r.y + r.height / 2, r.width]")
        seen = len(_parts(page))
        page.browser.drag(int(x + width * 0.3), int(y), int(x + width * 0.6), int(y))
        begin, end = _next_part(page, seen)
        check(BASE + 20e9 < begin < BASE + 40e9 and BASE + 50e9 < end < BASE + 70e9, f"{begin} {end}")
        check(_whole_session_button(page), "the way back is there")
        _whole_session_button(page, press=True)
        check(not _whole_session_button(page), "all of it again")


def keys_zoom_and_move_the_axis(place):
    with _Page(place) as page:
        _open_charts(page)
        page.browser.run("document.querySelector('section[role=group]').focus()")
        whole = (BASE, BASE + 999 * 10**8)
        length = whole[1] - whole[0]
        for key, expected in (("+", (0.2, 0.8)), ("\ue014", (0.32, 0.92)), ("\ue012", (0.2, 0.8)),
                              ("-", (0.08, 0.92))):
            seen = len(_parts(page))
            page.browser.key(key)
            part = _next_part(page, seen)
            for at, share in zip(part, expected):
                check(abs(at - whole[0] - share * length) < 1e-3 * length, f"{key!r}: {part}")
        page.browser.key("0")
        until(lambda: not _whole_session_button(page), "all of it again")


def hot_lines_stand_beside_their_source(place):
    with _Page(place) as page:
        _sampled_lines(page.backend)
        page.open(f"#/s/{SESSION}")
        page.see("Hot source lines")
        rows = [(where, samples, text) for where, samples, _, text in page.table("Line")]
        equal(rows, [("/src/k.cu:2", "9", SOURCE[1]), ("/src/k.cu:3", "7", SOURCE[2]),
                     ("/src/k.cu:99", "1", "source not recorded"), ("/src/other.cu:9", "1", "source not recorded")],
              "lines")


def launches_are_shown_by_scope_and_by_caller(place):
    with _Page(place) as page:
        _launches(page.backend)
        page.open(f"#/s/{SESSION}")
        page.see("GPU time by scope")
        equal([row[:2] for row in page.table("Scope")], [["a", "3"], ["a | b", "1"], ["unknown", "1"]], "scopes")
        equal([row[:2] for row in page.table("Caller")], [["g | main", "1"], ["f | main", "3"], ["unknown", "1"]],
              "callers")


def _contrast(page, selector):
    """Of an element's text against the page's background, as WCAG 2.2 computes it:
    https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio."""
    colours = page.browser.run(
        "return [getComputedStyle(document.querySelector(arguments[0])).color,"
        " getComputedStyle(document.body).backgroundColor]", selector)
    light = []
    for colour in colours:
        parts = [int(n) / 255 for n in re.findall(r"\d+", colour)[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        light.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(light) + 0.05) / (min(light) + 0.05)


def it_is_readable_light_and_dark_and_fits_a_phone(place):
    for dark, width in ((False, 1280), (True, 1280), (False, 500)):
        with _Page(place, dark=dark, width=width) as page:
            _metrics(page.backend, 100, 2)
            _sampled_lines(page.backend)
            page.open()
            until(lambda: page.table("State"), "the list")
            page.open(f"#/s/{SESSION}")
            page.see("Hot source lines")
            background = page.browser.run("return getComputedStyle(document.body).backgroundColor")
            equal(background == "rgb(22, 24, 28)", dark, f"the background {background}")
            for selector in ("h1", "td", "th", "dt", "#link", "h3", ".legend", "header a", ".dim"):
                check(_contrast(page, selector) >= 4.5, f"{selector}, dark {dark}: {_contrast(page, selector):.1f}")
            wide = page.browser.run("return document.documentElement.scrollWidth - innerWidth")
            check(wide <= 0, f"{wide} pixels too wide at {width}")


def the_first_paint_is_quick_and_all_is_served_from_here(place):
    with _Page(place) as page:
        session = lib.copy_samples(place)[0]
        lib.upload(place, page.backend.url, "--all-sessions")
        page.open(f"#/s/{session.name}")
        page.see("Kernels")
        paint = page.browser.run("return performance.getEntriesByName('first-contentful-paint')[0].startTime")
        check(paint < 1000 * lib.SLOW, f"first paint after {paint:.0f} ms")
        equal([url for url in page.asked() if not url.startswith(page.backend.url + "/")], [],
              "what other hosts were asked")
        scripts = page.browser.run(
            "return performance.getEntriesByType('resource').filter(e => e.name.endsWith('.js'))"
            ".reduce((sum, e) => sum + e.decodedBodySize, 0)")
        check(100_000 < scripts <= SCRIPTS_MAX_BYTES, f"{scripts} bytes of scripts")


def a_key_is_asked_for_once(place):
    with _Page(place, "--api-key", lib.KEY) as page:
        equal(post(page.backend, _line("kernel_event_batch", BASE, ["dt_ns", "kernel_id", "duration_ns"],
                                       [[0, 1, 5]]))[0], 200, "stored")
        page.browser.go(page.backend.url.replace("http://", f"http://any:{lib.KEY}@") + "/")
        page.see("Sessions")
        until(lambda: len(page.table("State")) == 1, "the list")
        page.browser.run("document.querySelector('td a').click()")
        page.see("Kernels")


def a_backend_that_is_gone_is_said_and_found_again(place):
    with _Page(place) as page:
        page.open()
        page.see("Nothing is stored yet")
        page.backend.kill()
        page.see("no connection", "#link")
        page.backend.start()
        page.see("live", "#link")
        page.browser.errors()  # the browser logs each refused connection


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
