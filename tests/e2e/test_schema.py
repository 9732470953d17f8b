# SPDX-License-Identifier: Apache-2.0
"""The contract in schema/: golden lines, real sessions and our own against the schemas."""
import copy
import gzip
import json
import re
import sys

import schemas  # first: it may start this anew by the Python that has jsonschema
import lib
from lib import check, equal
import test_collector as collector

GOLDEN = sorted((lib.ROOT / "schema/golden").glob("*.ndjson"))


def _golden():
    for path in GOLDEN:
        for line in path.read_text().splitlines():
            yield path.name.split(".")[0], line


def every_type_has_a_schema_and_a_golden_line(place):
    lines = schemas.Lines()
    for kind, line in _golden():
        equal(json.loads(line)["type"], kind, "the file's name")
        equal(lines.wrong(line), None, line)
    equal(set(lines.seen), set(lines.schemas), "types")
    page = (lib.ROOT / "schema/README.md").read_text()
    missing = [t for t in lines.schemas if f"`{t}`" not in page]
    equal(missing, [], "types that schema/README.md leaves out")


def _broken(record):
    """(what, the record with one thing wrong) for each thing that can be."""
    for key in record:
        less = {k: v for k, v in record.items() if k != key}
        yield f"without {key}", key, less
        other = copy.copy(record)
        other[key] = {"no": "such"} if not isinstance(record[key], dict) else 7
        yield f"{key} of another type", None, other
    yield "with a key more", None, {**record, "typo": 1}
    for i, row in enumerate(record.get("rows", [])[:1]):
        yield "with a short row", None, {**record, "rows": [row[:-1]]}
        yield "with a long row", None, {**record, "rows": [row + [0]]}
        yield "with a text in a row", None, {**record, "rows": [["0"] + row[1:]]}
        yield "with columns swapped", None, {**record, "columns": record["columns"][::-1]}
    if "rows" in record:
        yield "without rows", None, {**record, "rows": []}


def every_broken_line_is_refused(place):
    lines = schemas.Lines()
    count = 0
    for kind, line in _golden():
        record = json.loads(line)
        for what, key, broken in _broken(record):
            if key and key not in lines.schemas[kind]["required"]:
                continue
            count += 1
            check(lines.wrong(json.dumps(broken)), f"{kind} {what} passes")
    check(count > 900, f"{count} broken lines")
    shuffled = dict(reversed(list(json.loads(line).items())))
    check("order" in (lines.wrong(json.dumps(shuffled)) or ""), "keys in another order pass")


def real_sessions_validate_line_by_line(place):
    if lib.SANITIZER:
        lib.skip("none of our code runs in this")
    lines = schemas.Lines()
    for path in sorted(lib.SAMPLES.glob("*/*.log.gz")):
        for number, line in enumerate(gzip.open(path), 1):
            wrong = lines.wrong(line)
            check(not wrong, f"{path.name}, line {number}: {wrong}")
    equal(sum(lines.seen.values()), 40300, "lines")


def _validate(session, lines):
    for channel in lib.CHANNELS:
        for number, line in enumerate(lib.on_disk(session, channel).splitlines(), 1):
            wrong = lines.wrong(line)
            check(not wrong, f"{channel}, line {number}: {wrong}")


def traced_sessions_of_a_real_gpu_validate(place):
    if lib.SANITIZER:
        lib.skip("none of our code runs in this")
    lines = schemas.Lines()
    for session in lib.TRACED.iterdir():
        _validate(session, lines)
    equal({"kernel_event_batch", "kernel_detail", "memcpy_event_batch", "memset_event", "profile_sample_batch",
           "source_file_content", "synchronization_event_batch", "memory_alloc_event_batch"} - set(lines.seen), set(), "what is in them")


def our_own_sessions_validate(place):
    lines = schemas.Lines()
    nvidia = {"LD_LIBRARY_PATH": str(lib.BUILD / "tests/fake")}
    for part, env in (("phases", nvidia), ("phases", collector.AMD), ("threads", {}),
                      ("phases", {"GPUFL_SIMULATED_GPUS": "2"}),
                      ("stats", {**nvidia, "FAKE_NVML_FAIL": "Power,Clock,Utilization,Energy,Ecc"}),
                      ("stats", {"GPUFL_PROFILING_ENGINE": "Deep"}), ("stats", {"GPUFL_POD_NAME": "train-\"0\""})):
        done, session = collector.play(place, part, env=env)
        equal(done.returncode, 0, done.stderr)
        _validate(session, lines)
    equal(set(lines.seen), {"job_start", "shutdown", "dictionary_update", "scope_event_batch",
                            "device_metric_batch", "host_metric_batch", "system_start",
                            "system_stop", "capture_capabilities"}, "types")


def columns_in_code_and_contract_agree(place):
    """schema/records.h and the schemas name the same columns."""
    code = (lib.ROOT / "schema/records.h").read_text()
    for names, kind in ((["SCOPE"], "scope_event_batch"), (["DEVICE", "DETAIL"], "device_metric_batch"),
                        (["HOST"], "host_metric_batch"), (["KERNEL"], "kernel_event_batch"),
                        (["COPY"], "memcpy_event_batch"), (["WAIT"], "synchronization_event_batch"),
                        (["ALLOCATION"], "memory_alloc_event_batch"), (["SAMPLE"], "profile_sample_batch")):
        macros = [re.search(rf"define RECORD_{name}_COLUMNS\(.*?\)(.*?)\n\n", code, re.S).group(1) for name in names]
        columns = re.findall(r"\b(?:FIRST|X)\((\w+)\)", "".join(macros))
        schema = schemas.load()[kind]
        equal(columns, schema["oneOf"][0]["properties"]["columns"]["const"], f"{kind}: newest columns")
        equal(columns, [c["title"] for c in schema["properties"]["rows"]["items"]["prefixItems"]],
              f"{kind}: values of a row")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
