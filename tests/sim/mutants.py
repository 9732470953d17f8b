#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Switches rules off, one at a time: the simulator has to find each. A rule that it does not find is either not
needed, or not simulated. Usage: mutants.py BUILD SEEDS [NAME…]; COMPILE and LINK are make's commands."""
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
     "WHERE file = ?3 AND offset = ?4 AND lines = ?5 AND crc = ?6 AND expired = 0", "WHERE expired = 0",
     "backend/store/store_statement.c"),
    ("a_window_is_stored_again", "backend/http/ingest.c",
     "    case REGISTRY_KNOWN:\n", "    case REGISTRY_KNOWN:\n        break;\n"),
    ("a_claim_is_not_compared", "backend/store/store_completion.c",
     "c->equal != c->stored || c->equal != c->claim->channels", "0 && c->equal"),
    ("every_end_is_taken_for_proved", "upload/lifecycle/end_proof.c",
     "p->crc == p->told.at.crc && p->file_crc == p->told.file_crc", "p->crc || !p->crc"),
    ("a_writer_that_holds_its_lock_is_gone", "upload/source/liveness.c",
     "if (lock == LOCK_HELD) {\n        return WRITER_LIVE;", "if (lock == LOCK_HELD) {\n        return WRITER_GONE;"),
    ("a_failed_batch_is_settled", "upload/http/verdict.c",
     "case 0:\n    case 408:", "case 0:\n        return VERDICT_ACKED;\n    case 408:"),
    ("files_are_deleted_one_too_many", "upload/lifecycle/cleanup.c",
     "? st->highest\n               : st->journal_file;", "? st->highest + 1\n               : st->journal_file + 1;"),
]


def build(build_dir, mutant):
    """\\return the simulator with one file changed, as a path."""
    name, path, old, new, *unit = mutant
    source = (ROOT / path).read_text()
    if source.count(old) != 1:
        raise SystemExit(f"mutants.py: {name}: {path} has its text {source.count(old)} times (expected once)")
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
    build_dir, seeds, *names = sys.argv[1:]
    survivors = 0
    for mutant in MUTANTS:
        if names and mutant[0] not in names:
            continue
        how = find(build(build_dir, mutant), seeds)
        survivors += how is None
        print(f"{'found' if how else 'NOT FOUND'} {mutant[0]}{': ' + how[:120] if how else ''}", flush=True)
    print(f"{survivors} not found")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
