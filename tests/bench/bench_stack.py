# SPDX-License-Identifier: Apache-2.0
"""What the call stack of a launch costs the job, by the depth of the stack, beside the same launches without stacks, on
the fake libcupti: CPU time of the thread that launches, the least of 40 rounds. Usage: bench_stack.py BUILD_DIR."""
import os
import subprocess

import bench


def launch_ns(place, stacks):
    """At the top of a program, below 20 frames, and below 60."""
    config = place.path / "gpufl.json"
    config.write_text('{"enable_stack_trace": %s}' % ("true" if stacks else "false"))
    done = subprocess.run([bench.BUILD / "tests/e2e/gpu_job", place.path, "stacks cost"], capture_output=True, text=True,
                          check=False, env={**os.environ, "GPUFL_CONFIG_FILE": str(config), "GPUFL_PROFILING_ENGINE": "Trace",
                                            "LD_LIBRARY_PATH": f"{bench.BUILD}/tests/fake:{bench.BUILD}"})
    return [int(ns) for ns in done.stderr.split("launch_ns ")[1].split()[:3]]


def main():
    if not (bench.BUILD / "libgpufl-cupti.so").exists():
        return  # it is built only where CUDA's headers are
    with bench.Place() as place:
        floors, costs = launch_ns(place, False), launch_ns(place, True)
    for what, floor_ns, ns in zip(("at the top", "below 20 frames", "below 60 frames"), floors, costs):
        bench.say("stack", what, launch_ns=ns, floor_launch_ns=floor_ns, cost_ns=ns - floor_ns, ratio=round(ns / floor_ns, 2))


main()
