#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Switches rules off, one at a time: the simulator has to find each. A rule that it does not find is either not
needed, or not simulated. Usage: mutants.py BUILD SEEDS [NAME…]; COMPILE and LINK are make's commands. Without arguments,
it only looks whether each rule still has the text that is to be changed."""
import concurrent.futures
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

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
    ("damaged_bytes_are_stored", "backend/http/parts.c",
     "if (r->damaged || !positions_fit(part)) {", "if (r->damaged) {"),
    ("what_retention_deleted_has_no_end", "backend/store/store_schema.h",
     "\"UPDATE stream SET expired = 1 WHERE sid", "\"DELETE FROM stream WHERE sid", "backend/store/store_statement.c"),
    ("an_epoch_says_nothing", "upload/lifecycle/parking_grown.c",
     "if (claimed && end->epoch != origin->epoch) {", "if (claimed && 0) {"),
    ("no_part_reopens", "upload/batch/part.c", ".reopens = st->reopens,", ".reopens = false,"),
    ("without_positions_for_a_moment_is_without_them", "upload/engine/part_ack.c",
     "retry_alone(offer, \"the backend does not support positions now\", now_ms);", "part_go_without(offer, now_ms);"),
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


def text_of(mutant):
    """\\return the text of its file, which has what is changed once."""
    name, path, old = mutant[:3]
    source = (ROOT / path).read_text()
    if source.count(old) != 1:
        raise SystemExit(f"mutants.py: {name}: {path} has its text {source.count(old)} times (expected once)")
    return source


def build(build_dir, mutant):
    """\\return the simulator with one file changed, as a path."""
    name, path, old, new, *unit = mutant
    source = text_of(mutant)
    where = ROOT / build_dir / "mutants" / name
    changed = where / path
    changed.parent.mkdir(parents=True, exist_ok=True)
    changed.write_text(source.replace(old, new))
    unit = unit[0] if unit else path
    file = changed if unit == path else ROOT / unit
    compiler = shlex.split(os.environ["COMPILE"])
    at = compiler.index("-I.")
    subprocess.run([*compiler[:at], f"-I{where}", *compiler[at:], "-w", "-c", "-o", where / "mutant.o", file],
                   cwd=ROOT, check=True)
    original = f"{build_dir}/{unit[:-2]}.o"
    linker = [str(where / "mutant.o") if word == original else word for word in shlex.split(os.environ["LINK"])]
    subprocess.run([*linker, "-o", where / "sim"], cwd=ROOT, check=True)
    return where / "sim"


def find(sim, seeds):
    """\\return how the simulator finds it, or None. A world may crash it, or run for ever: that counts."""
    for arguments in (["plans"], ["--first", f"1..{seeds}"]):
        try:
            done = subprocess.run([sim, *arguments], capture_output=True, text=True, check=False,
                                  timeout=3600, cwd=ROOT)
        except subprocess.TimeoutExpired:
            return "it does not end"
        if done.returncode:
            said = [line for line in done.stdout.splitlines() if line.startswith(("FAIL", "SEED"))]
            return said[0] if said else f"exit status {done.returncode}"
    return None


def main():
    if len(sys.argv) == 1:
        for mutant in MUTANTS:
            text_of(mutant)
        return 0
    build_dir, seeds, *names = sys.argv[1:]
    survivors = 0
    wanted = [mutant for mutant in MUTANTS if not names or mutant[0] in names]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, sim in zip(wanted, pool.map(lambda mutant: build(build_dir, mutant), wanted)):
            how = find(sim, seeds)
            survivors += how is None
            print(f"{'found' if how else 'NOT FOUND'} {mutant[0]}{': ' + how[:120] if how else ''}", flush=True)
    print(f"{survivors} not found")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
