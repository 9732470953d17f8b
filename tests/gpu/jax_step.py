# SPDX-License-Identifier: Apache-2.0
"""Training steps of a small network in JAX; prints one JSON object.
Usage: jax_step.py STEPS [--profile | --session]
--profile: JAX's own profiler counts the kernels of STEPS and their time, after as many that warm up (XLA tries
kernels as it compiles). --session: the same, after the library in LIBGPUFL has recorded as many: each process may
have other kernels, as XLA chooses."""
import ctypes
import json
import os
import pathlib
import sys
import tempfile

import jax
import jax.numpy as jnp

STEPS = int(sys.argv[1])


def loss(weights, x):
    for w in weights:
        x = jnp.tanh(x @ w)
    return jnp.mean(x * x)


@jax.jit
def step(weights, x):
    value, slopes = jax.value_and_grad(loss)(weights, x)
    return value, [w - 0.01 * s for w, s in zip(weights, slopes)]


def train(weights, x):
    for _ in range(STEPS):
        value, weights = step(weights, x)
    jax.block_until_ready(weights)
    return float(value)


def profiled(weights, x):
    with tempfile.TemporaryDirectory() as place:
        with jax.profiler.trace(place):
            train(weights, x)
        path, = pathlib.Path(place).rglob("*.xplane.pb")
        planes = jax.profiler.ProfileData.from_file(str(path)).planes
        kernels = [e.duration_ns for plane in planes if "GPU" in plane.name for line in plane.lines
                   if line.name.startswith("Stream") for e in line.events
                   if not e.name.startswith(("Memcpy", "Memset"))]
    return {"kernels": len(kernels), "kernel_us": sum(kernels) / 1e3}


keys = jax.random.split(jax.random.key(0), 5)
network = [jax.random.normal(k, (1024, 1024)) / 32 for k in keys[:4]], jax.random.normal(keys[4], (512, 1024))
train(*network)
if "--profile" in sys.argv:
    print(json.dumps(profiled(*network)))
elif "--session" in sys.argv:
    library = ctypes.CDLL(os.environ["LIBGPUFL"])
    library.gpufl_init(None)
    train(*network)
    library.gpufl_shutdown()
    print(json.dumps(profiled(*network)))
else:
    print(json.dumps({"loss": train(*network)}))
