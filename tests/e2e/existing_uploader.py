# SPDX-License-Identifier: Apache-2.0
"""Does to a directory what the existing client's uploader (1.3) does: it compresses bare logs in place, posts whole
files, and keeps its cursor. Written down from its documented behaviour."""
import datetime
import gzip
import json
import re
import urllib.error
import urllib.request

import lib

CURSOR = ".gpufl-upload-cursor.json"
NAME = re.compile(r"(?P<channel>[A-Za-z0-9_-]+)(?:\.(?P<index>\d+))?\.log(?P<gz>\.gz)?")


def _repair(session):
    """A bare log is compressed in place, whether its writer lives or not."""
    for plain in sorted(session.glob("*.log")):
        packed = plain.with_name(plain.name + ".gz")
        if plain.stat().st_size and not packed.exists():
            packed.write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()


def _files(session):
    """By channel and index; those without one come last."""
    found = [(NAME.fullmatch(f.name), f) for f in session.iterdir() if f.is_file()]
    return [f for _, _, f in sorted((m["channel"], int(m["index"] or 0) or 1 << 30, f) for m, f in found if m)]


def _post(url, session, body):
    request = urllib.request.Request(url + "/api/v1/events/stream", body, {
        "Authorization": f"Bearer {lib.KEY}", "Content-Type": "application/x-ndjson", "Content-Encoding": "gzip",
        "X-GpuFlight-Session-Id": session.name, "X-GpuFlight-Hostname": "node-7",
        "X-GpuFlight-Client-Version": "1.3.0", "X-GpuFlight-Wire-Version": "1",
        "User-Agent": "gpufl-client/1.3.0 (deferred-upload)"})
    try:
        with urllib.request.urlopen(request, timeout=30 * lib.SLOW) as reply:
            return reply.status
    except urllib.error.HTTPError as e:
        return e.code


def upload(logs, url):
    """All sessions. Returns how many files were posted with success, and how many were skipped."""
    path = logs / CURSOR
    cursor = {"schema_version": 2, "uploaded_files": [], "completed_sessions": {}}
    if path.exists():
        cursor |= json.loads(path.read_text())
    posted = skipped = 0
    for session in sorted(d for d in logs.iterdir() if d.is_dir() and not d.name.startswith(".")):
        _repair(session)
        if session.name in cursor["completed_sessions"]:
            continue
        good = bad = 0
        for f in _files(session):
            entry = f"{session.name}/{f.name}"
            if entry in cursor["uploaded_files"]:
                continue
            if 200 <= _post(url, session, f.read_bytes()) <= 299:
                good += 1
                if NAME.fullmatch(f.name)["index"]:
                    cursor["uploaded_files"].append(entry)
            else:
                bad += 1
        if good and not bad and not list(session.glob(".gpufl-transport-loss.*")):
            now = datetime.datetime.now(datetime.timezone.utc)
            cursor["completed_sessions"][session.name] = {"completed_at": now.strftime("%Y-%m-%dT%H:%M:%SZ"), "events": 0}
        posted, skipped = posted + good, skipped + bad
    path.write_text(json.dumps(cursor, separators=(",", ":")))
    return posted, skipped
