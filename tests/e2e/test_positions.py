# SPDX-License-Identifier: Apache-2.0
"""gpufl-backend: where streams end. Each rule of schema/README.md, "Positions", has its test."""
import concurrent.futures
import contextlib
import gzip
import http.client
import json
import os
import random
import resource
import shutil
import sqlite3
import sys
import threading

import lib
from lib import check, equal
from positions import Part, ZERO, ask_place, behind, body_of, claim, crc32c, place_of, request, send, streams, verdicts
from sink import zstd
from test_backend import SESSION, line, post

OTHER = "22222222-2222-4222-8222-222222222222"
LATER = "33333333-3333-4333-8333-333333333333"


def _start(place):
    return lib.Backend(place, "--api-key", lib.KEY)


def _part(begin, data, channel="device", session=SESSION, **more):
    return Part(session, channel, begin, data, **more)


def _stored(backend, begin, data, **more):
    part = _part(begin, data, **more)
    answer, = send(backend, part)
    equal((answer["verdict"], place_of(answer["end"])), ("stored", part.end), f"{answer}")
    return part.end


def a_part_is_stored_where_the_stream_ends(place):
    backend = _start(place)
    end = _stored(backend, ZERO, line(1) + line(2))
    end = _stored(backend, end, line(3))
    end = _stored(backend, end, line(4), file=2)
    equal(backend.export(SESSION, "device"), line(1) + line(2) + line(3) + line(4), "what is stored")
    answer, ends = streams(backend, SESSION)
    equal(ends, {"device": {**end, "file_crc": crc32c(line(4)), "losses": 0, "skips": 0, "lost_after": False,
                            "expired": False}}, "the end")
    equal(backend.session(SESSION)["lines"], 4, "lines are counted")
    equal(streams(backend, OTHER), ({"epoch": answer["epoch"], "state": "open", "streams": [],
                                     "without_positions": []}, {}), "a session that is not known")


def a_part_that_begins_elsewhere_is_a_conflict(place):
    """Gap, overlap, another count of lines, other bytes before: one answer, with the end."""
    backend = _start(place)
    a = _stored(backend, ZERO, line(1))
    b = _stored(backend, a, line(2))
    for what, begin in (("overlap", a), ("from the first line", ZERO), ("gap", behind(b, line(3))),
                        ("another file", {**b, "file": 2}), ("another offset", {**b, "offset": b["offset"] - 1}),
                        ("other lines", {**b, "lines": 7}), ("other bytes", {**b, "crc": b["crc"] ^ 1})):
        answer, = send(backend, _part(begin, line(9)))
        equal((answer["verdict"], place_of(answer["end"])), ("conflict", b), what)
    answer, = send(backend, _part(b, line(1), channel="system"))
    equal((answer["verdict"], place_of(answer["end"])), ("conflict", ZERO), "nothing of the stream is stored")
    equal(backend.export(SESSION, "device"), line(1) + line(2), "what is stored")
    equal(sorted(streams(backend, SESSION)[1]), ["device"], "a conflict makes no stream")


def what_comes_again_is_known_and_stored_once(place):
    backend = _start(place)
    part = _part(ZERO, line(1))
    equal(verdicts(backend, part), ["stored"], "first")
    again, = send(backend, part)
    equal((again["verdict"], place_of(again["end"])), ("known", part.end), "again")
    _stored(backend, part.end, line(2))
    equal(verdicts(backend, part), ["conflict"], "an older one")
    equal(backend.export(SESSION, "device"), line(1) + line(2), "stored once")
    equal(backend.session(SESSION)["duplicates"], 1, "duplicates")


def each_verdict_carries_the_end_and_the_epoch(place):
    """The epoch of the backend, and the end as it is after the part."""
    backend = _start(place)
    epoch = request(backend, "GET", "/info/version")[1]["epoch"]
    check(epoch, "there is an epoch")

    def answered(verdict, end, *parts):
        status, answer = request(backend, "POST", "/events/parts", body_of(*parts))
        equal((status, answer["epoch"]), (200, epoch), verdict)
        last = answer["parts"][-1]
        equal((last["verdict"], place_of(last["end"])), (verdict, end), f"{answer}")
        check(all("file_crc" in a["end"] for a in answer["parts"]), f"{answer}")
    first = _part(ZERO, line(1))
    answered("stored", first.end, first)
    answered("known", first.end, first)
    answered("conflict", first.end, _part(ZERO, line(2)))
    answered("refused", first.end, _part(first.end, b"nonsense\n"))
    second = _part(first.end, line(2))
    answered("refused", second.end, second, _part(second.end, line(3)))
    damaged = _part(second.end, line(3))
    damaged.data = line(4)
    answered("damaged", second.end, damaged)
    equal(claim(backend, SESSION, device=second.end)[0], 200, "complete")
    answered("complete", second.end, _part(second.end, line(3)))
    answered("stored", _part(second.end, line(3)).end, _part(second.end, line(3), reopens=True))


def bytes_that_do_not_fit_are_damaged(place):
    backend = _start(place)
    good, begin = line(1) + line(2), _stored(backend, ZERO, line(0))

    def damaged(what, data=good, **end):
        part = _part(begin, good)
        part.data = data
        part.end.update(end)
        answer, = send(backend, part)
        equal((answer["verdict"], place_of(answer["end"])), ("damaged", begin), what)
    damaged("a byte", good.replace(b"kernel", b"Kernel", 1))
    damaged("its checksum", crc=1)
    damaged("too short", good[:-1])
    damaged("too long", good + b"\n")
    damaged("no lines at all", b"")
    damaged("lines", lines=2)
    damaged("an end before its begin", offset=3)
    damaged("an earlier file", file=1, offset=0)
    part = _part(begin, good[:-1], newline=False)
    equal(verdicts(backend, part), ["damaged"], "the last line has no newline")
    part = _part(begin, good[:-1] + b"x")
    equal(verdicts(backend, part), ["damaged"], "nor this one")
    part = _part(begin, good, newline=True)
    equal(verdicts(backend, part), ["damaged"], "a newline was added that is there")
    part = _part(begin, b"")
    equal(verdicts(backend, part), ["damaged"], "no byte")
    two = [_part(begin, good), _part(ZERO, line(5), channel="system")]
    two[0].data = good.replace(b"kernel", b"Kernel", 1)
    equal(verdicts(backend, *two), ["damaged", "stored"], "its neighbour is stored")
    equal(backend.export(SESSION, "device"), line(0), "what is stored")


def an_added_newline_counts_in_neither_offset_nor_checksum(place):
    backend = _start(place)
    torn = line(2)[:-1]
    end = _stored(backend, ZERO, line(1))
    end = _stored(backend, end, torn, newline=True)
    equal((end["offset"], end["crc"], end["lines"]), (len(line(1) + torn), crc32c(line(1) + torn), 2), "the end")
    equal(backend.export(SESSION, "device"), line(1) + line(2), "what is stored")
    equal(ask_place(backend, SESSION, "device", 1, end["offset"])[1]["crc"], end["crc"], "its place")
    equal(ask_place(backend, SESSION, "device", 1, end["offset"] - 1)[1]["offset"], len(line(1)), "the line before")


def a_request_names_a_stream_once(place):
    backend = _start(place)
    first = _part(ZERO, line(1))
    answers = send(backend, first, _part(first.end, line(2)), _part(ZERO, line(3), channel="system"))
    equal([a["verdict"] for a in answers], ["stored", "refused", "stored"], "verdicts")
    equal((answers[1]["reason"], place_of(answers[1]["end"])), ("named_twice", first.end), "the second")
    equal(backend.export(SESSION, "device"), line(1), "what is stored")


def lines_of_others_are_refused_with_their_numbers(place):
    backend = _start(place)
    answer, = send(backend, _part(ZERO, line(1) + b"nonsense\n" + line(2, session="another")))
    equal((answer["verdict"], answer["reason"], [e["line"] for e in answer["errors"]], place_of(answer["end"])),
          ("refused", "lines", [2, 3], ZERO), "answer")
    equal(backend.session(SESSION), None, "nothing is stored")


def a_loss_is_counted_and_its_bytes_are_left_out(place):
    backend = _start(place)
    begin = _stored(backend, ZERO, line(1))
    start = {"file": 3, "offset": 0, "file_crc": 0}
    end = _stored(backend, begin, line(5), start=start)
    got = streams(backend, SESSION)[1]["device"]
    equal((place_of(got), got["losses"], got["file_crc"]), (end, 1, crc32c(line(5))), "the end")
    equal((end["file"], end["offset"], end["crc"]), (3, len(line(5)), crc32c(line(1) + line(5))), "its place")
    equal(verdicts(backend, _part(begin, line(5), start=start)), ["known"], "again")
    equal(streams(backend, SESSION)[1]["device"]["losses"], 1, "losses")
    for bad in ({"file": 3, "offset": end["offset"], "file_crc": got["file_crc"]},
                {"file": 2, "offset": 0, "file_crc": 0}):
        part = _part(end, line(6), start=bad)
        equal(verdicts(backend, part), ["damaged"], "a loss of nothing, or backwards")
    equal(backend.export(SESSION, "device"), line(1) + line(5), "what is stored")


def a_file_that_was_rewritten_goes_on_where_its_bytes_part(place):
    backend = _start(place)
    begin = _stored(backend, ZERO, line(1) + line(2))
    own = line(1) + line(7) + line(8)
    start = {"file": 1, "offset": len(line(1)), "file_crc": crc32c(line(1))}
    end = _stored(backend, begin, line(7), start=start)
    got = streams(backend, SESSION)[1]["device"]
    equal((got["offset"], got["file_crc"], got["losses"]), (len(line(1) + line(7)), crc32c(own[:got["offset"]]), 1), "end")
    _stored(backend, end, line(8))
    equal(streams(backend, SESSION)[1]["device"]["file_crc"], crc32c(own), "the file's checksum")


def skipped_bytes_count_in_both_checksums(place):
    backend = _start(place)
    begin = _stored(backend, ZERO, line(1))
    end = _stored(backend, begin, b"nonsense\n", skip=True)
    got = streams(backend, SESSION)[1]["device"]
    equal((got["skips"], got["crc"], got["file_crc"]), (1, *[crc32c(line(1) + b"nonsense\n")] * 2), "the end")
    end = _stored(backend, end, line(3))
    equal(streams(backend, SESSION)[1]["device"]["file_crc"], end["crc"], "and go on")
    skipped = _part(end, b"bad\n", file=2, skip=True)
    equal(verdicts(backend, skipped), ["stored"], "the first of a file")
    equal(streams(backend, SESSION)[1]["device"]["file_crc"], crc32c(b"bad\n"), "of the next file")
    equal(verdicts(backend, skipped), ["known"], "again")
    equal(streams(backend, SESSION)[1]["device"]["skips"], 2, "skips")
    equal(backend.export(SESSION, "device"), line(1) + line(3), "what is stored")


def a_request_is_stored_whole_or_not_at_all(place):
    """Its disk is full in the middle: the first part, which had room, is not stored either."""
    backend = _start(place)
    begin = _stored(backend, ZERO, line(1))
    large = json.dumps({"type": "x", "session_id": SESSION, "data": random.randbytes(1 << 20).hex()}).encode() + b"\n"
    body = body_of(_part(begin, line(2)), _part(ZERO, large, channel="system"))
    resource.prlimit(backend.process.pid, resource.RLIMIT_FSIZE, (400 << 10, resource.RLIM_INFINITY))
    status, answer = request(backend, "POST", "/events/parts", body)
    equal((status, answer["error"]), (507, "full"), f"{answer}")
    resource.prlimit(backend.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    got, ends = streams(backend, SESSION)
    equal({c: place_of(e) for c, e in ends.items()}, {"device": begin}, "the ends")
    equal(backend.export(SESSION, "device"), line(1), "what is stored")
    equal(request(backend, "POST", "/events/parts", body)[0], 200, "there is room again")
    equal(backend.export(SESSION, "system"), large, "what is stored then")


def an_answer_is_what_is_there_after_a_kill(place):
    backend = _start(place)
    end, want = ZERO, b""
    for n in range(12):
        data = b"".join(line(100 * n + i) for i in range(n + 1))
        end, want = _stored(backend, end, data, file=1 + n // 4), want + data
        backend.kill()
        backend.start()
        got = streams(backend, SESSION)[1]["device"]
        equal((place_of(got), backend.export(SESSION, "device")), (end, want), f"after kill {n}")


def an_answer_is_synced(place):
    """Before it is given: where the power fails, what was not synced is gone, which no kill shows."""
    if lib.SANITIZER:
        lib.skip("its runtime wants to be loaded first")
    synced = place.path / "synced"
    backend = lib.Backend(place, "--api-key", lib.KEY, env={
        "LD_PRELOAD": str(lib.BUILD / "tests/fake/slow_sync.so"), "FAKE_SYNCED": str(synced)})

    def syncs():
        return synced.read_text().splitlines().count(f"{place.path}/backend.db-wal") if synced.exists() else 0

    def on_disk(what, ask):
        before = syncs()
        result = ask()
        check(syncs() > before, f"{what} was answered before it was on disk")
        return result

    end = ZERO
    for n in range(8):
        end = on_disk("a part", lambda: _stored(backend, end, line(n)))
        on_disk("a batch", lambda: equal(post(backend, line(n, OTHER), session=OTHER)[0], 200, "stored"))
        on_disk("a window", lambda: equal(post(backend, line(n, LATER), session=LATER, window=(
            f"{n:08d}-1111-4111-8111-111111111111", "device", n + 1))[0], 200, "stored"))
    on_disk("a claim", lambda: equal(claim(backend, SESSION, device=end)[0], 200, "complete"))
    on_disk("an end", lambda: equal(
        post(backend, b"", path="/api/v1/events/session-complete", session=LATER)[0], 200, "complete"))


def a_kill_during_a_request_leaves_all_of_it_or_nothing(place):
    """The sender knows nothing but its bytes: it asks for the ends and goes on there."""
    seed = int(os.environ.get("SEED") or random.randrange(1 << 32))
    print(f"SEED={seed}")
    chance, backend = random.Random(seed), _start(place)
    ends, want, kept = {"device": ZERO, "system": ZERO}, {"device": b"", "system": b""}, -1
    for n in range(40):
        data = b"".join(line(100 * n + i) for i in range(chance.randrange(1, 60)))
        parts = [_part(ends[c], data, channel=c) for c in ends]
        killer = threading.Timer(chance.random() * 0.01, backend.process.kill)
        killer.start()
        with contextlib.suppress(OSError, http.client.HTTPException):
            equal([a["verdict"] for a in send(backend, *parts)], ["stored"] * 2, "verdicts")
            kept = n
            ends, want = {c: p.end for c, p in zip(ends, parts)}, {c: d + data for c, d in want.items()}
        killer.join()
        backend.process.wait()
        backend.start()
        got = {"device": ZERO, "system": ZERO, **{c: place_of(e) for c, e in streams(backend, SESSION)[1].items()}}
        if got != ends:
            check(kept != n, "the answer was: stored")
            equal(got, {c: p.end for c, p in zip(ends, parts)}, "both parts, or none")
            ends, want = got, {c: d + data for c, d in want.items()}
    for channel, data in want.items():
        equal(backend.export(SESSION, channel), data, channel)


def of_two_that_race_for_a_stream_one_is_stored(place):
    backend = _start(place)
    end, want = ZERO, b""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for n in range(10):
            rivals = [_part(end, line(10 * n + i)) for i in range(4)]
            answers = list(pool.map(lambda p: send(backend, p)[0], rivals))
            won = [i for i, a in enumerate(answers) if a["verdict"] == "stored"]
            equal((len(won), sorted(a["verdict"] for a in answers)), (1, ["conflict"] * 3 + ["stored"]), f"round {n}")
            end, want = rivals[won[0]].end, want + rivals[won[0]].data
    equal(backend.export(SESSION, "device"), want, "what is stored")


def places_within_a_stream_are_told_from_its_bodies(place):
    backend = _start(place)
    files = {1: b"".join(line(n) for n in range(7)), 2: b"".join(line(n) for n in range(20, 25))}
    end = _stored(backend, ZERO, line(0) + line(1) + line(2))
    end = _stored(backend, end, b"".join(line(n) for n in range(3, 7)))
    end = _stored(backend, end, files[2], file=2)
    for file, data in files.items():
        before = files[1] if file == 2 else b""
        for offset in (0, 1, len(line(1)) - 1, len(line(1)), len(data) // 2, len(data) - 1, len(data), len(data) + 9):
            whole = data[:data.rfind(b"\n", 0, offset) + 1]
            status, got = ask_place(backend, SESSION, "device", file, offset)
            equal((status, got), (200, {"file": file, "offset": len(whole), "lines": (before + whole).count(b"\n"),
                                        "crc": crc32c(before + whole), "file_crc": crc32c(whole)}), f"{file} {offset}")
    equal(ask_place(backend, SESSION, "device", 3, 0)[0], 404, "a file of which nothing is stored")
    equal(ask_place(backend, OTHER, "device", 1, 0)[0], 404, "another session")
    for query in ("channel=device", "channel=device&file=0&offset=0", "channel=a/b&file=1&offset=0",
                  "channel=device&file=1&offset=x", "file=1&offset=0"):
        equal(request(backend, "GET", f"/sessions/{SESSION}/streams?{query}")[0], 400, query)


def complete_is_said_of_equal_ends_alone(place):
    backend = _start(place)
    a = _stored(backend, ZERO, line(1))
    b = _stored(backend, ZERO, line(2), channel="system")
    wrong = ({"device": a}, {"device": a, "system": b, "scope": ZERO}, {"device": a, "system": ZERO}, {},
             {"device": a, "system": {**b, "crc": 1}}, {"device": a, "system": {**b, "lines": 2}},
             {"device": a, "system": {**b, "offset": 1}}, {"device": {**a, "file": 2}, "system": b})
    for channels in wrong:
        status, answer = claim(backend, SESSION, **channels)
        equal((status, answer["error"], answer["state"]), (409, "conflict", "open"), f"{channels}")
        equal({s["channel"]: place_of(s["end"]) for s in answer["streams"]}, {"device": a, "system": b}, "the ends")
        check(not backend.complete(SESSION), "not complete")
    equal(post(backend, b"", path="/api/v1/events/session-complete")[0], 409, "a claim without an end")
    status, answer = claim(backend, SESSION, device=a, system=b)
    equal((status, answer["complete"], answer["state"]), (200, True, "verified"), "the true one")
    check(backend.complete(SESSION), "complete")
    equal(claim(backend, SESSION, device=a, system=b)[0], 200, "again")
    equal(claim(backend, OTHER)[0], 404, "a session that is not known")
    for bad in (b'{"channels":7}', b'{"channels":[{"channel":"device"}]}', b'{"channels":[7]}'):
        equal(request(backend, "POST", "/events/session-complete", bad, X_GpuFlight_Session_Id=SESSION)[0], 400, f"{bad}")


def what_lacks_bytes_has_ended_and_is_not_complete(place):
    backend = _start(place)
    lost = _stored(backend, ZERO, line(1), start={"file": 2, "offset": 0, "file_crc": 0})
    equal(claim(backend, SESSION, device=lost)[1]["state"], "ended", "with a loss")
    check(not backend.complete(SESSION), "not complete")
    skipped = _stored(backend, ZERO, b"x\n", session=OTHER, skip=True)
    status, answer = claim(backend, OTHER, device=skipped)
    equal((status, answer["complete"], answer["state"]), (200, False, "ended"), "with a skip")
    third = "33333333-3333-4333-8333-333333333333"
    end = _stored(backend, ZERO, line(1, session=third), session=third)
    status, answer = claim(backend, third, device={**end, "lost_after": True})
    equal((answer["state"], answer["streams"][0]["end"]["lost_after"]), ("ended", True), "what follows is gone")
    _stored(backend, end, line(2, session=third), session=third, reopens=True)
    answer, ends = streams(backend, third)
    equal((answer["state"], ends["device"]["lost_after"]), ("open", False), "it came after all")


def a_channel_of_which_all_is_lost_is_claimed_as_nothing(place):
    """Such a session has ended. Without the word that it is lost, a channel that never came is missed."""
    backend = _start(place)
    end = _stored(backend, ZERO, line(1))
    equal(claim(backend, SESSION, device=end, scope=ZERO)[0], 409, "nothing says that it is lost")
    equal(claim(backend, SESSION, device=end, scope={**end, "lost_after": True})[0], 409, "it is claimed with bytes")
    nothing = {**ZERO, "lost_after": True}
    equal(claim(backend, SESSION, device=nothing)[0], 409, "of one that is stored, nothing is not its end")
    status, answer = claim(backend, SESSION, device=end, scope=nothing, system=nothing)
    equal((status, answer["complete"], answer["state"]), (200, False, "ended"), "all of two others is lost")
    kept = {c: (place_of(e), e["lost_after"]) for c, e in streams(backend, SESSION)[1].items()}
    equal(kept, {"device": (end, False), "scope": (ZERO, True), "system": (ZERO, True)}, "that is kept")
    equal(claim(backend, OTHER, device=nothing)[0], 404, "no session is made")
    equal(streams(backend, OTHER)[1], {}, "nor a stream")
    _stored(backend, ZERO, line(2), channel="scope", reopens=True)
    equal(streams(backend, SESSION)[0]["state"], "open", "it came after all")
    equal(claim(backend, SESSION, device=end, scope=nothing)[0], 409, "and is not lost")


def what_a_claim_declared_lost_stays_lost(place):
    """Another sender, or one that has lost its state, does not know of it. Only what is stored behind it takes it back."""
    backend = _start(place)
    end, other = _stored(backend, ZERO, line(1)), _stored(backend, ZERO, line(1, session=OTHER), session=OTHER)
    equal(claim(backend, SESSION, device={**end, "lost_after": True})[1]["state"], "ended", "what follows is gone")
    equal(claim(backend, OTHER, device=other, scope={**ZERO, "lost_after": True})[1]["state"], "ended", "a channel is")
    for _ in range(2):
        _, answer = claim(backend, SESSION, device=end)
        equal((answer["complete"], answer["state"]), (False, "ended"), "it is as before")
        check(answer["streams"][0]["end"]["lost_after"], "what follows still is")
        _, answer = claim(backend, OTHER, device=other)
        equal((answer["complete"], answer["state"]), (False, "ended"), "the channel still is")
        backend.kill()
        backend.start()
    system = _stored(backend, ZERO, line(2), channel="system", reopens=True)
    equal(claim(backend, SESSION, device=end, system=system)[1]["state"], "ended", "another channel has more")
    end = _stored(backend, end, line(3), reopens=True)
    equal(claim(backend, SESSION, device=end, system=system)[1]["state"], "verified", "it came after all")
    other = _stored(backend, other, line(2, session=OTHER), session=OTHER, reopens=True)
    equal(claim(backend, OTHER, device=other)[1]["state"], "ended", "another channel has more, and the first is lost still")
    scope = _stored(backend, ZERO, line(3, session=OTHER), session=OTHER, channel="scope", reopens=True)
    equal(claim(backend, OTHER, device=other)[0], 409, "it came after all, and is missed")
    equal(claim(backend, OTHER, device=other, scope=scope)[1]["state"], "verified", "it is there")


def what_was_stored_without_positions_is_lost_by_no_claim(place):
    """The channel stays what it is, and goes on."""
    backend = _start(place)
    equal(post(backend, line(1), window=("w1", "scope", 1))[0], 200, "a window")
    end = _stored(backend, ZERO, line(2))
    equal(claim(backend, SESSION, device=end, scope={**ZERO, "lost_after": True})[1]["state"], "ended", "it was more")
    answer, ends = streams(backend, SESSION)
    equal((answer["without_positions"], list(ends)), (["scope"], ["device"]), "none of it has a position")
    equal(post(backend, line(3), window=("w2", "scope", 2))[0], 200, "it goes on")


def a_complete_session_is_reopened_only_by_a_part_that_says_so(place):
    backend = _start(place)
    for lose, state in ((False, "verified"), (True, "ended")):
        session = OTHER if lose else SESSION
        part = _part(ZERO, line(1, session=session), session=session)
        equal(verdicts(backend, part), ["stored"], "first")
        claim(backend, session, device={**part.end, "lost_after": lose})
        equal(verdicts(backend, part), ["known"], "what is there is known")
        for begin, channel in ((part.end, "device"), (ZERO, "device"), (ZERO, "system")):
            answer, = send(backend, _part(begin, line(2, session=session), session=session, channel=channel))
            equal(answer["verdict"], "complete", f"{state} {channel}")
        equal(streams(backend, session)[0]["state"], state, "it stays so")
        equal(list(streams(backend, session)[1]), ["device"], "and no stream is made")
        end = _stored(backend, part.end, line(2, session=session), session=session, reopens=True)
        equal(streams(backend, session)[0]["state"], "open", "it is open")
        equal(claim(backend, session, device=part.end)[0], 409, "the claim of before")
        equal(claim(backend, session, device=end)[1]["state"], "verified", "the new one")


def whose_a_complete_session_is_stays_as_it_was_told_first(place):
    """To a sender whose directory may be another user's copy. While the session is open again, each part has to say
    that it may continue it, in all channels that go by positions."""
    backend = _start(place)
    part = _part(ZERO, line(1))
    equal(verdicts(backend, part), ["stored"], "first")

    def told(begin):
        answer, = send(backend, _part(begin, line(2)))
        equal(answer["verdict"], "complete", f"{answer}")
        return answer.get("owner")

    def claimed(end, owner=None):
        body = json.dumps({"channels": [{"channel": "device", **end}], **({} if owner is None else {"owner": owner})}).encode()
        return request(backend, "POST", "/events/session-complete", body, X_GpuFlight_Session_Id=SESSION)

    for owner in (-1, "1", 1.5, [], None, (1 << 32) - 1, 1 << 70):
        bad = json.dumps({"channels": [{"channel": "device", **part.end}], "owner": owner}).encode()
        status, answer = request(backend, "POST", "/events/session-complete", bad, X_GpuFlight_Session_Id=SESSION)
        equal((status, answer["error"]), (400, "claim"), f"{owner}")
    equal(claimed(part.end)[0], 200, "nothing is told of it")
    equal(told(part.end), None, "nothing")
    equal(claimed(ZERO, 9)[0], 409, "a claim that is wrong")
    equal(told(part.end), None, "nothing still")
    for owner in (0, 7):
        equal(claimed(part.end, owner)[0], 200, f"{owner}")
        equal(told(part.end), 0, "the first one")
        backend.kill()
        backend.start()
    end = _stored(backend, part.end, line(2), reopens=True)
    equal(told(end), 0, "it is open again")
    answer, = send(backend, _part(ZERO, line(1), channel="scope"))
    equal((answer["verdict"], answer["owner"], place_of(answer["end"])), ("complete", 0, ZERO), "another channel")
    equal(verdicts(backend, _part(part.end, line(2))), ["known"], "what is stored needs no word")
    end = _stored(backend, end, line(3), reopens=True)
    equal(claimed(end, 0)[0], 200, "complete again")
    equal(told(end), 0, "the first one")


def windows_open_no_session_whose_owner_is_known(place):
    """Anybody can make them under its id. Channels that were stored so before go on, whose windows may be its owner's."""
    backend = _start(place)
    a = _stored(backend, ZERO, line(1))
    b = _stored(backend, ZERO, line(1, session=OTHER), session=OTHER)
    equal(post(backend, line(2, session=OTHER), session=OTHER, window=("w1", "system", 1))[0], 200, "a channel that goes by windows")

    def claimed(session, end, **says):
        body = json.dumps({"channels": [{"channel": "device", **end}], **says}).encode()
        return request(backend, "POST", "/events/session-complete", body, X_GpuFlight_Session_Id=session)[1]["state"]

    equal(claimed(SESSION, a), "verified", "of no owner")
    equal(post(backend, line(2), window=("w1", "sass", 1))[0], 200, "anybody's window")
    equal((streams(backend, SESSION)[0]["state"], claimed(SESSION, a, owner=7)), ("open", "complete"), "opens it")
    equal(claimed(OTHER, b, owner=7, without_positions=True), "complete", "the other one")
    for session, channel in ((SESSION, "scope"), (OTHER, "sass")):
        for window in (("w2", channel, 1), None):
            status, answer = post(backend, line(3, session=session), session=session, window=window)
            equal((status, answer["error"]), (409, "window_sequence_conflict"), f"{window}: {answer}")
        equal((streams(backend, session)[0]["state"], backend.export(session, channel)), ("complete", b""), "it stays complete")
    equal(post(backend, line(2), window=("w1", "sass", 1))[1].get("duplicate"), True, "what is stored is known")
    a = _stored(backend, a, line(4), reopens=True)
    equal(post(backend, line(3), window=("w2", "scope", 1))[0], 409, "nor while it is open again")
    equal(post(backend, line(3, session=OTHER), session=OTHER, window=("w2", "system", 2))[0], 200, "that channel goes on")
    equal(streams(backend, OTHER)[0]["state"], "open", "which opens the session")


def a_claim_that_does_not_name_the_owner_changes_nothing(place):
    """Unless it says that it may: of a session whose owner is told."""
    backend = _start(place)
    a, b = _stored(backend, ZERO, line(1)), _stored(backend, ZERO, line(2), channel="system")

    def claimed(device, *more, **says):
        channels = [{"channel": "device", **device}, {"channel": "system", **b}, *({"channel": c, **p} for c, p in more)]
        return request(backend, "POST", "/events/session-complete", json.dumps({"channels": channels, **says}).encode(),
                       X_GpuFlight_Session_Id=SESSION)

    def refused(*args, **says):
        before = streams(backend, SESSION)
        status, answer = claimed(*args, **says)
        equal((status, answer["error"], answer["owner"]), (409, "owner", 7), f"{says}: {answer}")
        equal(streams(backend, SESSION), before, "nothing has changed")

    lost = {**a, "lost_after": True}
    scope = ("scope", {**ZERO, "lost_after": True})
    equal(claimed(a, owner=7)[1]["state"], "verified", "its owner's")
    for says in ({}, {"owner": 8}, {"reopens": False}):
        equal(claimed(a, **says)[1]["state"], "verified", "what changes nothing is taken")
        refused(lost, **says)
        refused(a, scope, **says)
        equal(claimed(ZERO, **says)[1]["error"], "conflict", "other ends")
    equal(claimed(a, reopens=1)[0], 400, "not a boolean")
    c = _stored(backend, a, line(3), reopens=True)
    for says in ({}, {"owner": 8}):
        refused(c, **says)
    equal(claimed(c, reopens=True)[1]["state"], "verified", "it may")
    c = _stored(backend, c, line(4), reopens=True)
    equal(claimed(c, owner=7)[1]["state"], "verified", "its owner's")
    equal(claimed({**c, "lost_after": True}, owner=7)[1]["state"], "ended", "its owner knows")
    for says in ({}, {"owner": 8}):
        equal(claimed({**c, "lost_after": True}, **says)[1]["state"], "ended", "what is known already changes nothing")


def deleted_sessions_do_not_come_again(place):
    backend = lib.Backend(place, "--api-key", lib.KEY, "--retain-days", "1")
    part = _part(ZERO, line(1))
    equal(verdicts(backend, part), ["stored"], "stored")
    backend.kill()
    with contextlib.closing(sqlite3.connect(place.path / "backend.db")) as db, db:
        db.execute("UPDATE session SET last_seen_ms = last_seen_ms - 2 * 86400000")
    backend.start()
    equal((backend.session(SESSION), backend.export(SESSION, "device")), (None, b""), "it is gone")
    equal(verdicts(backend, _part(ZERO, line(1) + line(2))), ["expired"], "from its first line")
    answer, = send(backend, _part(part.end, line(2), reopens=True))
    equal((answer["verdict"], answer["end"]["expired"], place_of(answer["end"])), ("expired", True, part.end), "from its end")
    equal(streams(backend, SESSION)[1]["device"]["expired"], True, "its end")
    equal(ask_place(backend, SESSION, "device", 1, 0)[0], 410, "its places")
    equal(claim(backend, SESSION, device=part.end)[0], 410, "a claim")
    equal(post(backend, line(1), window=("w1", "device", 1))[0], 409, "without positions")
    answer, = send(backend, _part(ZERO, line(1), channel="sass"))
    equal((answer["verdict"], answer["end"]["expired"]), ("expired", True), "a channel that begins")
    equal(ask_place(backend, SESSION, "sass", 1, 0)[0], 410, "its places")
    equal(backend.session(SESSION), None, "it stays away")


def a_stream_keeps_the_kind_of_identity_it_began_with(place):
    backend = _start(place)
    equal(post(backend, line(1), window=("w1", "device", 1))[0], 200, "without positions")
    answer, = send(backend, _part(ZERO, line(1)))
    equal((answer["verdict"], place_of(answer["end"])), ("without_positions", ZERO), "a part of it")
    end = _stored(backend, ZERO, line(2), channel="system")
    for window in (("w2", "system", 1), None):
        body = json.dumps({"type": "system_start", "session_id": SESSION}, separators=(",", ":")).encode() + b"\n"
        status, answer = post(backend, body, window=window)
        equal((status, answer["error"]), (409, "window_sequence_conflict"), f"a batch of the other: {window}")
    equal(post(backend, line(3), window=("w3", "device", 2))[0], 200, "the first goes on")
    answer, ends = streams(backend, SESSION)
    equal((answer["without_positions"], list(ends)), (["device"], ["system"]), "both are told apart")
    equal(backend.export(SESSION, "device"), line(1) + line(3), "what is stored")
    equal(claim(backend, SESSION, system=end)[1]["state"], "complete", "complete, but not verified")


def a_claim_that_names_lines_without_positions_misses_them(place):
    """As of a backend that was put back as it was before the first of them."""
    backend = _start(place)
    end = _stored(backend, ZERO, line(1), channel="system")
    body = json.dumps({"channels": [{"channel": "system", **end}], "without_positions": True}).encode()
    for status in (409, 200):
        said = request(backend, "POST", "/events/session-complete", body, X_GpuFlight_Session_Id=SESSION)
        equal(said[0], status, f"{said}")
        equal(post(backend, line(2), window=("w1", "device", 1))[0], 200, "one of them")


def each_start_has_another_epoch(place):
    """Also one of a database that was put back as it was, with all that lies beside it."""
    backend = _start(place)
    answer = request(backend, "POST", "/events/parts", body_of(_part(ZERO, line(1))))[1]
    epochs = [answer["epoch"]]
    equal(streams(backend, SESSION)[0]["epoch"], epochs[0], "of the ends")
    equal(request(backend, "GET", "/info/version")[1]["epoch"], epochs[0], "of the version")
    equal(request(backend, "GET", "/info/version")[1]["positions"], True, "positions are declared")
    backend.kill()
    copy = place.path / "copy"
    copy.mkdir()
    for name in place.path.glob("backend.db*"):
        shutil.copy(name, copy)
    for _ in range(2):
        backend.start()
        epochs.append(streams(backend, SESSION)[0]["epoch"])
        backend.kill()
        for name in copy.iterdir():
            shutil.copy(name, place.path)
    equal((len(set(epochs)), len({e.split(".")[0] for e in epochs})), (3, 1), f"{epochs}")


def lists_that_cannot_be_read_are_refused(place):
    backend = _start(place)
    good = _part(ZERO, line(1)).said
    bad = [[], [good] * 1025, 7, [7], [{}]]
    for key, values in {"session": (".", "a/b", "x" * 129, 7, "a\0b"), "channel": ("", "a.b", "x" * 32, None),
                        "begin": (7, {}, {**ZERO, "file": 0}, {**ZERO, "file": 1 << 32}, {**ZERO, "offset": -1},
                                  {**ZERO, "offset": 1 << 62}, {**ZERO, "lines": 0.5}, {**ZERO, "crc": 1 << 32}),
                        "end": ("x", {"file": 1}), "skip": (1,), "reopens": ("yes",), "added_newline": (0,),
                        "start": (1, {}, {"file": 1, "offset": 0}, {"file": 1, "offset": 0, "file_crc": 5})}.items():
        bad += [[{**good, key: value}] for value in values]
    for parts in bad:
        body = json.dumps({"parts": parts}).encode() + b"\n" + line(1)
        status, answer = request(backend, "POST", "/events/parts", body)
        equal((status, answer["error"]), (400, "parts"), f"{str(parts)[:100]}")
    for body in (b"", b"\n", b"{", b"[]\n", b'{"parts":[' + b"{}," * 30000 + b"{}]}\n", b"{" + b" " * (1 << 20) + b"}\n",
                 b'{"parts":' + b"[" * 1000 + b"]" * 1000 + b"}\n"):
        equal(request(backend, "POST", "/events/parts", body)[0], 400, f"{body[:20]}")
    for body in (b"x", b"[]", b"{", b'{"channels":1}', b'{"channels":[{}]}', b'{"a":' * 1000 + b"1" + b"}" * 1000, gzip.compress(b"{}")):
        status, answer = request(backend, "POST", "/events/session-complete", body, X_GpuFlight_Session_Id=SESSION)
        equal((status, answer["error"]), (400, "claim"), f"{body[:20]}")
    for more in ([{}] * 40000, "x" * (1 << 20)):  # a large tree, and a long line, around a part that is good
        body = json.dumps({"more": more, "parts": [good]}, separators=(",", ":")).encode() + b"\n" + line(1)
        equal(request(backend, "POST", "/events/parts", body)[0], 400, "too large a list")
    good = body_of(_part(ZERO, line(1)))
    equal(request(backend, "POST", "/events/parts", good, Content_Encoding="br")[0], 415, "another coding")
    equal(request(backend, "POST", "/events/parts", gzip.compress(good)[:-9], Content_Encoding="gzip")[0], 400, "cut")
    equal(request(backend, "POST", "/events/parts", gzip.compress(b"\n" * (129 << 20), 1),
                  Content_Encoding="gzip")[0], 413, "a bomb")
    equal(request(backend, "POST", "/events/parts", b"x" * (31 << 20))[0], 413, "too large")
    equal(request(backend, "POST", "/events/parts", good, Authorization="Bearer no")[0], 401, "another key")
    equal(backend.session(SESSION), None, "nothing is stored")
    equal(request(backend, "POST", "/events/parts", gzip.compress(good), Content_Encoding="gzip")[0], 200, "gzip")


def _stored_body(backend):
    """The last one, as it lies in the database: (encoding, bytes)."""
    with contextlib.closing(sqlite3.connect(f"file:{backend.place.path / 'backend.db'}?mode=ro", uri=True)) as db:
        return db.execute("SELECT encoding, data FROM body ORDER BY id DESC").fetchone()


def lines_in_a_frame_of_their_own_are_stored_as_they_came(place):
    """Only if they are all of the request, and are not padded; otherwise they are encoded again."""
    backend = _start(place)
    end, all_lines = ZERO, b""

    def store(what, pack, coding, as_came):
        nonlocal end, all_lines
        data = b"".join(line(len(all_lines) + n) for n in range(50))
        part = _part(end, data)
        body, packed = pack(body_of(part)[:-len(data)], data)
        status, answer = request(backend, "POST", "/events/parts", body, Content_Encoding=coding)
        equal((status, answer["parts"][0]["verdict"]), (200, "stored"), what)
        end, all_lines = part.end, all_lines + data
        encoding, stored = _stored_body(backend)
        equal((encoding, stored == packed), ({"gzip": 1, "zstd": 2}[coding], True) if as_came else (2, False), what)
        equal(backend.export(SESSION, "device"), all_lines, what)

    def members(encode, *more):
        def pack(head, data):
            lines = b"".join((encode(data), *more))
            return encode(head) + lines, lines
        return pack

    store("two gzip members", members(gzip.compress), "gzip", True)
    store("two zstd frames", members(zstd), "zstd", True)
    store("one gzip member", lambda head, data: (gzip.compress(head + data), None), "gzip", False)
    store("one zstd frame", lambda head, data: (zstd(head + data), None), "zstd", False)
    store("lines in both members", lambda head, data: (gzip.compress(head + data[:99]) + gzip.compress(data[99:]), None),
          "gzip", False)
    store("half a list in the first", lambda head, data: (gzip.compress(head[:9]) + gzip.compress(head[9:] + data), None),
          "gzip", False)
    store("members of nothing behind", members(gzip.compress, gzip.compress(b"") * 500), "gzip", False)
    store("frames to be skipped behind", members(zstd, b"\x50\x2a\x4d\x18\x00\x40\x00\x00" + b"x" * 0x4000), "zstd", False)
    parts = [_part(ZERO, line(n), channel=c) for n, c in enumerate(("scope", "system"))]
    head = body_of(*parts)[:-sum(len(p.data) for p in parts)]
    body = gzip.compress(head) + b"".join(gzip.compress(p.data) for p in parts)
    equal(request(backend, "POST", "/events/parts", body, Content_Encoding="gzip")[0], 200, "two parts")
    for part in parts:
        equal(backend.export(SESSION, part.said["channel"]), part.data, "one of two parts")


def a_request_has_1024_parts_at_most(place):
    """Each with the longest names and numbers that there are."""
    backend = _start(place)
    sessions = [f"{n:0128}" for n in range(1024)]
    top = {"file": (1 << 32) - 1, "offset": 1 << 53, "lines": 1 << 53, "crc": (1 << 32) - 1}
    parts = [Part(s, "c" * 31, top, b"") for s in sessions]
    for part in parts:
        part.said.update(start={"file": top["file"], "offset": 1 << 53, "file_crc": 0}, reopens=False)
    equal(set(verdicts(backend, *parts)), {"damaged"}, "the longest list")
    parts = [Part(s, "device", ZERO, line(1, session=s)) for s in sessions]
    equal(set(verdicts(backend, *parts)), {"stored"}, "of as many streams")
    status, answer = request(backend, "POST", "/events/parts", body_of(*parts, _part(ZERO, line(1))))
    equal((status, answer["error"]), (400, "parts"), "one more")
    equal(backend.export(sessions[-1], "device"), line(1, session=sessions[-1]), "what is stored")


def a_session_that_fills_the_database_has_no_room(place):
    backend = lib.Backend(place, "--api-key", lib.KEY, "--max-db-bytes", "1MiB")
    end, last = ZERO, "stored"
    for n in range(40):
        data = json.dumps({"type": "x", "session_id": SESSION, "n": random.randbytes(50000).hex()}).encode() + b"\n"
        part = _part(end, data)
        last, = verdicts(backend, part)
        if last != "stored":
            break
        end, stored = part.end, part
    equal(last, "full", "it is full")
    equal(verdicts(backend, stored), ["known"], "what is there is known")
    other = _part(ZERO, line(1, session=OTHER), session=OTHER)
    equal(verdicts(backend, _part(end, line(2)), other), ["full", "stored"], "another session is stored")


def a_database_of_version_2_is_taken_over_in_place(place):
    """Made by gpufl-backend 0.1.0 of version 2: tests/samples/database-2/backend.sql."""
    path = place.path / "backend.db"
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript((lib.ROOT / "tests/samples/database-2/backend.sql").read_text())
        equal(db.execute("PRAGMA user_version").fetchone(), (2,), "its version")
    backend = _start(place)
    equal(backend.export(SESSION, "device"), line(1) + line(2) + line(3), "what is stored")
    check(backend.complete(OTHER), "what is complete")
    equal(streams(backend, SESSION)[0]["without_positions"], ["device", "system"], "its streams")
    equal(post(backend, line(4), window=("w4", "device", 3))[0], 200, "they go on")
    window = ("aaaaaaaa-0000-4000-8000-000000000001", "device", 1)
    equal(post(backend, line(1) + line(2), window=window)[1]["duplicate"], True, "a window of before is known")
    equal(post(backend, line(9), window=window)[1]["error"], "window_identity_conflict", "and is not another one")
    equal(post(backend, line(9, session=LATER), window=window, session=LATER)[0], 200, "its id says nothing elsewhere")
    equal(backend.export(LATER, "device"), line(9, session=LATER), "which is stored")
    equal(verdicts(backend, _part(ZERO, line(1)), _part(ZERO, line(5), channel="scope")),
          ["without_positions", "stored"], "parts")
    backend.kill()
    with contextlib.closing(sqlite3.connect(path)) as db:
        equal(db.execute("PRAGMA user_version").fetchone(), (7,), "its version now")
    backend.start()
    equal(backend.export(SESSION, "device"), line(1) + line(2) + line(3) + line(4), "what is stored then")


def a_takeover_that_fails_changes_nothing(place):
    path = place.path / "backend.db"
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript((lib.ROOT / "tests/samples/database-2/backend.sql").read_text())
        db.executescript("CREATE VIEW part AS SELECT 1")  # where a table is to be made
    done = place.run("gpufl-backend", "--listen", "127.0.0.1:0", "--db", path)
    check(done.returncode == 1 and "--db" in done.stderr, f"{done.stderr}")
    with contextlib.closing(sqlite3.connect(path)) as db:
        tables = {name for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        equal((db.execute("PRAGMA user_version").fetchone(), tables & {"stream", "origin"}), ((2,), set()), "it")
        db.execute("DROP VIEW part")
    equal(_start(place).export(SESSION, "device"), line(1) + line(2) + line(3), "it can be taken over still")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
