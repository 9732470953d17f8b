#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A backlog to the end: the agent on one core beside the bare loop that reads, cuts, compresses
and sends the same files. Usage: bench_drain.py BUILD_DIR; BENCH_MIB=1024, BENCH_ROUNDS=3."""
import bench
from bench import MIB, SIZE_MIB, median


def pairs(place, tree, sink, *options):
    """Agent and floor in turns, so that both have the same hour of the machine."""
    agents, floors = [], []
    for _ in range(bench.ROUNDS):
        floors.append(bench.floor(sink, bench.logs(tree)))
        agents.append(bench.drain(place, tree, sink, *options))
    return agents, floors


def report(what, tree, agents, floors):
    raw_mib = bench.size_of(tree) / MIB
    ship = median(a.ship_s for a in agents)
    floor_s = median(f.ship_s for f in floors)
    bench.say("drain", what, raw_mib=round(raw_mib), mib_per_s=round(raw_mib / ship),
              floor_mib_per_s=round(raw_mib / floor_s),
              wall_ratio=round(median(a.ship_s / f.ship_s for a, f in zip(agents, floors)), 2),
              cpu_ratio=round(median(a.cpu_s / f.cpu_s for a, f in zip(agents, floors)), 2),
              peak_kib=max(a.peak_kib for a in agents), floor_peak_kib=floors[0].peak_kib,
              requests=agents[0].sink["requests"], connections=agents[0].sink["connections"])
    return ship


def against_itself(what, place, tree, plain_s, sink, *options):
    runs = [bench.drain(place, tree, sink, *options) for _ in range(bench.ROUNDS)]
    bench.say("drain", what, of_plain=round(plain_s / median(r.ship_s for r in runs), 2),
              peak_kib=max(r.peak_kib for r in runs), requests=runs[0].sink["requests"],
              connections=runs[0].sink["connections"])


def main():
    with bench.Place() as place:
        tree = place.tree("mixed", "mixed", SIZE_MIB, 10)
        small = {n: place.tree(f"mixed-{n}", "mixed", 64, n) for n in (1, 1000)}
        device = place.device_tree(SIZE_MIB, 10)
        with bench.Sink() as sink:
            bench.warm(device)
            report("real device records of this minute, 10 sessions", device, *pairs(place, device, sink))
        bench.rest(tree, device, *small.values())
        bench.warm(tree)
        with bench.Sink() as sink:
            plain_s = report("mixed records, 10 sessions", tree, *pairs(place, tree, sink))
        with bench.Sink("--delay-ms", "20") as sink:
            against_itself("mixed, 20 ms added to every reply", place, tree, plain_s, sink)
        with bench.Sink(tls=place.certificate()) as sink:
            against_itself("mixed, TLS", place, tree, plain_s, sink,
                           f"--ca-file={place.certificate()[0]}")
        for sessions, other in small.items():
            bench.warm(other)
            with bench.Sink() as sink:
                report(f"mixed records, {sessions} sessions, 64 MiB", other,
                       *pairs(place, other, sink))
        bench.warm(device)
        with bench.Sink() as sink:
            report("real device records, 10 sessions", device, *pairs(place, device, sink))


main()
