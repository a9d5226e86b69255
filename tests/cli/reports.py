#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reports of known values, as tools print them, and what merging them has to give.

reports.py make DIR [BITS...]     DIR/a.json..e.json, five hosts, of these precisions in turn; DIR/values
reports.py check DIR RESULT [--by=KEY,...] [--every=SEC]
                                  is a result of hist-merge -j what the values say, not the buckets?
reports.py ladder DIR COMM        percentile, value and calls above, of the values
reports.py hgrm DIR COMM BITS     the values as a log of HdrHistogram
reports.py pair DIR FACTOR        DIR/before, DIR/after: 40 reports each, the second FACTOR as slow
reports.py many HOSTS KEYS TIMES  on stdout, reports that are alike but for their hosts
"""
import base64
import json
import math
import os
import random
import struct
import sys
import zlib
from collections import Counter
from datetime import datetime, timezone

START = 1769860770  # 2026-01-31T11:59:30Z
LEDGER = ("recorded filtered_at_exit lost lost_at_least entry_lost exit_lost both_lost unpaired unmatched in_flight abandoned "
          "exit_lost_observed no_state too_deep untracked dropped stacks_lost missed cpus_changed pooled saturated").split()
PERCENTILES = {"50": (1, 2), "90": (9, 10), "99": (99, 100), "99.9": (999, 1000)}


def bucket(value, bits):
    """The bounds of the bucket, from its definition: 2^bits of them in each power of two."""
    if value >= 1 << 42:
        return 1 << 42, value
    width = 1
    while value >= width << bits + 1:
        width *= 2
    return value // width * width, value // width * width + width - 1


def hist(values, bits):
    buckets = {}
    for value in values:
        low, high = bucket(value, bits)
        count, highest = buckets.get(low, (0, high))
        buckets[low] = count + 1, max(high, highest)
    return [[low, high, count] for low, (count, high) in sorted(buckets.items())]


def when(seconds):
    whole = math.floor(seconds)
    return datetime.fromtimestamp(whole, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.") + f"{round((seconds - whole) * 1e9):09}Z"


def row(key, values, bits, errors=0):
    return {"key": key, "count": len(values), "errors": errors, "sum": sum(values), "min": min(values), "max": max(values),
            "percentiles": {}, "low_samples": [], "hist": hist(values, bits)}


def report(host, seq, start, end, bits, rows, recorded, lost=0, final=False):
    unknown = host == "c"
    ledger = dict.fromkeys(LEDGER, 0) | {"recorded": recorded, "lost": None if unknown else lost, "missed": None if unknown else lost, "cpus_changed": False}
    return {"schema": "plumb/2", "tool": "syscall-latency", "version": "0.1.0", "host": host, "kernel": "6.1", "arch": "x86_64",
            "start": when(start), "end": when(end), "seq": seq, "final": final,
            "mechanism": {"name": "raw_tracepoint", "hooks": ["sys_enter"], "stability": "stable", "refused": []},
            "precision_bits": bits, "overhead_ns": {}, "rows": rows, "ledger": ledger}


def write(path, reports):
    with open(path, "w", encoding="utf-8") as out:
        for one in reports:
            out.write(json.dumps(one, separators=(",", ":"), ensure_ascii=False) + "\n")


def make(where, *bits):
    draw, kept = random.Random(7), []
    for number, host in enumerate("abcde"):
        precision = int(bits[number % len(bits)]) if bits else 6
        reports, recorded = [], 0
        for seq in range(1, 8):
            start = START + 10 * seq + number / 4
            rows = []
            for comm in ("cat", "a b", 'é"\\\n'):
                for pid in (1, 1000 + number):
                    size = draw.choice((1, 2, 30, 400))
                    values = [min(int(draw.lognormvariate(9, 2.5)), (1 << 42) + 5) for _ in range(size)]
                    rows.append(row({"pid": pid, "comm": comm}, values, precision, errors=size // 3))
                    kept.append([host, start, pid, comm, size // 3, values])
            recorded += sum(one["count"] for one in rows)
            # Of host d the last report is missing, of host e the first.
            reports.append(report(host, seq, start, start + 10, precision, rows, recorded, seq * (host in "bd"), seq == 7))
        if host == "d":
            reports.pop()
        if host == "e":
            del reports[0]
        kept = [one for one in kept if (one[0], one[1]) not in (("d", START + 70 + 0.75), ("e", START + 10 + 1))]
        write(os.path.join(where, host + ".json"), reports)
    with open(os.path.join(where, "values"), "w", encoding="utf-8") as out:
        json.dump(kept, out)


def load(where):
    with open(os.path.join(where, "values"), encoding="utf-8") as values:
        return json.load(values)


def exact(values, part, whole):
    """By nearest rank, of sorted values."""
    return values[-(-len(values) * part // whole) - 1]


def check_row(name, found, errors, values, bits):
    values.sort()
    wanted = {"count": len(values), "errors": errors, "sum": sum(values), "min": values[0], "max": values[-1]}
    wrong = [f"{member} is {found[member]}, not {value}" for member, value in wanted.items() if found[member] != value]
    for percentile, fraction in PERCENTILES.items():
        value, reported = exact(values, *fraction), found["percentiles"][percentile]
        if not value <= reported <= min(value + (value >> bits), values[-1]):
            wrong.append(f"p{percentile} is {reported}, of exactly {value}")
    if found["hist"] != hist(values, bits):
        wrong.append("the buckets are others")
    if found["low_samples"] != [p for p, (part, whole) in PERCENTILES.items() if len(values) * (whole - part) < whole]:
        wrong.append(f"low_samples is {found['low_samples']}")
    return [f"{name}: {one}" for one in wrong]


def check(where, result, *options):
    options = dict(one.removeprefix("--").split("=") for one in options)
    by, every = options.get("by", "comm,pid").split(","), int(options.get("every", 0))
    wanted, errors, wrong = {}, Counter(), []
    for host, start, pid, comm, failed, values in load(where):
        names = {"host": host, "pid": pid, "comm": comm}
        key = (int(start) // every * every if every else 0, *(names[name] for name in by if name != "none"))
        wanted.setdefault(key, []).extend(values)
        errors[key] += failed
    with open(result, encoding="utf-8") as lines:
        results = [json.loads(line) for line in lines]
    for one in results:
        window = round(datetime.fromisoformat(one["start"][:19] + "+00:00").timestamp()) if every else 0
        for found in one["rows"]:
            key = (window, *(found["key"][name] for name in by if name != "none"))
            if key not in wanted or len(found["key"]) != len(key) - 1:
                wrong.append(f"{found['key']}: not one of the keys, or twice")
                continue
            wrong += check_row(key, found, errors[key], wanted.pop(key), one["precision_bits"])
    wrong += [f"{key}: missing" for key in wanted]
    if [one["seq"] for one in results] != list(range(1, len(results) + 1)) or [one["final"] for one in results].index(True) + 1 != len(results):
        wrong.append("seq or final is wrong")
    sys.exit("\n".join(wrong[:20]) or 0)


def of_comm(where, comm):
    return sorted(value for _, _, _, name, _, values in load(where) if name == comm for value in values)


def ladder(where, comm):
    values = of_comm(where, comm)
    for name, part, whole in (("50", 1, 2), ("75", 3, 4), ("90", 9, 10), ("95", 19, 20), ("99", 99, 100), ("99.9", 999, 1000),
                              ("99.99", 9999, 10000), ("99.999", 99999, 100000), ("100", 1, 1)):
        value = exact(values, part, whole)
        high = min(bucket(value, 6)[1], values[-1])
        print(name, high, sum(one > high for one in values))


def hgrm(where, comm, bits):
    """One line of a log: the counts of an array, run lengths of zeros, in zigzag LEB128."""
    bits, counts = int(bits), Counter()
    for value in of_comm(where, comm):
        shift = max(0, value.bit_length() - bits - 1)
        counts[(shift << bits) + (value >> shift)] += 1
    payload, at = bytearray(), 0
    for index in sorted(counts):
        for number in ([at - index] if index > at else []) + [counts[index]]:
            number = number * 2 if number >= 0 else -number * 2 - 1
            while number > 127:
                payload.append(number & 127 | 128)
                number >>= 7
            payload.append(number)
        at = index + 1
    digits = {4: 1, 7: 2, 10: 3}[bits]
    head = struct.pack(">iiiiqqd", 0x1c849313, len(payload), 0, digits, 1, 1 << 42, 1.0)
    packed = zlib.compress(head + payload)
    encoded = base64.b64encode(struct.pack(">ii", 0x1c849314, len(packed)) + packed).decode()
    print('#[Histogram log format version 1.3]\n"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"')
    print(f"0.000,1.000,1.000,{encoded}")


def pair(where, factor):
    draw = random.Random(11)
    for name, slower in (("before", 1), ("after", float(factor))):
        reports, recorded = [], 0
        for seq in range(1, 41):
            mood = draw.lognormvariate(0, 0.05)  # the calls of a report are alike
            rows = [row({"comm": "same"}, [int(draw.lognormvariate(10, 1) * mood) for _ in range(500)], 6),
                    row({"comm": "changed"}, [int(draw.lognormvariate(10, 1) * mood * slower) for _ in range(500)], 6),
                    row({"comm": "only " + name}, [5], 6)]
            if seq == 1:
                rows.append(row({"comm": "seldom"}, [5] * 10, 6))
            recorded += sum(one["count"] for one in rows)
            reports.append(report("a", seq, START + seq, START + seq + 1, 6, rows, recorded, final=seq == 40))
        write(os.path.join(where, name), reports)


def many(hosts, keys, times):
    draw, hosts, keys, times = random.Random(13), int(hosts), int(keys), int(times)
    rows = [row({"pid": i, "comm": f"program{i}"}, [int(draw.lognormvariate(9, 1)) for _ in range(40)], 6) for i in range(keys)]
    lines = [json.dumps(report("HOST", t, START + t, START + t + 1, 6, rows, 40 * keys * t, final=t == times), separators=(",", ":"))
             for t in range(1, times + 1)]
    for host in range(hosts):
        for line in lines:
            print(line.replace("HOST", f"host{host}", 1))


if __name__ == "__main__":
    try:
        {"make": make, "check": check, "ladder": ladder, "hgrm": hgrm, "pair": pair, "many": many}[sys.argv[1]](*sys.argv[2:])
    except BrokenPipeError:
        os._exit(1)
