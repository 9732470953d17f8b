#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Switches rules off, one at a time: the simulator has to find each, or the test that is named with it. A rule that
nothing finds is either not needed, or not tested. Usage: mutants.py BUILD SEEDS [NAME…]; COMPILE, LINK, LINK_TEST,
LINK_AGENT and LINK_BACKEND are make's commands. Without arguments, it only looks whether each rule still has the text
that is to be changed, and its test is there."""
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALL_S = 3600  # what is not found by then counts as not found
ONE_S = 300   # for the plans, or the test, of one

# Name, file, what is there once, what is there instead; the unit to compile, if the file is a header.
MUTANTS = [
    ("an_away_root_keeps_the_loop_awake", "upload/engine/next_wait.c",
     "st->offer || root->away ||", "st->offer ||"),
    ("a_refused_claim_is_only_repeated", "upload/lifecycle/completion.c",
     "completion_contested(session, reply, now_ms);", "completion_failed(session, reply, now_ms);"),
    ("a_part_is_stored_wherever_it_begins", "backend/store/store_schema.h",
     "WHERE file = ?3 AND offset = ?4 AND lines = ?5 AND crc = ?6\"", "WHERE 1\"",
     "backend/store/store_statement.c"),
    ("a_window_is_stored_again", "backend/http/ingest.c",
     "    case REGISTRY_KNOWN:\n", "    case REGISTRY_KNOWN:\n        break;\n"),
    ("a_claim_is_not_compared", "backend/store/store_completion.c",
     "c->equal != c->stored || c->equal + c->nothing != c->claim->channels", "0 && c->equal"),
    ("every_end_is_taken_for_proved", "upload/lifecycle/end_proof.c",
     "p->run.crc == p->told.at.crc && p->run.file_crc == p->told.file_crc", "p->told.at.crc || !p->told.at.crc"),
    ("a_place_that_fits_is_proof", "upload/lifecycle/end_proof.c",
     "bool equal = p->told.at.offset && p->run.file_crc == p->told.file_crc;", "bool equal = true;"),
    ("a_loss_is_no_reason_to_go_by_the_file", "upload/lifecycle/end_proof.c",
     "if (!p->told.losses && !st->end.losses) {", "if (true) {"),
    ("a_fifo_is_opened_as_a_file", "base/file.c",
     "int fd = sys->open_beneath(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);",
     "int fd = sys->open_beneath(dir, path, O_RDONLY | O_NOCTTY, 0);"),
    ("a_writer_that_holds_its_lock_is_gone", "upload/source/liveness.c",
     "if (lock.state == LOCK_HELD) {\n        return WRITER_LIVE;", "if (lock.state == LOCK_HELD) {\n        return WRITER_GONE;"),
    ("a_failed_batch_is_settled", "upload/http/verdict.c",
     "case 0:\n    case 408:", "case 0:\n        return VERDICT_ACKED;\n    case 408:"),
    ("files_are_deleted_one_too_many", "upload/lifecycle/cleanup.c",
     "st->journal_file ? st->highest : st->journal_file;", "st->journal_file ? st->highest + 1 : st->journal_file + 1;"),
    # The rules of positions, as the model in which they were proved switches them off.
    ("damaged_bytes_are_stored", "backend/http/ingest_read.c",
     "if (damaged || !positions_fit(part)) {", "if (damaged) {"),
    ("what_retention_deleted_has_no_end", "backend/store/store_schema.h",
     "\"UPDATE stream SET expired = 1 WHERE sid", "\"DELETE FROM stream WHERE sid", "backend/store/store_statement.c"),
    ("an_epoch_says_nothing", "upload/lifecycle/parking_grown.c",
     "if (claimed && end->epoch != origin->epoch) {", "if (claimed && 0) {"),
    ("no_part_reopens", "upload/batch/part.c", ".reopens = st->reopens,", ".reopens = false,"),
    ("without_positions_for_a_moment_is_without_them", "upload/engine/part_ack.c",
     "retry_alone(offer, \"the backend does not support positions now\", now_ms);", "part_go_without(offer, now_ms);"),
    ("what_was_only_refused_is_not_asked_again", "upload/core/origin.c",
     "(origin->declared || origin->doubts) &&", "origin->declared &&"),
    ("a_copy_of_another_user_goes_on", "upload/core/claimant.c",
     "!of || session->seen.user == of || claimant_proves(session);", "!of || session->seen.user;"),
    ("skipped_bytes_have_no_checksum", "upload/batch/batch.c",
     "batch_skip(st, &record, crc32c(0, raw, len), true)", "batch_skip(st, &record, 0, true)"),
    ("a_sealed_file_is_left_before_the_next_one_is_there", "upload/batch/next_file.c",
     "tail_where_has_next(session->root->engine->config.sys, &where);", "where.offset + 1;"),
    ("the_checksum_before_a_part_is_not_compared", "backend/store/store_schema.h",
     "lines = ?5 AND crc = ?6\"", "lines = ?5 AND ?6 = ?6\"", "backend/store/store_statement.c"),
    ("an_end_of_other_bytes_is_known", "backend/store/store_streams.c",
     "stream_place_is(&end.at, &part->end) ? STREAM_KNOWN",
     "end.at.file == part->end.file && end.at.offset == part->end.offset ? STREAM_KNOWN"),
    ("what_a_disk_lost_of_a_sealed_file_is_waited_for", "upload/lifecycle/end_parting.c",
     "return stream_place_is(&told->at, &st->end.at) &&\n", "return 0 && stream_place_is(&told->at, &st->end.at) &&\n"),
    ("what_a_disk_lost_of_the_newest_file_is_waited_for", "upload/lifecycle/end_parting.c",
     "return of_newest ? parting_settle_cut", "return of_newest && 0 ? parting_settle_cut"),
    ("what_a_disk_lost_is_not_compared", "upload/lifecycle/end_parting.c",
     "bool same = p->there.at.offset == line->at.offset &&", "bool same = line || p->there.at.offset == line->at.offset ||"),
    ("an_empty_sealed_file_is_passed", "upload/source/tail.c",
     "return w->layout == SESSION_LIVE && w->offset == 0 &&", "return 0 && w->layout == SESSION_LIVE && w->offset == 0 &&"),
    ("what_was_sent_of_an_active_file_is_all_of_the_sealed_one", "upload/lifecycle/end_parting.c",
     "return st->file > end->file || st->end", "return true || st->end"),
    ("any_end_in_a_sealed_file_is_passed", "upload/lifecycle/end_parting.c",
     "return stream_place_is(&told->at, &st->end.at) &&\n", "return "),
    ("a_channel_that_differs_is_asked_for_at_each_inspection", "upload/lifecycle/inspect_channel.c",
     "st->unproved && !stream_knows_end(st);", "false;"),
    ("what_was_told_on_another_host_says_nothing", "upload/source/told.c",
     "told_is_file(told, channel, &st));", "0);"),
    ("a_file_gets_its_number_later_and_nobody_is_told", "upload/lifecycle/sealed_file.c",
     "st->jump = st->positions && st->end.at.file; /*", "st->jump = 0; /*"),
    ("a_place_has_two_names", "upload/batch/part.c",
     "    part->begin = st->end.at;\n",
     "    part->begin = st->end.at;\n    if (offer->record.file > st->end.at.file) {\n        part->begin.file ="
     " offer->record.file;\n        part->begin.offset = 0;\n    }\n"),
    # Bugs of kinds that there were.
    ("a_state_directory_of_others_is_taken", "upload/journal/state_dir.c",
     "    if (st.st_mode & 022) {", "    if (0) {"),
    ("a_text_of_any_tree_is_parsed", "upload/engine/upload_cursor.c",
     "if (text && json_tree_bytes(text, len) > CURSOR_MAX_TREE_BYTES) {", "if (0) {"),
    ("what_is_kept_back_counts_as_sent", "agent/loop_report.c",
     "bool all = s.streams_pending == 0 && engine_summary_accepted(&s);", "bool all = s.streams_pending == 0;"),
    ("a_root_to_come_has_no_rule_for_its_state", "agent/confine_paths.c",
     "    if (path) {\n        allow_parent(rules, path);\n    }\n",
     "    if (path) {\n        allow_parent(rules, path);\n    } else {\n        return;\n    }\n"),
    ("a_child_keeps_the_lock_of_a_root", "upload/engine/root.c",
     "flock(root->lock_fd, LOCK_UN); /*", "/*"),
    ("a_sync_is_skipped", "upload/journal/journal.c",
     "start_sync(j, SYNC_RECORDS, j->file.fd);", "j->durable = j->syncing;"),
    ("the_line_before_is_not_compared", "upload/source/file_mark.c",
     "    if (fstat(fd, &st) < 0 || (!gz && (uint64_t)st.st_size < at)) {\n        return FILE_SHORTER;",
     "    if (st.st_mode == st.st_mode) {\n        return FILE_MATCHES;"),
    ("one_listing_forgets", "upload/lifecycle/away.c",
     "    if (s->absence.days > ABSENCE_OPEN_DAYS) {\n        away_forget(s);", "    if (s) {\n        away_forget(s);"),
    ("two_directories_of_an_id_are_sent", "upload/lifecycle/inspect.c",
     "if (!claim_check(session, &seen->scan, seen->writer) ||", "if ((0 && !claim_check(session, &seen->scan, seen->writer)) ||"),
    ("a_line_is_written_behind_half_a_line", "collector-lib/core/session_dir.c",
     "    if (!file->torn_bytes) {\n", "    if (file->torn_bytes || !file->torn_bytes) {\n"),
    ("a_cut_before_the_last_write_is_not_seen", "upload/source/told.c", "return last != '\\n';", "return false;"),
    ("a_line_is_written_behind_half_a_line_that_others_left", "collector-lib/core/active_name.c",
     "bool merges = are && begin < at;", "bool merges = are > 1 && begin < at;"),
    ("a_line_is_written_behind_a_cut_that_a_rotation_finds", "collector-lib/core/session_dir.c",
     "        may = may_write(dir, channel);\n", ""),
    ("a_file_that_was_cut_is_made_longer", "collector-lib/core/channel_file.c",
     "((uint64_t)st.st_size > file->torn_at &&", "((uint64_t)st.st_size != file->torn_at &&"),
    ("a_rotation_that_was_not_undone_stays", "collector-lib/core/channel_file.c",
     "bool was_sealed = channel_file_is_sealed(file, dir, channel);", "bool was_sealed = false;"),
    ("a_manifest_that_says_nothing_is_none", "upload/source/scan.c",
     "        scan->manifest_state = manifest_is_newer(text, len) ? SCAN_MANIFEST_NEWER",
     "        scan->manifest_state = scan ? SCAN_MANIFEST_NONE\n                               : scan"
     " ? SCAN_MANIFEST_NEWER"),
    ("one_header_is_enough", "upload/journal/journal_format.c",
     "if (read_header(data, len, at, h) && second_header(h->root_len) == at) {", "if (0) {"),
    ("what_is_not_read_is_not_counted", "upload/source/unread.c",
     "    unread->names++;\n", "    unread->names += !unread;\n"),
    ("nobody_looks_at_what_grows_later", "upload/lifecycle/growth.c",
     "    uint64_t offset = c->at.offset;\n    if (c->at.kind", "    uint64_t offset = c->at.offset;\n    if (c) {\n        return 0;\n    }\n    if (c->at.kind"),
]


# What no plan shows, and no world: the program and its test that fail without it, in front of the file. In Python,
# they get a gpufl-backend or gpufl-agent in which it is changed.
BY_TESTS = [
    ("each_part_of_a_request_is_a_transaction", "tests/e2e/test_positions.py",
     "a_request_is_stored_whole_or_not_at_all", "backend/http/parts.c",
     "        status = answer_part(r, i, answer);\n",
     "        status = answer_part(r, i, answer);\n        if (status == GPUFL_OK && i + 1 < r->parts.count) {\n"
     "            (void)store_streams_commit(r->store, 0);\n            status = store_streams_begin(r->store);\n"
     "        }\n"),
    ("a_request_names_a_stream_twice", "tests/e2e/test_positions.py", "a_request_names_a_stream_once",
     "backend/http/ingest_read.c", "if (is_named_before(&read->parts, at)) {", "if (0 && is_named_before(&read->parts, at)) {"),
    ("a_claim_is_made_without_a_look_at_the_disk", "tests/unit/test_engine_positions.c",
     "a_file_that_was_rewritten_in_place_is_not_complete", "upload/lifecycle/end_proof.c",
     "st->checked = read_whole_is_unchanged(st);", "st->checked = true;"),
    ("a_claim_does_not_say_that_what_follows_is_lost", "tests/unit/test_engine_positions_parting.c",
     "a_rest_that_was_given_up_stays_lost", "upload/lifecycle/end_claim.c",
     "                                 end_claim_lacks_rest(st));", "                                 false);"),
    ("what_lacks_bytes_is_complete", "tests/e2e/test_positions.py",
     "what_lacks_bytes_has_ended_and_is_not_complete", "backend/store/store_completion.c",
     "return c->lacks || c->nothing ? CLAIM_ENDED : CLAIM_COMPLETE;", "return CLAIM_COMPLETE;"),
    ("an_end_that_was_never_settled_is_taken_if_its_file_is_gone", "tests/unit/test_engine_positions.c",
     "an_end_that_nothing_proves_is_believed_when_given_up", "upload/lifecycle/end_proof.c",
     "return !stream_place_before(&top, &p->told.at);", "return !stream_place_before(&top, &p->told.at) || st;"),
    ("of_files_alike_none_is_told_by_the_order", "tests/unit/test_engine_positions_shifting.c",
     "of_files_alike_the_order_tells_which_one_it_is", "upload/source/shifting_own.c",
     "own->walk.run.crc == wanted->crc;", "own->walk.run.crc == wanted->crc && 0;"),
    ("a_file_is_deleted_before_the_journal_is_on_disk", "tests/unit/test_position.c",
     "a_file_is_deleted_once_it_is_on_disk_that_it_was_passed", "upload/lifecycle/cleanup.c",
     "if (journal_durable(st->session->root->journal) < st->journal_file_ticket) {", "if (0) {"),
    ("the_end_is_told_before_the_journal_is_on_disk", "tests/unit/test_engine_positions.c",
     "the_end_is_told_once_the_journal_is_on_disk", "upload/lifecycle/completion.c",
     "return session->state == SESSION_COMPLETING &&\n           journal_durable(",
     "return false && session->state == SESSION_COMPLETING &&\n           journal_durable("),
    ("an_active_file_in_the_middle_is_the_first", "tests/unit/test_engine_positions.c",
     "a_stream_whose_first_files_are_gone_is_stored_once", "upload/batch/read_problem.c",
     "if (st->noted > 1) {", "if (st->noted > 1 && 0) {"),
    ("a_part_that_is_repeated_is_made_anew", "tests/unit/test_engine_positions_replies.c",
     "a_part_is_repeated_as_it_was_though_its_file_grows", "upload/engine/retry.c",
     "    counters_note_retry(&engine->counters, reply);\n",
     "    counters_note_retry(&engine->counters, reply);\n    if (offer->part.begin.file) {\n"
     "        offer_return(engine, offer);\n        origin_failed(origin, reply, now_ms);\n"
     "        stream_enqueue(st, false, now_ms);\n        return;\n    }\n"),
    ("a_part_is_made_anew_where_its_file_has_grown", "tests/unit/test_engine_positions_replies.c",
     "a_part_is_repeated_as_it_was_though_its_file_grows", "upload/engine/retry.c",
     "stream_channel(st), why);\n    offer->state = OFFER_WAITING;\n",
     "stream_channel(st), why);\n    if (offer->part.begin.file) {\n        offer_return(engine, offer);\n"
     "        stream_enqueue(st, false, now_ms + 1000);\n        return;\n    }\n    offer->state = OFFER_WAITING;\n"),
    ("a_verdict_has_the_end_before_it", "tests/e2e/test_positions.py", "each_verdict_carries_the_end_and_the_epoch",
     "backend/http/parts.c",
     "    gpufl_status status = judge_part(r, at, answer);\n    if (status == GPUFL_OK) {\n        status ="
     " store_streams_end(r->store, part->session, part->channel, &end);\n",
     "    gpufl_status status = store_streams_end(r->store, part->session, part->channel, &end);\n"
     "    if (status == GPUFL_OK) {\n        status = judge_part(r, at, answer);\n"),
    ("a_verdict_has_no_epoch", "tests/e2e/test_positions.py", "each_verdict_carries_the_end_and_the_epoch",
     "backend/http/parts.c", "\\\"parts\\\":[\", store_epoch(r->store));", "\\\"parts\\\":[\", \"1\");"),
    # Bugs of kinds that there were.
    ("a_lock_file_that_cannot_be_read_is_free", "tests/unit/test_liveness.c",
     "without_a_lock_only_a_living_pid_is_evidence", "upload/source/liveness.c",
     "*out = (struct lock_probe){.state = LOCK_UNKNOWN};", "*out = (struct lock_probe){.state = LOCK_FREE};"),
    ("progress_is_believed_of_anybody", "tests/unit/test_wait_holder.c",
     "progress_that_another_user_wrote_is_not_believed", "upload/published/progress_file.c",
     ": file_open_owned(sys, root_fd, path);", ": file_open(sys, root_fd, path);"),
    ("a_compressed_file_that_cannot_be_read_is_damaged", "tests/e2e/test_unread.py",
     "a_compressed_active_file_is_not_damaged_while_the_disk_cannot_read_it", "upload/source/gz_decoder.c",
     "another member may begin */\n        return GPUFL_ERR_IO;",
     "another member may begin */\n        return GPUFL_ERR_FORMAT;"),
]


def text_of(mutant):
    """\\return the text of its file, which has what is changed once."""
    name, path, old = mutant[:3]
    source = (ROOT / path).read_text()
    if source.count(old) != 1:
        raise SystemExit(f"mutants.py: {name}: {path} has its text {source.count(old)} times (expected once)")
    return source


def split(mutant):
    """\\return what finds one of BY_TESTS, a program and its test, and the rest, which is as in MUTANTS."""
    name, program, test, *rest = mutant
    if not re.search(rf"^(def|static void) {test}\(", (ROOT / program).read_text(), re.M):
        raise SystemExit(f"mutants.py: {name}: {program} has no test {test}")
    return (program, test), (name, *rest)


def compiled(where, source, out):
    compiler = shlex.split(os.environ["COMPILE"])
    at = compiler.index("-I.")
    subprocess.run([*compiler[:at], f"-I{where}", *compiler[at:], "-w", "-c", "-o", out, source], cwd=ROOT, check=True)
    return str(out)


def linked(out, command, objects):
    """With objects in the place of others."""
    words = shlex.split(os.environ[command])
    if not set(objects) <= set(words):
        raise SystemExit(f"mutants.py: {out}: {command} does not link {' '.join(set(objects) - set(words))}")
    subprocess.run([*(objects.get(word, word) for word in words), "-o", out], cwd=ROOT, check=True)


def build(build_dir, mutant, by=None):
    """\\return the simulator, or the test, with one file changed, as a command."""
    name, path, old, new, *unit = mutant
    source = text_of(mutant)
    where = ROOT / build_dir / "mutants" / name
    changed = where / path
    changed.parent.mkdir(parents=True, exist_ok=True)
    changed.write_text(source.replace(old, new))
    unit = unit[0] if unit else path
    file = changed if unit == path else ROOT / unit
    objects = {f"{build_dir}/{unit[:-2]}.o": compiled(where, file, where / "mutant.o")}
    if not by:
        linked(where / "sim", "LINK", objects)
        return [where / "sim"]
    if by[0].endswith(".c"):
        objects["TEST"] = compiled(where, ROOT / by[0], where / "test.o")
        linked(where / "test", "LINK_TEST", objects)
        return [where / "test"]
    programs = where / pathlib.Path(build_dir).name  # tests go by the name of their build directory
    programs.mkdir(exist_ok=True)
    program = "backend" if unit.startswith("backend/") else "agent"
    for entry in (ROOT / build_dir).iterdir():
        if entry.name not in (f"gpufl-{program}", "mutants") and not (programs / entry.name).is_symlink():
            (programs / entry.name).symlink_to(entry)
    linked(programs / f"gpufl-{program}", f"LINK_{program.upper()}", objects)
    return [sys.executable, ROOT / by[0], programs, "-k", by[1]]


def run(command, seconds):
    """\\return its exit status, None if it does not end, and what it printed."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              check=False, timeout=max(1, seconds), cwd=ROOT)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return None, ""


def find_by_test(command, test, end):
    """\\return that the test fails, or None."""
    _, text = run(command, min(ONE_S, end - time.monotonic()))
    return f"test {test}" if re.search(rf"^(FAIL {test}:|\[  FAILED  \] {test}$)", text, re.M) else None


def find(sim, seeds, end):
    """\\return how the simulator finds it, or None. A world may crash it: that counts, as plans that never end do."""
    status, text = run([*sim, "plans"], min(ONE_S, end - time.monotonic()))
    if status is None and time.monotonic() < end:
        return "plans: they do not end"
    if not status:
        status, text = run([*sim, "--first", f"1..{seeds}"], end - time.monotonic())
    if not status:
        return None
    said = [line for line in text.splitlines() if line.startswith(("FAIL", "SEED"))]
    return said[0].replace("FAIL", "plan").replace("SEED", "seed") if said else f"plans: exit status {status}"


def summary(found):
    """Prints what finds each, in few words. \\return how many nothing finds."""
    kinds = {"plan": 0, "seed": 0, "test": 0}
    seeds = 0
    for name, how in found.items():
        print(f"{name}: {' '.join(how.split()[:2]).rstrip(':') if how else 'NOT FOUND'}")
        for kind in kinds:
            kinds[kind] += bool(how) and how.startswith(kind)
        seeds = max(seeds, int(how.split()[1]) if how and how.startswith("seed ") else 0)
    missed = sum(how is None for how in found.values())
    print(f"{len(found)} rules switched off: {kinds['plan']} found by plans, {kinds['seed']} by worlds (the last one by seed "
          f"{seeds}), {kinds['test']} by tests; {missed} not found")
    return missed


def main():
    by_tests = [split(mutant) for mutant in BY_TESTS]
    todo = [(None, mutant) for mutant in MUTANTS] + by_tests
    if len(sys.argv) == 1:
        for _, mutant in todo:
            text_of(mutant)
        return 0
    build_dir, seeds, *names = sys.argv[1:]
    end = time.monotonic() + ALL_S
    todo = [(by, mutant) for by, mutant in todo if not names or mutant[0] in names]
    found = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (by, mutant), command in zip(todo, pool.map(lambda one: build(build_dir, one[1], one[0]), todo)):
            how = find_by_test(command, by[1], end) if by else find(command, seeds, end)
            found[mutant[0]] = how
            print(f"{'found' if how else 'NOT FOUND'} {mutant[0]}{': ' + how[:120] if how else ''}", flush=True)
    return 1 if summary(found) else 0


if __name__ == "__main__":
    sys.exit(main())
