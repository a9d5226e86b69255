#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""heatmap.py HEAT.svg CHART.svg REPORT NO-HEAT.svg NO-CHART.svg: looks at them, as TAP.

What they show is held against REPORT, the same run as JSON, in which one call took 0.4 s. The last
two pictures are of a run without calls. PICTURES=DIR keeps screenshots there.
"""
import json
import os
import re
import sys
from collections import defaultdict

from selenium.webdriver.common.by import By

from look import browser, check_complaints, check_requests, claim, distance, done, pixels, pointer, show

LONG = 400000000


def keep(name):
    return os.path.join(os.environ["PICTURES"], name) if "PICTURES" in os.environ else None


def read_report(path):
    """Counts by the buckets' lowest and highest values, all rows together; and the report."""
    with open(path, encoding="utf-8") as f:
        report = json.loads(f.readlines()[-1])
    counts = defaultdict(int)
    for row in report["rows"]:
        for low, high, n in row["hist"]:
            counts[low, high] += n
    return counts, report


class Map:
    def __init__(self, driver):
        self.driver = driver
        self.data = json.loads(driver.execute_script(
            "return document.getElementById('data').textContent"))
        self.box = driver.execute_script("""
            const r = document.getElementById('zone').getBoundingClientRect();
            return [r.x, r.y, r.width, r.height]""")

    def cells(self):
        """(column, line, count), the lines from above."""
        return [(i, c[j], c[j + 1]) for i, c in enumerate(self.data["columns"])
                for j in range(2, len(c), 2)]

    def point(self, column, line):
        """The middle of a cell, in pixels."""
        times, end = self.data["columns"][column], self.data["columns"][-1][1]
        lines = len(self.data["edges"]) - 1
        return (self.box[0] + (times[0] + times[1]) / 2 / end * self.box[2],
                self.box[1] + (line + 0.5) / lines * self.box[3])

    def pointed(self, column, line):
        pointer(self.driver, self.point(column, line))
        return self.text("details")

    def text(self, name):
        return self.driver.find_element(By.ID, name).text


def check_counts(heat, counts):
    edges = heat.data["edges"]
    by_line = defaultdict(int)
    for _, line, n in heat.cells():
        by_line[line] += n
    wanted = defaultdict(int)
    for (low, high), n in counts.items():
        line = next(i for i in range(len(edges) - 1) if edges[i + 1] <= low)
        claim(high < edges[line] or high >= edges[0], f"{low} to {high} is in one line") \
            if not high < edges[line] else None
        wanted[line] += n
    claim(by_line == wanted, "each line has the calls that the report has there",
          (dict(by_line), dict(wanted)))
    drawn = heat.driver.execute_script("""
        return Array.from(document.querySelectorAll('#plot path')).map(p => p.getAttribute('d'))""")
    claim(sum(d.count("M") for d in drawn) == len(heat.cells()), "each cell is drawn")


def longest(heat):
    return min(heat.cells(), key=lambda cell: cell[1])


def check_outlier(heat):
    column, line, n = longest(heat)
    edges = heat.data["edges"]
    claim(n == 1 and edges[line] > LONG and edges[line + 1] < 2 * LONG, "the long call is alone on top",
          (n, edges[line]))
    text = heat.pointed(column, line)
    found = re.fullmatch(r"([\d.]+)s to ([\d.]+)s, ([\d.]+)ms \.\. ([\d.]+)ms: 1 of (\d+)", text)
    claim(found is not None, "the cell under the pointer says what it is", text)
    if found:
        claim(all(abs(float(found[i]) * 1e6 / edges[at] - 1) < 1e-5 for i, at in ((3, line + 1), (4, line))), "... with its edges", text)
        claim(int(found[5]) == sum(heat.data["columns"][column][3::2]), "... and its column", text)
    empty = heat.pointed(column, line + 2)
    claim(re.search(r": 0 of \d+$", empty) is not None, "so does an empty one", empty)


def check_colours(driver, heat, path):
    column, line, _ = longest(heat)
    fullest = max(heat.cells(), key=lambda cell: cell[2])
    points = [heat.point(column, line), heat.point(*fullest[:2]), heat.point(column, line + 3)]
    seen = {}
    for scheme, media in (("light", "screen"), ("dark", "screen"), ("dark", "print")):
        show(driver, path, scheme, media)
        seen[scheme, media] = pixels(driver, points, keep(f"heat-{scheme}-{media}.png"))
        one, most, paper = seen[scheme, media]
        claim(distance(one, paper) > 120, f"a single call is seen ({scheme}, {media})", seen)
        claim(distance(most, paper) > 1.5 * distance(one, paper),
              "... and the fullest cell more", (one, most, paper))
    claim(sum(seen["light", "screen"][2]) > 740 and sum(seen["dark", "screen"][2]) < 120,
          "the paper is light, or dark", seen)
    claim(seen["dark", "print"] == seen["light", "screen"], "print is light", seen)
    show(driver, path)


def check_text(driver, report):
    title = driver.find_element(By.ID, "title").text
    claim(title.startswith("syscall-latency -s getppid,clock_nanosleep -c "),
          "the command line is there", title)
    claim('python3,<i>&"]]></i> -b syscall' in title and driver.execute_script(
        "return document.getElementById('title').children.length") == 0, "... as text", title)
    run = driver.find_element(By.ID, "run").text
    claim(report["host"] in run and report["kernel"] in run and
          report["mechanism"]["name"] in run, "host, kernel and mechanism are there", run)
    ledger = driver.find_element(By.ID, "ledger").text
    claim(ledger.startswith(f"{report['ledger']['recorded']} calls, 0 lost"), "... and the ledger",
          ledger)


def labels(driver, group):
    return driver.execute_script("""
        return Array.from(document.querySelectorAll('.' + arguments[0] + ' > g')).filter(
            g => getComputedStyle(g).display !== 'none').map(g => {
                const r = g.querySelector('text').getBoundingClientRect();
                return [g.querySelector('text').textContent, r.x, r.y, r.right, r.bottom]})""", group)


def check_axes(driver, heat):
    values, times = labels(driver, "values"), labels(driver, "times")
    claim({"1us", "10us", "1ms", "100ms"} <= {v[0] for v in values}, "the axis of values has labels",
          values)
    claim(len(times) >= 3 and times[0][0] == "0s", "... and that of time", times)
    claim(all(a[4] >= b[4] + 9 for a, b in zip(values, values[1:])), "... which do not overlap", values)
    # Its label is where the edges of its line are.
    line = next(i for i in range(len(heat.data["edges"]) - 1) if heat.data["edges"][i + 1] <= 1000000)
    middle = next((v[2] + v[4]) / 2 for v in values if v[0] == "1ms")
    claim(abs(heat.point(0, line)[1] - middle) < heat.box[3] / (len(heat.data["edges"]) - 1) + 2,
          "... and are at their lines", (line, middle))


def check_zoom(driver, heat):
    column, line, _ = longest(heat)
    x, y = heat.point(column, line)
    whole = [v[0] for v in labels(driver, "values")]
    pointer(driver, (x - 40, y - 6), "down", (x + 40, y + 24))
    claim(driver.find_element(By.ID, "selection").is_displayed(), "dragging shows the selection")
    pointer(driver, "up")
    view = [float(n) for n in driver.execute_script(
        "return document.getElementById('plot').getAttribute('viewBox')").split()]
    lines = len(heat.data["edges"]) - 1
    claim(abs(view[2] - 80 / heat.box[2] * 100000) < 200 and abs(view[3] - 30 / heat.box[3] * lines) < 0.5,
          "... and zooms to it", view)
    claim(view[1] <= line + 0.5 <= view[1] + view[3], "... where the call is", view)
    at = (heat.box[0] + heat.box[2] / 2, heat.box[1] + (line + 0.5 - view[1]) / view[3] * heat.box[3])
    pointer(driver, at)
    claim(": 1 of " in heat.text("details"), "... and says so", heat.text("details"))
    one = pixels(driver, [at], keep("heat-zoomed.png"))[0]
    claim(distance(one, (255, 255, 255)) > 120, "... and shows it", one)
    driver.find_element(By.ID, "reset").click()
    claim([v[0] for v in labels(driver, "values")] == whole, "all shows the whole again")


def check_heat(driver, path, counts, report):
    show(driver, path)
    check_requests(driver)
    heat = Map(driver)
    check_text(driver, report)
    check_counts(heat, counts)
    check_axes(driver, heat)
    check_outlier(heat)
    check_zoom(driver, heat)
    check_complaints(driver, "of a heat map")
    check_colours(driver, heat, path)


def hover(driver, name, share):
    """What is said at SHARE of the width of a panel."""
    box = driver.execute_script("""
        const r = document.getElementById(arguments[0]).getBoundingClientRect();
        return [r.x, r.y, r.width, r.height]""", name)
    pointer(driver, (box[0] + share * box[2], box[1] + box[3] / 2))
    return driver.find_element(By.ID, "details").text


def nearest_rank(counts, share):
    seen, n = 0, sum(counts.values())
    for (_, high), count in sorted(counts.items()):
        seen += count
        if seen >= share * n:
            return high
    return None


def in_ns(text):
    number, unit = re.fullmatch(r"([\d.]+)(ns|us|ms|s)", text).groups()
    return float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]


def check_chart_zoom(driver, data):
    x, y, width, height = driver.execute_script("""
        const r = document.getElementById('over-time').getBoundingClientRect();
        return [r.x, r.y, r.width, r.height]""")
    distribution = driver.execute_script("return document.getElementById('whole').getAttribute('d')")
    left, right = int(x + width / 2), int(x + width * 3 / 4)
    pointer(driver, (left, y + 20), "down", (right, y + 90))
    claim(driver.find_element(By.ID, "selection").is_displayed(), "dragging selects a time of a chart")
    pointer(driver, "up")
    view = [float(n) for n in driver.execute_script("return document.getElementById('plot').getAttribute('viewBox')").split()]
    claim(abs(view[0] - left) < 1 and abs(view[2] - (right - left)) < 1 and abs(view[3] - height) < 1, "... and zooms to it, in time only",
          (view, left, right))
    end = data["columns"][-1][1] / 1e9
    times = [float(v[0].rstrip("s")) for v in labels(driver, "times")]
    from_, to = ((at - x) / width * end for at in (left, right))
    claim(len(times) >= 3 and all(from_ - 1e-3 <= t <= to + 1e-3 for t in times), "... with labels of that time", (times, from_, to))
    text = hover(driver, "over-time", 0.5)
    found = re.match(r"([\d.]+)s to ([\d.]+)s: ", text)
    claim(found is not None and float(found[1]) - 0.1 <= (from_ + to) / 2 <= float(found[2]) + 0.1, "... and says what is there now", text)
    driver.find_element(By.ID, "reset").click()
    claim(float(labels(driver, "times")[0][0].rstrip("s")) == 0 and not driver.find_element(By.ID, "reset").is_displayed(), "all shows the whole chart again")
    claim(distribution == driver.execute_script("return document.getElementById('whole').getAttribute('d')"), "... the distribution as ever")


def check_chart(driver, path, counts):
    show(driver, path)
    check_requests(driver)
    data = json.loads(driver.execute_script("return document.getElementById('data').textContent"))
    claim(sum(c[2] for c in data["columns"]) == sum(counts.values()), "columns have all calls",
          [c[2] for c in data["columns"]])
    texts = [t.text for t in driver.find_elements(By.TAG_NAME, "text")]
    for name in ("50", "99", "99.9"):
        shown = next((t.split()[1] for t in texts if t.startswith(f"p{name} ")), None)
        wanted = nearest_rank(counts, float(name) / 100)
        claim(shown is not None and wanted <= in_ns(shown) * 1.0001 and in_ns(shown) <= wanted * 1.011,
              f"p{name} is that of the report", (shown, wanted))
    share = 2 / data["right"]
    text = hover(driver, "distribution", share)
    found = re.fullmatch(r"p(9[89]\.?\d*): at most (\S+)", text)
    claim(found is not None and abs(float(found[1]) - 99) < 0.2, "the distribution says what is there", text)
    text = hover(driver, "over-time", 0.5)
    claim(re.fullmatch(r"[\d.]+s to [\d.]+s: \d+ calls; p50 \S+, p90 \S+, p99 \S+, p99.9 \S+", text) is not None,
          "so do percentiles over time", text)
    check_chart_zoom(driver, data)
    parts = driver.execute_script("""
        return Array.from(document.querySelectorAll('rect.part')).map(r => [r.querySelector('title').textContent,
            Number(r.getAttribute('x')), Number(r.getAttribute('height'))])""")
    heights = defaultdict(float)
    for _, x, height in parts:
        heights[x] += height
    claim(parts and all(abs(h - 300) < 1 for h in heights.values()), "parts fill their bands", dict(heights))
    last = max(parts, key=lambda p: (p[1], p[2]))
    claim(re.match(r"blocked: (\d\d|100)\.", last[0]) is not None, "the longest call was blocked", last)
    for scheme in ("light", "dark"):
        show(driver, path, scheme)
        pixels(driver, [], keep(f"chart-{scheme}.png"))
    check_complaints(driver, "of a chart")


def main():
    heat, chart, report, no_heat, no_chart = sys.argv[1:6]
    counts, report = read_report(report)
    driver = browser()
    try:
        check_heat(driver, heat, counts, report)
        driver.get_log("performance")
        check_chart(driver, chart, counts)
        for path in (no_heat, no_chart):
            show(driver, path)
            claim("0 calls" in driver.find_element(By.ID, "ledger").text, "a picture of nothing says so")
        check_complaints(driver, "of pictures of nothing")
    finally:
        driver.quit()
    return done()


if __name__ == "__main__":
    sys.exit(main())
