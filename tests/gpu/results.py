# SPDX-License-Identifier: Apache-2.0
"""RESULTS.md from results.json and remarks.md, beside it. Usage: results.py"""
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
r = json.loads((HERE / "results.json").read_text())
m = r["machine"]
out = [f"""# The engines on a real GPU

{m['gpu']}, driver {m['driver']}, Linux {m['kernel']}, {m['cores']} cores, {m['date']}. Made by `make prove-gpu`
(`prove.py`) and `results.py`. The processor is shared: times move by tens of percent within seconds, so the variants take
turns, and the ratios are medians of those within one round.
"""]


def table(title, values, floors):
    """Ratios are medians of those within one round."""
    out.append(f"## {title}\n\n| | median ms | least | most | × none | × its floor |\n|---|---|---|---|---|---|")
    for name, v in values.items():
        floor = floors.get(name)
        to_none = v["of_none"] if "of_none" in v else v["of"]["none"]
        to_floor = f"{v['of'][floor]:.3f} × {floor}" if floor else ""
        out.append(f"| {name} | {v['median_ms']:.2f} | {v['min_ms']:.2f} | {v['max_ms']:.2f} | "
                   f"{to_none:.3f} | {to_floor} |")
    out.append("")


FLOORS = {"Monitor": "none", "Trace": "bare trace", "PcSampling": "bare both"}
table("40 kernels, 100 times, 1 Ki elements (4,000 launches of about 1 µs)", r["steps_short"], FLOORS)
table("The same with 4 Mi elements (about 12 µs each)", r["steps_long"], FLOORS)
out.append("""`bare` is CUPTI alone in the same program, records counted and thrown away: kernel records, continuous samples that
nobody fetches, or both. PcSampling stands on Trace, so its floor is both; beside samples alone it is """
           f"{r['steps_short']['PcSampling']['of']['bare samples']:.2f} × (short) and "
           f"{r['steps_long']['PcSampling']['of']['bare samples']:.2f} × (long).\nOurs records host and device figures at 100 ms meanwhile, and takes ids that frameworks push.\n")
for key, what in (("torch_busy", "1,024 wide, 64 × 512 tokens, fp16: the GPU is busy"),
                  ("torch_bound", "512 wide, 16 × 256 tokens, fp16: bound by launches")):
    if r.get(key):
        table(f"A training step of PyTorch (6 layers of a transformer, {what})", r[key], {})
out.append("""The engines took turns within a process; `untouched` is before libgpufl was loaded, `none` between engines, `bare
trace` at the end, CUPTI's kernel records alone.
""")
if "ends" in r:
    out.append("## PC sampling begun and ended 60 times in a PyTorch process, by CUPTI alone\n\n| | ended | then |\n|---|---|---|")
    for name, told in r["ends"].items():
        failed = [f"{what} answered {told[what]}" for what in ("begin", "end") if told and what in told]
        out.append(f"| {name} | {told['ends'] if told else 'not told'} | {', '.join(failed)} |")
    out.append("")
many = r["many"]
out.append(f"""## {many['launches']:,} launches in a row

{many['rows']:,} rows, {many['lost']:,} counted as lost; {many['bytes_on_disk']:.1f} bytes a launch on disk, about
{many['bytes_on_wire']:.1f} in gzip; {many['writer_ns']:.0f} ns of our thread a launch; resident memory
{many['rss_at_tenth_kib'] / 1024:.0f} MiB after a tenth, {many['rss_most_kib'] / 1024:.0f} MiB at most.

## Checks
""")
out += [f"- {'holds' if c['ok'] else '**fails**'}: {c['what']}" for c in r["checks"]]
out.append("\n" + (HERE / "remarks.md").read_text().rstrip())
(HERE / "RESULTS.md").write_text("\n".join(out) + "\n")
