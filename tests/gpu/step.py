# SPDX-License-Identifier: Apache-2.0
"""Training steps of a small transformer in fp16; prints one JSON object.
Usage: step.py STEPS [--profile]: with it PyTorch's own profiler counts kernels and their time."""
import json
import sys
import time

import torch

STEPS = int(sys.argv[1])
torch.manual_seed(0)


def train(steps):
    layer = torch.nn.TransformerEncoderLayer(d_model=1024, nhead=16, dim_feedforward=4096, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, num_layers=6).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    x = torch.randn(64, 512, 1024, device="cuda")
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(x).float().pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e3)
    return times


if "--profile" in sys.argv:
    torch.cuda.init()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        train(STEPS)
        torch.cuda.synchronize()
    kernels = [e for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA
               and not e.name.startswith(("Memcpy", "Memset"))]
    print(json.dumps({"kernels": len(kernels), "kernel_us": sum(e.device_time for e in kernels)}))
else:
    times = sorted(train(STEPS)[STEPS // 3:])
    print(json.dumps({"median_ms": times[len(times) // 2], "min_ms": times[0]}))
