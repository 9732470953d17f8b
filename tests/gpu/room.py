# SPDX-License-Identifier: Apache-2.0
"""A program that takes all memory of its GPU but FREE MiB, and then works under the library in LIBGPUFL; prints how much
memory is free, in MiB, before and behind its first launch there. Usage: room.py FREE"""
import ctypes
import json
import os
import sys

import torch


def free_mib():
    return torch.cuda.mem_get_info()[0] >> 20


a = torch.ones(512, 512, device="cuda")
(a @ a).sum().item()
taken = torch.empty((free_mib() - int(sys.argv[1])) << 20, dtype=torch.uint8, device="cuda")
library = ctypes.CDLL(os.environ["LIBGPUFL"])
before = free_mib()
library.gpufl_init(None)
for _ in range(2000):
    b = a @ a
total = b.sum().item()
behind = free_mib()
library.gpufl_shutdown()
print(json.dumps({"before": before, "behind": behind, "sum": total}))
