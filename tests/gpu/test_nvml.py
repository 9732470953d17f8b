# SPDX-License-Identifier: Apache-2.0
"""The device figures of a real NVIDIA GPU, each against nvidia-smi in the same seconds.

Needs a GPU, its driver, nvcc and a C compiler; `make check-gpu` builds and runs it.
Usage: test_nvml.py BUILD_DIR."""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(sys.argv[1])
RATE_MS = 20
SECONDS = 12
bad = 0


def check(ok, what):
    global bad
    bad += not ok
    print(("  ok    " if ok else "  FAIL  ") + what, flush=True)


def smi(*columns):
    """Rows of nvidia-smi, a dict a GPU; what it does not offer is None."""
    out = subprocess.run(["nvidia-smi", "--query-gpu=" + ",".join(columns),
                          "--format=csv,noheader,nounits"], capture_output=True, text=True,
                         check=True).stdout
    rows = []
    for line in out.splitlines():
        cells = [c.strip() for c in line.split(",")]
        rows.append({k: None if c.startswith("[") or c in ("N/A", "") else c
                     for k, c in zip(columns, cells)})
    return rows


def number(text):
    return -1 if text is None else float(text)


def record(logs):
    """One recording with the GPU busy in its middle: (session directory, samples of nvidia-smi
    as (time_ns, row of GPU 0))."""
    job = subprocess.Popen([BUILD / "tests/gpu/sampled", logs, str(RATE_MS), str(SECONDS)],
                           stdout=subprocess.PIPE, text=True)
    session = logs / job.stdout.readline().strip()
    time.sleep(2)
    load = subprocess.Popen([BUILD / "tests/gpu/load", str(SECONDS - 4)], stdout=subprocess.PIPE)
    load.stdout.readline()
    seen = []
    while load.poll() is None:
        rows = smi("utilization.gpu", "utilization.memory", "temperature.gpu", "power.draw.instant",
                   "memory.used", "memory.total", "clocks.sm", "fan.speed", "temperature.memory",
                   "clocks.mem", "ecc.errors.corrected.volatile.dram",
                   "ecc.errors.uncorrected.volatile.dram", "power.draw")
        seen.append((time.time_ns(), rows[0]))
        time.sleep(0.1)
    job.wait()
    return session, seen


def rows_of(session):
    rows = []
    for path in sorted(session.glob("system*.log")):
        for line in path.read_text().splitlines():
            one = json.loads(line)
            if one["type"] == "device_metric_batch":
                for row in one["rows"]:
                    rows.append(dict(zip(one["columns"], row), ns=one["base_time_ns"] + row[0]))
    return sorted(rows, key=lambda r: (r["device_id"], r["ns"]))


def identity(session):
    *_, start = (r for r in map(json.loads, (session / "system.log").read_text().splitlines()) if r["type"] == "job_start")
    told = smi("index", "name", "uuid", "compute_cap", "memory.total", "pci.bus")
    check(len(start["devices"]) == len(told), f"{len(told)} devices")
    for device, static, row in zip(start["devices"], start["cuda_static_devices"], told):
        check((device["name"], device["uuid"]) == (row["name"], row["uuid"]),
              f"device {device['id']}: {device['name']} {device['uuid']}")
        check(f"{static['compute_major']}.{static['compute_minor']}" == row["compute_cap"],
              f"compute capability {row['compute_cap']}")
        check(device["total_mib"] == int(row["memory.total"]), f"{device['total_mib']} MiB")
        check(device["pci_bus"] == int(row["pci.bus"], 16), f"PCI bus {device['pci_bus']}")


def beat(rows):
    gaps = [(b["ns"] - a["ns"]) / 1e6 for a, b in zip(rows, rows[1:])]
    check(abs(statistics.median(gaps) - RATE_MS) < 1,
          f"a sample every {statistics.median(gaps):.2f} ms, longest {max(gaps):.1f} ms: the PCIe "
          "query is off the beat")
    check(len(rows) >= SECONDS * 1000 / RATE_MS * 0.9, f"{len(rows)} samples in {SECONDS} s")


def near(rows, seen, ours, theirs, slack, scale=1):
    """Each figure of nvidia-smi lies between ours of the second around it, give or take slack."""
    off = []
    for ns, row in seen:
        about = [r[ours] for r in rows if abs(r["ns"] - ns) < 1_000_000_000]
        value = number(row[theirs]) * (scale if row[theirs] is not None else 1)
        if not min(about) - slack <= value <= max(about) + slack:
            off.append((value, min(about), max(about)))
    last = rows[len(rows) // 2][ours]
    check(len(off) <= len(seen) // 20, f"{ours}: {last}, {len(seen) - len(off)} of {len(seen)} agree"
          + (f", off: {off[:3]}" if off else ""))


def figures(rows, seen):
    near(rows, seen, "gpu_util", "utilization.gpu", 10)
    near(rows, seen, "mem_util", "utilization.memory", 10)
    near(rows, seen, "temp_c", "temperature.gpu", 2)
    near(rows, seen, "used_mib", "memory.used", 1024)  # nvidia-smi leaves the reserved part out
    near(rows, seen, "total_mib", "memory.total", 0)
    near(rows, seen, "clock_sm", "clocks.sm", 60)
    near(rows, seen, "fan_speed_pct", "fan.speed", 5)
    near(rows, seen, "temp_mem_c", "temperature.memory", 2)
    near(rows, seen, "clock_mem", "clocks.mem", 60)
    near(rows, seen, "ecc_corrected", "ecc.errors.corrected.volatile.dram", 0)
    near(rows, seen, "ecc_uncorrected", "ecc.errors.uncorrected.volatile.dram", 0)
    near(rows, seen, "power_mw", "power.draw", 40_000, 1000)


def energy(rows):
    """Between the first and the last new answer: it is asked for once a second."""
    told = [r for r in rows if r["energy_uj"] >= 0]
    new = [i for i in range(1, len(told)) if told[i]["energy_uj"] != told[i - 1]["energy_uj"]]
    check(len(new) >= SECONDS - 3, f"energy_uj: {len(new)} answers in {SECONDS} s")
    span = told[new[0]:new[-1] + 1]
    check(all(b["energy_uj"] >= a["energy_uj"] for a, b in zip(told, told[1:])),
          "energy_uj never falls")
    used = (span[-1]["energy_uj"] - span[0]["energy_uj"]) / 1e6
    sum_j = sum(a["power_mw"] * (b["ns"] - a["ns"]) for a, b in zip(span, span[1:])) / 1e12
    check(abs(used - sum_j) < 0.15 * sum_j, f"{used:.0f} J by energy_uj, {sum_j:.0f} J by power_mw")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        session, seen = record(pathlib.Path(scratch))
        rows = [r for r in rows_of(session) if r["device_id"] == 0]
        print(f"{len(rows)} samples beside {len(seen)} of nvidia-smi", flush=True)
        identity(session)
        beat(rows)
        figures(rows, seen)
        energy(rows)
        idle, busy = rows[0]["pcie_bw_bps"], max(r["pcie_bw_bps"] for r in rows)
        check(busy > 1 << 30, f"PCIe: {idle} bytes/s at first, {busy / 1e9:.1f} GB/s at most")
        check(all(r["voltage_mv"] == -1 for r in rows), "voltage: NVML has none, so −1")
    print(f"{'FAILED' if bad else 'passed'}: tests/gpu/test_nvml.py, {bad} failed")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
