#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What metrics.t needs besides the shell.

load N SHORT LONG     sleeps N times, from SHORT to LONG us, when a line comes; ends with its input
get URL               prints what the URL has; exits 1 if nothing is there
value URL QUERY       the value of an instant query, or nothing
same URL CALL JSON... what a server has of CALL is what the tools' JSON has, added up
merged URL CALL FILE  what a server has of CALL is what FILE, a file of metrics, has
quantiles URL INSTANCE CALL JSON   a server's percentiles, and those of the tool's buckets
whole FILE TIMES      reads FILE that often: it is whole each time
panels URL FILE METRIC   queries of a dashboard that return nothing; and what its heat map has
otlp FILE CALL JSON   counts of the last line of OTLP, and how far its percentiles are off
rising FILE           no bucket of OTLP has fewer calls than in the line before, and all calls are in buckets
"""
import collections
import json
import math
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

NAME = "plumb_syscall_latency_seconds"
QUANTILES = (0.5, 0.9, 0.99, 0.999)


def load(n, short, long):
    sys.stdin.readline()
    for i in range(int(n)):
        time.sleep((float(short) + (float(long) - float(short)) * i / int(n)) / 1e6)
    print("done", flush=True)
    sys.stdin.read()


def get(url):
    return urllib.request.urlopen(url, timeout=5).read().decode()


def query(url, text):
    j = json.loads(get(url + "/api/v1/query?" + urllib.parse.urlencode({"query": text})))
    return j["data"]["result"]


def buckets(files, call):
    """Highest values and counts of all reports of the files."""
    all_ = collections.Counter()
    for name in files:
        for line in open(name):
            for row in json.loads(line)["rows"]:
                if row["key"].get("syscall") == call:
                    for _, highest, count in row["hist"]:
                        all_[highest] += count
    return sorted(all_.items())


def percentile(dist, q):
    """Nearest rank, as the tools have it: the highest value of its bucket."""
    rank = math.ceil(q * sum(n for _, n in dist) - 1e-9)
    for highest, n in dist:
        rank -= n
        if rank <= 0:
            return highest
    return None


def same(url, call, *files):
    dist = buckets(files, call)
    found = query(url, f'sum by (le) ({NAME}_bucket{{syscall="{call}"}})')
    wrong = 0 if dist and len(found) == 106 else 1
    for r in found:
        le = float(r["metric"]["le"])
        # Bounds are whole ns.
        wanted = sum(n for highest, n in dist if math.isinf(le) or highest <= round(le * 1e9))
        if float(r["value"][1]) != wanted:
            print(f"le {le}: {r['value'][1]}, wanted {wanted}")
            wrong += 1
    print(f"{sum(n for _, n in dist)} calls, {len(found)} bounds")
    return wrong


def merged(url, call, name):
    theirs = {float(r["metric"]["le"]): float(r["value"][1])
              for r in query(url, f'sum by (le) ({NAME}_bucket{{syscall="{call}"}})')}
    pattern = re.compile(re.escape(NAME) + r'_bucket\{syscall="' + call + r'",le="([^"]+)"\} (\d+)')
    ours = {float(le): float(n) for le, n in pattern.findall(open(name).read())}
    print(f"{len(ours)} bounds, {len(theirs)} there; different: {set(ours.items()) ^ set(theirs.items())}")
    return len(ours) < 100 or ours != theirs


def quantiles(url, instance, call, *files):
    dist = buckets(files, call)
    what = f'{NAME}_bucket{{syscall="{call}",instance=~"{instance}"}}'
    bounds = sorted(float(r["metric"]["le"]) for r in query(url, f"sum by (le) ({what})"))
    wrong = 0
    for q in QUANTILES:
        theirs = float(query(url, f"histogram_quantile({q}, sum by (le) ({what}))")[0]["value"][1])
        ours = percentile(dist, q) / 1e9
        high = next(b for b in bounds if b >= ours)
        low = max([0] + [b for b in bounds if b < ours])
        print(f"p{q * 100:g}: {theirs:.9f}, the tool's {ours:.9f}, in ({low:.9g}, {high:.9g}]")
        wrong += not low - 1e-12 <= theirs <= high + 1e-12
    return wrong or not dist


LINE = re.compile(r'# (HELP|TYPE) [a-z_]+ .*|[a-z_]+\{([a-z_]+="([^"\\]|\\.)*",?)*\} [0-9.]+')


def whole(name, times):
    sizes = set()
    for _ in range(int(times)):
        text = open(name).read()
        lines = text.splitlines()
        bad = [line for line in lines if not LINE.fullmatch(line)]
        if bad or not text.endswith("\n") or "plumb_added_seconds{" not in lines[-1]:
            print("not whole:", bad[:1], lines[-1:])
            return 1
        sizes.add(lines[-1] and len(text))
        time.sleep(0.005)
    print(f"{len(sizes)} different sizes")
    return 0


def panels(url, name, metric):
    empty = 0
    heat = []
    now = time.time()
    for p in json.load(open(name))["panels"]:
        for t in p["targets"]:
            text = t["expr"].replace("${metric}", metric).replace("$__rate_interval", "20s")
            text = text.replace("$instance", ".*").replace("$run", ".*")
            ask = {"query": text, "start": now - 10, "end": now, "step": 2}
            j = json.loads(get(url + "/api/v1/query_range?" + urllib.parse.urlencode(ask)))
            result = j["data"]["result"]
            if not result:
                print("nothing of", p["title"], text)
                empty += 1
            if p["type"] == "heatmap":
                heat += [t.get("format")] + result
    if not heat or heat[0] != "heatmap" or any(set(r["metric"]) != {"le"} for r in heat[1:]):
        print("no heat map of bounds")
        empty += 1
    return empty


def otlp_points(name):
    for line in open(name):
        pass
    scope = json.loads(line)["resourceMetrics"][0]["scopeMetrics"][0]
    return scope["metrics"][0]["exponentialHistogram"]["dataPoints"]


def rising(name):
    """No bucket of any series has fewer calls than in the line before."""
    before, fallen, lines, run = {}, 0, 0, None
    for line in open(name):
        lines += 1
        attributes = json.loads(line)["resourceMetrics"][0]["resource"]["attributes"]
        instance = next(a["value"]["stringValue"] for a in attributes if a["key"] == "service.instance.id")
        if instance != run:
            before, run = {}, instance
        for metric in json.loads(line)["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]:
            for point in metric.get("exponentialHistogram", {}).get("dataPoints", []):
                series = metric["name"], json.dumps(point["attributes"])
                now = {point["positive"]["offset"] + i: int(n) for i, n in enumerate(point["positive"]["bucketCounts"])}
                if sum(now.values()) + int(point["zeroCount"]) != int(point["count"]):
                    fallen += 1
                for i, n in before.get(series, {}).items():
                    if now.get(i, 0) < n:
                        print(f"line {lines}, {series}, bucket {i}: {now.get(i, 0)} was {n}")
                        fallen += 1
                before[series] = now
    print(f"{lines} lines")
    return fallen or lines < 2


def otlp(name, call, *files):
    dist = buckets(files, call)
    point = next(p for p in otlp_points(name)
                 if {"key": "syscall", "value": {"stringValue": call}} in p["attributes"])
    base = 2 ** 2 ** -point["scale"]
    first = point["positive"]["offset"]
    theirs = [(base ** (first + i + 1), int(n))
              for i, n in enumerate(point["positive"]["bucketCounts"])]
    wrong = sum(n for _, n in theirs) != sum(n for _, n in dist) or int(point["count"]) != sum(n for _, n in dist)
    for q in QUANTILES:
        ours = percentile(dist, q) / 1e9
        found = percentile(theirs, q)
        print(f"p{q * 100:g}: {found:.9f}, the tool's {ours:.9f}")
        # The tool's is the highest value of a bucket, which the exponential one holds.
        wrong += not ours <= found * (1 + 1e-9) <= ours * base * (1 + 1e-8)
    return wrong


def value(url, text):
    result = query(url, text)
    print(result[0]["value"][1] if result else "")


if __name__ == "__main__":
    try:
        what = sys.argv[1]
        if what == "get":
            print(get(sys.argv[2]))
        else:
            known = {f.__name__: f for f in (load, value, same, merged, quantiles, whole, panels, otlp, rising)}
            sys.exit(1 if known[what](*sys.argv[2:]) else 0)
    except (urllib.error.URLError, ConnectionError, TimeoutError, OSError) as e:
        sys.exit(str(e))
