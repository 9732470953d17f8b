# SPDX-License-Identifier: Apache-2.0
"""gpufl-backend against a small model of an origin: random parts, claims, restarts and deletions. SEED=n repeats one."""
import collections
import contextlib
import os
import random
import sqlite3
import sys
import uuid

import lib
from lib import equal
from positions import Part, ZERO, ask_place, claim, crc32c, place_of, send, streams
from test_backend import line

CHANNELS = ("device", "system")
STEPS = 400


class Stream:
    def __init__(self):
        self.end, self.data, self.file, self.losses, self.skips = ZERO, b"", b"", 0, 0
        self.lost_after = self.expired = False
        self.places = []  # (file, offset, lines, crc, file_crc) of each end of a line that is stored


class Model:
    """An origin as the contract describes it."""

    def __init__(self):
        self.streams, self.state = {}, collections.defaultdict(lambda: "open")

    def stream(self, part):
        return self.streams.get((part.said["session"], part.said["channel"]), Stream())

    def take(self, parts):
        seen, verdicts = set(), []
        for part in parts:
            key = part.said["session"], part.said["channel"]
            verdicts.append("refused" if key in seen else "damaged" if part.damaged else self.judge(key, part))
            seen.add(key)
        return verdicts

    def judge(self, key, part):
        stream, reopens = self.stream(part), part.said.get("reopens")
        closed = self.state[key[0]] != "open" and not reopens
        expired = any(s.expired for (i, _), s in self.streams.items() if i == key[0])
        if stream.end == part.said["begin"] and not expired and not closed:
            self.streams[key] = stream
            self.store(stream, part)
            self.state[key[0]] = "open"
            return "stored"
        return "known" if stream.end == part.end else "expired" if expired else "complete" if closed else "conflict"

    def store(self, stream, part):
        said, end = part.said, part.end
        if "start" in said:
            stream.losses += 1
            stream.file = stream.file[:said["start"]["offset"]] if said["start"]["file"] == stream.end["file"] else b""
        elif end["file"] != stream.end["file"]:
            stream.file = b""
        stream.file += part.raw
        stream.data += part.data
        stream.skips += "skip" in said
        stream.end, stream.lost_after = end, False

    def claim(self, session, channels):
        own = {c: s for (i, c), s in self.streams.items() if i == session}
        if any(s.expired for s in own.values()):
            return 410
        lost = {c for c, p in channels.items() if c not in own and place_of(p) == ZERO and p.get("lost_after")}
        unsaid = {c for c, s in own.items() if c not in channels and s.end == ZERO and s.lost_after}
        claimed = {c: place_of(p) for c, p in channels.items() if c not in lost}
        if {c: s.end for c, s in own.items() if c not in unsaid} != claimed:
            return 409
        if not own:
            return 404
        for c, p in channels.items():
            self.streams.setdefault((session, c), Stream()).lost_after |= p.get("lost_after", False)
        ended = lost or self.state.get(session) == "ended"
        self.state[session] = "ended" if ended or any(s.losses or s.skips or s.lost_after for s in own.values()) else "verified"
        return 200

    def delete(self, session):
        for (i, _), stream in self.streams.items():
            if i == session:
                stream.expired, stream.data = True, b""
        self.state[session] = "open"


class World:
    def __init__(self, place, seed):
        self.random, self.model, self.count, self.sent = random.Random(seed), Model(), 0, []
        self.sessions = [self.new_session(), self.new_session()]
        self.path = place.path / "backend.db"
        self.backend = lib.Backend(place, "--api-key", lib.KEY, "--retain-days", "1")

    def new_session(self):
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def lines(self, session):
        self.count += 1
        return b"".join(line(1000 * self.count + i, session=session) for i in range(self.random.randrange(1, 4)))

    def begin(self, stream):
        begin, roll = dict(stream.end), self.random.random()
        if roll < 0.1:
            key = self.random.choice(list(begin))
            begin[key] = max(int(key == "file"), begin[key] + self.random.choice((-1, 1)))
        return ZERO if roll > 0.97 else begin

    def part(self):
        r, session = self.random, self.random.choice(self.sessions)
        channel = r.choice(CHANNELS)
        stream = self.model.streams.get((session, channel), Stream())
        begin, raw, more, roll = self.begin(stream), self.lines(session), {}, r.random()
        file = begin["file"] + (r.random() < 0.2)
        if roll < 0.1:
            more["start"] = {"file": begin["file"] + r.randrange(1, 3), "offset": 0, "file_crc": 0}
        elif roll < 0.15 and begin == stream.end and stream.file:
            keep = r.randrange(len(stream.file))
            more["start"] = {"file": begin["file"], "offset": keep, "file_crc": crc32c(stream.file[:keep])}
        newline = r.random() < 0.1
        if r.random() < 0.1:
            more["skip"], newline = True, False
        if r.random() < 0.2:
            more["reopens"] = True
        raw = raw[:-1] if newline else raw
        part = Part(session, channel, begin, raw, file, newline, **more)
        part.raw, part.damaged = raw, False
        if r.random() < 0.08 and not part.said.get("skip"):
            at = r.randrange(len(part.data))
            part.data = part.data[:at] + bytes([part.data[at] ^ 1 << r.randrange(8)]) + part.data[at + 1:]
            part.damaged = True
        self.sent.append(part)
        return part

    def send(self):
        parts = [self.random.choice(self.sent) if self.sent and self.random.random() < 0.15 else self.part()
                 for _ in range(self.random.randrange(1, 4))]
        want = self.model.take(parts)
        answers = send(self.backend, *parts)
        equal([a["verdict"] for a in answers], want, f"verdicts of {[p.said for p in parts]}")

    def claim(self):
        session = self.random.choice(self.sessions)
        channels = {c: dict(s.end) for (i, c), s in self.model.streams.items() if i == session}
        for c in list(channels):
            roll = self.random.random()
            if roll < 0.05:
                del channels[c]
            elif roll < 0.15:
                channels[c]["lines"] += 1
            elif roll < 0.25:
                channels[c]["lost_after"] = True
        if self.random.random() < 0.05:
            channels["scope"] = {**ZERO, "lost_after": self.random.random() < 0.5}
        want = self.model.claim(session, channels)
        equal(claim(self.backend, session, **channels)[0], want, f"claim of {channels}")

    def restart(self):
        self.backend.kill()
        self.backend.start()

    def delete(self):
        session = self.random.choice(self.sessions)
        self.backend.kill()
        with contextlib.closing(sqlite3.connect(self.path)) as db, db:
            db.execute("UPDATE session SET last_seen_ms = last_seen_ms - 2 * 86400000 WHERE sid = ?", (session,))
        self.backend.start()
        self.model.delete(session)
        self.sessions = [*self.sessions[-2:], self.new_session()]

    def compare(self):
        for session in self.sessions:
            answer, ends = streams(self.backend, session)
            own = {c: s for (i, c), s in self.model.streams.items() if i == session}
            equal(ends, {c: {**s.end, "file_crc": crc32c(s.file), "losses": s.losses, "skips": s.skips,
                             "lost_after": s.lost_after, "expired": s.expired} for c, s in own.items()}, "ends")
            equal(answer["state"], self.model.state[session], "state")
            for channel, s in own.items():
                equal(self.backend.export(session, channel), s.data, f"{session} {channel}")
                if not s.expired and s.end["offset"]:
                    status, place = ask_place(self.backend, session, channel, s.end["file"], s.end["offset"])
                    equal((status, place), (200, {**s.end, "file_crc": crc32c(s.file)}), "the place of the end")


def an_origin_does_what_the_model_does(place):
    seed = int(os.environ.get("SEED") or random.randrange(1 << 32))
    print(f"SEED={seed}")
    world = World(place, seed)
    for step in range(STEPS):
        roll = world.random.random()
        if roll < 0.8:
            world.send()
        elif roll < 0.95:
            world.claim()
        elif roll < 0.99:
            world.restart()
        else:
            world.delete()
        if step % 10 == 9:
            world.compare()
    world.compare()


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
