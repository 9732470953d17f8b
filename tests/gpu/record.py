# SPDX-License-Identifier: Apache-2.0
"""Records tests/samples/live-traced on a real GPU: short sessions for the tests of reader, backend and
dashboard, without what tells one machine from another. Usage: record.py BUILD_DIR FOLDER"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BUILD, FOLDER = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLED = {"system_sample_rate_ms": 50, "continuous_system_sampling": True}
SESSIONS = (("Trace", ("counted",), SAMPLED),
            ("Trace", ("called",), {**SAMPLED, "enable_stack_trace": True, "enable_memory_tracking": True,
                                    "device_details": True}),
            ("PcSampling", ("counted",), SAMPLED), ("PcSampling", ("hot", "0.5"), SAMPLED))
SAME = ((str(ROOT), "/src/gpufl"), (str(FOLDER), "/tmp/s"),
        (r"GPU-[0-9a-f-]{36}", "GPU-00000000-0000-4000-8000-000000000000"),
        (r'"hostname":"[^"]*"', '"hostname":"vm"'), (r'"ip_addr":"[^"]*"', '"ip_addr":"192.0.2.2"'),
        (r'"boot_id":"[^"]*"', '"boot_id":"00000000-0000-4000-8000-000000000000"'))

FOLDER.mkdir(parents=True, mode=0o700)
with tempfile.NamedTemporaryFile("w", suffix=".json") as config:
    for engine, (part, *rest), options in SESSIONS:
        config.seek(0)
        config.truncate()
        json.dump(options, config)
        config.flush()
        subprocess.run([BUILD / "tests/gpu/work", part, FOLDER, *rest], check=True,
                       env={**os.environ, "GPUFL_PROFILING_ENGINE": engine, "GPUFL_CONFIG_FILE": config.name})
for path in FOLDER.glob("*/*"):
    text = path.read_text()
    for pattern, instead in SAME:
        text = re.sub(pattern, instead, text)
    path.write_text(text)
