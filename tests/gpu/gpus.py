# SPDX-License-Identifier: Apache-2.0
"""The same training steps on every GPU of the machine; prints one JSON object.
Usage: gpus.py together|apart STEPS
together: one process uses all. apart: a process each, and NCCL sums the gradients."""
import json
import sys
import tempfile

import torch

STEPS = int(sys.argv[2])


def network(gpu):
    torch.manual_seed(0)
    layers = [m for _ in range(8) for m in (torch.nn.Linear(1024, 1024), torch.nn.GELU())]
    return torch.nn.Sequential(*layers).to(gpu)


def step(model, x):
    model.zero_grad()
    model(x).pow(2).mean().backward()


def together(gpus):
    models = [network(f"cuda:{i}") for i in range(gpus)]
    inputs = [torch.randn(512, 1024, device=f"cuda:{i}") for i in range(gpus)]
    for _ in range(STEPS):
        for model, x in zip(models, inputs):
            step(model, x)
    for i in range(gpus):
        torch.cuda.synchronize(i)


def one_of(rank, gpus, meeting):
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", init_method=f"file://{meeting}", rank=rank, world_size=gpus)
    model = torch.nn.parallel.DistributedDataParallel(network(rank), device_ids=[rank])
    x = torch.randn(512, 1024, device=rank)
    for _ in range(STEPS):
        step(model, x)
    torch.cuda.synchronize()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    COUNT = torch.cuda.device_count()
    if sys.argv[1] == "together":
        together(COUNT)
    else:
        with tempfile.TemporaryDirectory() as place:
            torch.multiprocessing.spawn(one_of, (COUNT, f"{place}/meeting"), nprocs=COUNT)
    print(json.dumps({"gpus": COUNT}))
