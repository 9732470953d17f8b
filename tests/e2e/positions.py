# SPDX-License-Identifier: Apache-2.0
"""What a sender of positions says: places, parts and claims; and its requests."""
import http.client
import json

import lib
from checksum import crc32c

ZERO = {"file": 1, "offset": 0, "lines": 0, "crc": 0}


def behind(begin, data, file=None, offset=None, newline=False):
    """The place behind \\p data, which follows \\p begin, or begins at (file, offset)."""
    file = begin["file"] if file is None else file
    if offset is None:
        offset = begin["offset"] if file == begin["file"] else 0
    return {"file": file, "offset": offset + len(data), "lines": begin["lines"] + data.count(b"\n") + newline,
            "crc": crc32c(data, begin["crc"])}


def place_of(end):
    """The place of an end as it was answered."""
    return {k: end[k] for k in ZERO}


class Part:
    """One part, from a begin on; more is what else it says."""

    def __init__(self, session, channel, begin, data, file=None, newline=False, **more):
        offset = more["start"]["offset"] if "start" in more else None
        file = more["start"]["file"] if "start" in more else file
        self.end = behind(begin, data, file, offset, newline)
        self.said = {"session": session, "channel": channel, "begin": begin, "end": self.end, **more}
        self.data = b"" if more.get("skip") else data
        if newline:
            self.said["added_newline"] = True
            self.data += b"\n"


def request(backend, method, path, body=b"", **headers):
    """(status, the answer)."""
    connection = http.client.HTTPConnection("127.0.0.1", backend.port, timeout=20 * lib.SLOW)
    connection.request(method, "/api/v1" + path, body, {
        "Authorization": f"Bearer {lib.KEY}", **{k.replace("_", "-"): v for k, v in headers.items()}})
    reply = connection.getresponse()
    data = reply.read()
    connection.close()
    return reply.status, json.loads(data)


def body_of(*parts):
    line = json.dumps({"parts": [p.said for p in parts]}, separators=(",", ":"))
    return line.encode() + b"\n" + b"".join(p.data for p in parts)


def send(backend, *parts):
    """The answers, part by part."""
    status, answer = request(backend, "POST", "/events/parts", body_of(*parts))
    lib.equal(status, 200, f"{answer}")
    lib.equal(len(answer["parts"]), len(parts), "answers")
    return answer["parts"]


def verdicts(backend, *parts):
    return [a["verdict"] for a in send(backend, *parts)]


def streams(backend, session):
    """The answer, and the ends by channel."""
    status, answer = request(backend, "GET", f"/sessions/{session}/streams")
    lib.equal(status, 200, f"{answer}")
    return answer, {s["channel"]: s["end"] for s in answer["streams"]}


def ask_place(backend, session, channel, file, offset):
    status, answer = request(backend, "GET", f"/sessions/{session}/streams?channel={channel}&file={file}&offset={offset}")
    return status, answer.get("place", answer)


def claim(backend, session, **channels):
    """Channels by name: a place, or one with lost_after."""
    body = json.dumps({"channels": [{"channel": c, **p} for c, p in channels.items()]}).encode()
    return request(backend, "POST", "/events/session-complete", body, X_GpuFlight_Session_Id=session)
