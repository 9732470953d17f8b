# SPDX-License-Identifier: Apache-2.0
"""Training steps of a transformer in fp16; prints one JSON object.
Usage: step.py SIZE STEPS [--profile | --after | --sessions N | --ends HOW N | --turns N CONFIG=ENGINE…]
SIZE: busy (the GPU is), or bound (by launches). --profile: PyTorch's own profiler counts kernels and their
time. --after: it follows a session of the library in LIBGPUFL; the time from its first operation to its first
kernel, and from its last operation's end to its last kernel's. --sessions: the library in LIBGPUFL records N
sessions of STEPS each. --ends: CUPTI alone samples as often, by LIBBARE; HOW are the flags of bare_samples.c, and 32
for an end on another thread. --turns: the engines take turns within this process, N times STEPS each, by the library
in LIBGPUFL, which is loaded after as many steps without it; at the end come as many under CUPTI's kernel records
alone, by LIBBARE. CONFIG is a path for GPUFL_CONFIG_FILE or "", ENGINE may be none and is then the first: a
processor that others share moves by tens of percent from second to second, so what counts is the ratio within a turn
(`of_none`, the median)."""
import ctypes
import json
import os
import statistics
import sys
import threading
import time

import torch

WIDTH, HEADS, BATCH, LENGTH = {"busy": (1024, 16, 64, 512), "bound": (512, 8, 16, 256)}[sys.argv[1]]
STEPS = int(sys.argv[2])
SETTLE = 5  # steps after a change that do not count
torch.manual_seed(0)


class Training:
    def __init__(self):
        layer = torch.nn.TransformerEncoderLayer(d_model=WIDTH, nhead=HEADS, dim_feedforward=4 * WIDTH, batch_first=True)
        self.model = torch.nn.TransformerEncoder(layer, num_layers=6).cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.x = torch.randn(BATCH, LENGTH, WIDTH, device="cuda")

    def run(self, steps):
        """ms of each step"""
        times = []
        for _ in range(steps):
            begin = time.perf_counter()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.model(self.x).float().pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - begin) * 1e3)
        return times


def train(steps):
    return Training().run(steps)


def take_turns(turns, variants):
    torch.autograd.set_multithreading_enabled(False)  # two threads on two cores move twice
    training = Training()
    training.run(30)
    ms = {"untouched": [training.run(turns * STEPS)], **{v: [] for v in variants}}
    library = ctypes.CDLL(os.environ["LIBGPUFL"])
    for _ in range(turns):
        for variant in variants:
            os.environ["GPUFL_CONFIG_FILE"], _, os.environ["GPUFL_PROFILING_ENGINE"] = variant.rpartition("=")
            if not variant.endswith("none"):
                library.gpufl_init(None)
            training.run(SETTLE)
            ms[variant].append(training.run(STEPS))
            library.gpufl_shutdown()
    if ctypes.CDLL(os.environ["LIBBARE"]).bare_start() != 0:
        sys.exit("CUPTI does not start")
    training.run(SETTLE)
    ms["bare trace"] = [training.run(turns * STEPS)]
    return {v: told(t, ms[variants[0]]) for v, t in ms.items()}


def told(turns, none):
    """Of lists of ms, one a turn."""
    every = sum(turns, [])
    if len(turns) == len(none):
        of_none = statistics.median(statistics.median(a) / statistics.median(b) for a, b in zip(turns, none))
    else:
        of_none = statistics.median(every) / statistics.median(sum(none, []))
    return {"median_ms": round(statistics.median(every), 3), "min_ms": round(min(every), 3),
            "max_ms": round(statistics.quantiles(every, n=20)[-1], 3), "of_none": round(of_none, 4)}


def record_sessions(sessions):
    training = Training()
    training.run(30)
    library = ctypes.CDLL(os.environ["LIBGPUFL"])
    for _ in range(sessions):
        library.gpufl_init(None)
        training.run(STEPS)
        library.gpufl_shutdown()
        training.run(SETTLE)
    return sessions


def profile_after_a_session():
    training = Training()
    library = ctypes.CDLL(os.environ["LIBGPUFL"])
    library.gpufl_init(None)
    training.run(SETTLE)
    library.gpufl_shutdown()
    with torch.profiler.profile() as profiler:
        training.run(STEPS)
    kernels = [e.time_range for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    calls = [e.time_range for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CPU]
    return {"first_us": min(k.start for k in kernels) - min(c.start for c in calls),
            "last_us": max(k.end for k in kernels) - max(c.end for c in calls), "kernels": len(kernels)}


def on_another_thread(function, argument):
    results = []
    thread = threading.Thread(target=lambda: results.append(function(argument)))
    thread.start()
    thread.join()
    return results[0]


def end_often(how, ends):
    """How often sampling began and ended, and what CUPTI answered to the last begin or end."""
    training = Training()
    training.run(30)
    bare = ctypes.CDLL(os.environ["LIBBARE"])
    for i in range(ends):
        answer = bare.bare_samples_begin(how)
        if answer:
            return {"ends": i, "begin": answer}
        training.run(STEPS)
        answer = on_another_thread(bare.bare_samples_end, how) if how & 32 else bare.bare_samples_end(how)
        if answer:
            return {"ends": i, "end": answer}
        training.run(SETTLE)
    return {"ends": ends}


if "--ends" in sys.argv:
    print(json.dumps(end_often(int(sys.argv[-2]), int(sys.argv[-1]))), flush=True)
    os._exit(0)  # what CUPTI left is not to be judged here
elif "--after" in sys.argv:
    print(json.dumps(profile_after_a_session()))
elif "--sessions" in sys.argv:
    print(json.dumps(record_sessions(int(sys.argv[-1]))))
elif "--turns" in sys.argv:
    at = sys.argv.index("--turns")
    print(json.dumps(take_turns(int(sys.argv[at + 1]), sys.argv[at + 2:])))
elif "--profile" in sys.argv:
    torch.cuda.init()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        train(STEPS)
        torch.cuda.synchronize()
    kernels = [e for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA
               and not e.name.startswith(("Memcpy", "Memset"))]
    print(json.dumps({"kernels": len(kernels), "kernel_us": sum(e.device_time for e in kernels)}))
else:
    times = [train(STEPS)[STEPS // 3:]]
    print(json.dumps(told(times, times)))
