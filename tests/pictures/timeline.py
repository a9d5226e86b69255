#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""timeline.py CALLS.svg CALLS.json REPORT NONE.svg NONE.json: looks at them, as TAP.

What they show is held against REPORT, the calls of the same run as JSON lines. The last two are of
a run without calls. PICTURES=DIR keeps screenshots there.
"""
import json
import os
import re
import sys
from collections import Counter
from datetime import datetime

from selenium.webdriver.common.alert import Alert
from selenium.webdriver.common.by import By

from look import browser, check_complaints, check_requests, claim, distance, done, pixels, pointer, show

PARTS = ("on_cpu", "irq", "preempted", "blocked", "runq", "return")
NAME = '<script>&"'


def keep(name):
    return os.path.join(os.environ["PICTURES"], name) if "PICTURES" in os.environ else None


def read_report(path):
    with open(path, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f if line.startswith("{")]
    return [line["call"] for line in lines if "call" in line]


def seconds(text):
    """RFC 3339 with ns, of the day."""
    when, ns = text.rstrip("Z").split(".")
    return datetime.fromisoformat(when).timestamp() + float("0." + ns)


def check_trace(path, calls):
    """Against the JSON format of trace events: each "X" has name, cat, pid, tid, ts, dur in us.

    There is no reader to ask: Debian's package perfetto (56.0 in sid) has no trace_processor_shell, its Chromium no about:tracing.
    """
    with open(path, encoding="utf-8") as f:
        trace = json.load(f)
    events = trace["traceEvents"]
    wrong = [e for e in events if e["ph"] not in ("X", "M") or not isinstance(e["name"], str) or
             not all(type(e[k]) is int for k in ("pid", "tid"))]
    claim(not wrong and trace["displayTimeUnit"] in ("ns", "ms"), "each event has a phase, a name and a thread", wrong[:3])
    slices = [e for e in events if e["ph"] == "X"]
    wrong = [e for e in slices if not all(isinstance(e[k], (int, float)) and e[k] >= 0 for k in ("ts", "dur"))]
    claim(not wrong, "each call has a time and a duration", wrong[:3])
    ours = Counter((e["tid"], e["name"], round(e["dur"] * 1000), *(e["args"][f"{p}_ns"] for p in PARTS)) for e in slices)
    theirs = Counter((c["tid"], c["syscall"], c["ns"], *(c[p] for p in PARTS)) for c in calls)
    claim(ours == theirs and len(slices) >= 26, "they are the calls of the report",
          (list((ours - theirs).items())[:2], list((theirs - ours).items())[:2]))
    claim(all(sum(e["args"][f"{p}_ns"] for p in PARTS) == round(e["dur"] * 1000) for e in slices),
          "the parts are all of the time")
    ends = sorted((e["ts"] + e["dur"]) / 1e6 for e in slices)
    wanted = sorted(seconds(c["end"]) for c in calls)
    claim(all(abs((e - ends[0]) - (w - wanted[0])) < 1e-4 for e, w in zip(ends, wanted)), "... at their times",
          (ends[:3], wanted[:3]))
    by_thread = {}
    for e in sorted(slices, key=lambda e: e["ts"]):
        by_thread.setdefault(e["tid"], []).append(e)
    claim(all(a["ts"] + a["dur"] <= b["ts"] + 0.001 for t in by_thread.values() for a, b in zip(t, t[1:])),
          "calls of a thread follow one another")
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    claim(set(names) == set(by_thread) and NAME in names.values(), "threads have their names", names)


def check_text(driver, data, calls):
    threads = [t.text for t in driver.find_elements(By.CLASS_NAME, "thread")]
    claim([t.split("/")[0] for t in threads] == [NAME, "sleeps", "reads"], "a lane for each thread, whose name is text", threads)
    claim(len(data["calls"]) == len(calls), "each call is there", (len(data["calls"]), len(calls)))
    ours = Counter(tuple(c[2:9]) for c in data["calls"])
    theirs = Counter((c["ns"], *(c[p] for p in PARTS)) for c in calls)
    claim(ours == theirs, "... with its times", (list((ours - theirs).items())[:2], list((theirs - ours).items())[:2]))
    claim("not their order" in driver.find_element(By.TAG_NAME, "svg").text,
          "it says that the order of the parts is not known")
    return threads


def place(data, box, call):
    return (box[0] + (call[1] + call[2] / 2) / data["ns"] * box[2], box[1] + call[0] * data["lane"] + data["lane"] / 2)


def zone(driver):
    return driver.execute_script("""
        const r = document.getElementById('zone').getBoundingClientRect();
        return [r.x, r.y, r.width, r.height]""")


def bars(data, box, view=(0, 1)):
    """(part, left, right, top, bottom) of what has to be drawn, by lane; VIEW is a share of the time."""
    scale = box[2] / data["ns"] / view[1]
    for call in data["calls"]:
        left = box[0] + (call[1] - view[0] * data["ns"]) * scale
        bottom = box[1] + call[0] * data["lane"] + (data["lane"] + data["bar"]) / 2
        for part, ns in zip(PARTS, call[3:9]):
            top = bottom - data["bar"] * ns / call[2]
            yield part, left, left + max(call[2] * scale, 1.5), top, bottom
            bottom = top


def points(data, box, view):
    """(x, y, part): in the middle of each bar and a little inside its edges; outside of it, and of all others, None."""
    all_bars = list(bars(data, box, view))
    for part, left, right, top, bottom in all_bars:
        if bottom - top < 0.6 or right < box[0] or left > box[0] + box[2]:
            continue
        x, y = (max(left, box[0]) + min(right, box[0] + box[2])) / 2, (top + bottom) / 2
        yield from ((x, at, part) for at in (y, top + 0.2, bottom - 0.2))
        # What begins far outside of the view is cut off a little outside of it.
        yield from ((at, y, part) for at in (left + 0.2, right - 0.2) if box[0] - 9 < at < box[0] + box[2] + 9)
        yield from ((at, y, None) for at in (left - 0.2, right + 0.2)
                    if not any(b[1] - 0.1 < at < b[2] + 0.1 and b[3] <= y <= b[4] for b in all_bars))


def check_parts(driver, data, box, what, view=(0, 1), need=frozenset(("on_cpu", "blocked"))):
    wanted = list(points(data, box, view))
    found = driver.execute_script("""
        const paths = arguments[1].map(name => [name, document.querySelector('#plot .' + name)]);
        return arguments[0].map(p => paths.filter(([, path]) => path.isPointInFill(new DOMPoint(p[0], p[1])))
            .map(([name]) => name));""", wanted, PARTS)
    wrong = [(p, f) for p, f in zip(wanted, found) if f != ([p[2]] if p[2] else [])]
    parts = {p[2] for p in wanted} - {None}
    claim(not wrong and parts >= need, f"parts are as wide as their calls, as high as their shares, in their order {what}",
          (parts, wrong[:3]))


def check_hover(driver, data, box, threads):
    call = max(data["calls"], key=lambda c: c[2])
    pointer(driver, place(data, box, call))
    text = driver.find_element(By.ID, "details").text
    claim(text.startswith(threads[call[0]] + " at ") and call[9] in text and
          re.search(r"on-cpu \S+, irq \S+, preempted \S+, blocked \S+, runq \S+, return \S+$", text) is not None,
          "the call under the pointer says what it was", text)


def check_colours(driver, path, data, box):
    # A read that was nearly all blocked has that colour in its middle, one that is light and dark.
    call = max(data["calls"], key=lambda c: c[6] / c[2])
    x, y = place(data, box, call)
    for scheme in ("light", "dark"):
        show(driver, path, scheme)
        one, beside, page = pixels(driver, [(x, y), (x, box[1] + box[3] + 6), (600, 1000)], keep(f"timeline-{scheme}.png"))
        claim(distance(one, (0x3a, 0x78, 0xb5)) < 12 and distance(one, beside) > 120,
              f"a blocked call is blue ({scheme})", (one, beside))
        claim(distance(page, beside) < 12, f"the page around has the picture's colour ({scheme})", (page, beside))
    show(driver, path)


def biggest(call):
    return max(range(len(PARTS)), key=lambda i: call[3 + i])


def check_zoom(driver, data, box):
    call = max(data["calls"], key=lambda c: c[1])
    x, y = place(data, box, call)
    pointer(driver, (x - 20, y), "down", (x + 20, y), "up")
    claim(driver.find_element(By.ID, "reset").is_displayed(), "dragging zooms")
    pointer(driver, (box[0] + box[2] / 2, y))
    text = driver.find_element(By.ID, "details").text
    claim(f"at {call[1] / 1e9:.6f}s" in text, "... to the call that was there", text)
    check_parts(driver, data, box, "zoomed", ((int(x - 20) - box[0]) / box[2], (int(x + 20) - int(x - 20)) / box[2]), {PARTS[biggest(call)]})
    driver.find_element(By.ID, "reset").click()
    claim(not driver.find_element(By.ID, "reset").is_displayed(), "all shows the whole again")
    check_parts(driver, data, box, "then")


def check_search(driver, calls):
    driver.find_element(By.ID, "search").click()
    alert = Alert(driver)
    alert.send_keys("^read ")
    alert.accept()
    reads = sum(c["syscall"] == "read" for c in calls)
    text = driver.find_element(By.ID, "matched").text
    claim(text.startswith(f"matched: {reads} calls, "), "a search finds calls", text)
    marked = driver.execute_script("return document.getElementById('matches').getAttribute('d')")
    claim(marked.count("M") == reads, "... and marks them", marked)


def main():
    svg, trace, report, none, no_trace = sys.argv[1:6]
    calls = read_report(report)
    check_trace(trace, calls)
    with open(no_trace, encoding="utf-8") as f:
        claim(json.load(f)["traceEvents"] == [], "a trace of no calls has no events")
    driver = browser()
    try:
        show(driver, svg)
        check_requests(driver)
        data = json.loads(driver.execute_script("return document.getElementById('data').textContent"))
        box = zone(driver)
        threads = check_text(driver, data, calls)
        check_parts(driver, data, box, "as it is read")
        check_hover(driver, data, box, threads)
        check_zoom(driver, data, box)
        check_search(driver, calls)
        check_complaints(driver, "of a timeline")
        check_colours(driver, svg, data, box)
        show(driver, none)
        claim("0 calls" in driver.find_element(By.ID, "ledger").text, "a timeline of no calls says so")
        check_complaints(driver, "of one without calls")
    finally:
        driver.quit()
    return done()


if __name__ == "__main__":
    sys.exit(main())
