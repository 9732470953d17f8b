# SPDX-License-Identifier: Apache-2.0
"""Devices: NVML, CUDA and CUPTI number them each in its own way, and a session has one number for
each, by UUID. On fake drivers; tests/gpu/prove.py asks the same of real ones."""
import collections
import shutil
import subprocess
import sys
import uuid

import lib
from lib import check, equal, until
import test_collector as collector
import test_trace as trace

NVML = [f"0000000{n}-2222-3333-4444-555555555555" for n in range(2)]  # of the fake
MIG = "MIG-abcdef01-2222-3333-4444-555555555555"
ROWS = {"memcpy_event_batch": "device", "memset_event_batch": "device", "memory_alloc_event_batch": "scope"}


def _session(place, uuids, part="devices", **env):
    options = trace._options(place, enable_memory_tracking=True, enable_cuda_graphs_tracking=True)
    (session,), _, _ = trace._run(place, part, FAKE_CUPTI_UUIDS=",".join(uuids), **options, **env)
    return session


def _properties(session):
    return [r for r in collector.records(session, "device") if r["type"] == "device_properties"]


def _by_device(session):
    """(device, context) of each row that names them, by type; those of kernels by name."""
    found = collections.defaultdict(list)
    for k in trace._kernels(session):
        found[k["name"].split("(")[0]].append((k["device_id"], k["context_id"]))
    for kind, channel in ROWS.items():
        found[kind] = [row["device_id"] for row in collector.rows(session, channel, kind)]
    found["graph_launch_event"] = [r["device_id"] for r in collector.records(session, "scope")
                                   if r["type"] == "graph_launch_event"]
    return dict(found)


def _numbers(session, first, second):
    """The device CUDA 0 has the number \\p first, and 1 \\p second, in each row."""
    others = [second, first]  # the order of the job
    equal(_by_device(session), {"first": [(first, 1)] * 3, "second": [(second, 2)] * 2,
                                **{kind: others for kind in (*ROWS, "graph_launch_event")}}, "rows")
    equal({p["cuda_ordinal"]: p["id"] for p in _properties(session)}, {0: first, 1: second}, "numbers")
    for row in collector.rows(session, "device", "memcpy_event_batch"):
        equal(row["context_id"], 1 if row["device_id"] == first else 2, "its context")


def rows_name_the_device_that_metrics_name(place):
    """S3-10, S3-11: CUDA's order is the other way round, or it is the same."""
    for uuids, first, second in ((NVML[::-1], 1, 0), (NVML, 0, 1)):
        session = _session(place, uuids, GPUFL_SYSTEM_SAMPLE_RATE_MS="20")
        _numbers(session, first, second)
        named = {d["id"]: d["uuid"] for d in collector.last_start(session, "device")["devices"]}
        equal(named, {n: f"GPU-{text}" for n, text in enumerate(NVML)}, "devices of job_start")
        for p in _properties(session):
            equal(p["uuid"], named[p["id"]], "the same device")


def rows_that_come_before_the_driver_answers_name_the_device_that_it_tells(place):
    """What is traced is numbered first."""
    session = _session(place, NVML[::-1], FAKE_NVML_INIT_MS="1500")
    _numbers(session, *(p["id"] for p in sorted(_properties(session), key=lambda p: p["cuda_ordinal"])))
    equal({d["id"]: d["uuid"] for d in collector.last_start(session, "device")["devices"]},
          {p["id"]: p["uuid"] for p in _properties(session)}, "the same devices")


def the_report_numbers_devices_as_the_files_do(place):
    """What is traced before the driver answers is numbered first: here CUDA's 1, which NVML lists first or second."""
    for uuids, numbers in ((NVML, [1, 0]), (NVML[::-1], [0, 1])):
        report = place.path / "report"
        job = place.start("tests/e2e/gpu_job", place.logs, "devices, then held", stdin=subprocess.PIPE,
                          env={"LD_LIBRARY_PATH": f"{trace.FAKE}:{lib.BUILD}", "GPUFL_PROFILING_ENGINE": "Trace",
                               "GPUFL_SYSTEM_SAMPLE_RATE_MS": "20", **trace._options(place, continuous_system_sampling=True),
                               "FAKE_CUPTI_UUIDS": ",".join(uuids), "FAKE_NVML_STARTED": str(place.path / "started"),
                               "GPU_JOB_REPORT": str(report)})
        until(lambda: [d for d in place.logs.glob("[!.]*") if lib.on_disk(d, "device").count(b"device_properties") == 2], "it is traced")
        (place.path / "started").touch()
        session, = (d for d in place.logs.iterdir() if not d.name.startswith("."))
        until(lambda: b"device_metric_batch" in lib.on_disk(session, "system"), "figures of devices")
        job.communicate(b"")
        told = [(d["id"], d["name"]) for d in collector.last_start(session, "system")["devices"]]
        equal([number for number, _ in told], numbers, "the numbers in NVML's order")
        equal([line for line in report.read_text().splitlines() if line.startswith("GPU ")],
              [f"GPU {number}  {name}" for number, name in told], "the report's")
        shutil.rmtree(session)
        (place.path / "started").unlink()


def one_visible_gpu_is_not_taken_for_the_first(place):
    """CUDA_VISIBLE_DEVICES=1: what CUDA calls 0 is NVML's 1."""
    session = _session(place, NVML[1:], part="counted")
    equal({k["device_id"] for k in trace._kernels(session)}, {1}, "kernels")
    known, = _properties(session)
    equal((known["id"], known["cuda_ordinal"], known["uuid"]), (1, 0, f"GPU-{NVML[1]}"), "its record")


def a_part_of_a_gpu_is_a_device_of_its_own(place):
    """MIG: NVML names the whole GPU alone."""
    session = _session(place, [MIG, NVML[0]])
    _numbers(session, 2, 0)
    part = next(p for p in _properties(session) if p["id"] == 2)
    equal((part["uuid"], part["name"]), (MIG, "Fake H200 MIG 1g.18gb"), "the part")


def devices_without_nvml_are_numbered_as_they_come(place):
    session = _session(place, NVML, FAKE_NVML_INIT="9")
    equal(collector.last_start(session, "device")["devices"], [], "NVML has none")
    equal(sorted(p["id"] for p in _properties(session)), [0, 1], "numbers")
    _numbers(session, *(p["id"] for p in sorted(_properties(session), key=lambda p: p["cuda_ordinal"])))


def samples_name_the_device_that_metrics_name(place):
    own = [str(uuid.uuid4()) for _ in range(2)]  # whoever samples a GPU claims it
    told = {"FAKE_NVML_UUIDS": ",".join(own), "FAKE_CUPTI_UUIDS": ",".join(own[::-1])}
    (session,), _, _ = trace._run(place, "two GPUs", engine="PcSampling", **told)
    equal({row["device_id"] for row in collector.rows(session, "scope", "profile_sample_batch")}, {0, 1}, "both")
    equal({p["cuda_ordinal"]: p["id"] for p in _properties(session)}, {0: 1, 1: 0}, "numbers")
    (session,), _, _ = trace._run(place, "sampled", engine="PcSampling", **told)
    equal({row["device_id"] for row in collector.rows(session, "scope", "profile_sample_batch")}, {1},
          "of CUDA's first GPU")


def the_properties_are_the_devices(place):
    """S3-10: by NVML in job_start, by CUDA once it is traced; what is not known is -1, not 0."""
    session = _session(place, NVML, GPUFL_DEVICE_DETAILS="1", FAKE_NVML_MIG="1")
    static = collector.last_start(session, "device")["gpu_static_devices"]
    equal([(d["multi_processor_count"], d["warp_size"]) for d in static], [(132, 32)] * 2 + [(16, 32)] * 2,
          "whole GPUs, and parts")
    equal({d[name] for d in static for name in ("l2_cache_size_bytes", "shared_mem_per_block_bytes",
                                                "regs_per_block")}, {-1}, "NVML does not know it")
    for p in _properties(session):
        equal([p[name] for name in ("multi_processor_count", "warp_size", "l2_cache_size_bytes",
                                    "shared_mem_per_block_bytes", "regs_per_block", "compute_major",
                                    "compute_minor", "memory_clock_khz", "memory_bus_bits")],
              [132, 32, 62914560, 49152, 65536, 9, 0, 3201000, 6144], "CUDA does")
    session = _session(place, NVML, FAKE_NVML_FAIL="Cores")
    equal({d["multi_processor_count"] for d in collector.last_start(session, "device")["gpu_static_devices"]}, {-1},
          "an old driver")
    check(place, "")


if __name__ == "__main__":
    if not (lib.BUILD / "tests/fake/libcupti.so.13").exists():
        print("skip devices: CUDA's headers are not there")
        sys.exit(0)
    lib.main(sys.modules[__name__])
