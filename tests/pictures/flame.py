#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""flame.py FILE.svg FOLDED PATTERN EMPTY.svg DIFF.svg BEFORE AFTER: looks at a flame graph with Chromium, as TAP.

What it shows is held against FOLDED, the same stacks as text: names, widths, what a click on a
frame does, and what a search for PATTERN finds. And at a graph of no stacks, and at
one that is coloured by the changes from BEFORE to AFTER. PICTURES=DIR keeps screenshots there.
"""
import os
import re
import sys
from collections import defaultdict

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.alert import Alert
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from look import browser, check_complaints, check_requests, claim, done, show

WIDTH = 1200


def read_folded(path):
    """Weights by the frames that lead there, outermost first; the whole is ()."""
    weights = defaultdict(int)
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            text, weight = line.rstrip("\n").rsplit(" ", 1)
            frames = tuple(text.split(";"))
            for depth in range(len(frames) + 1):
                weights[frames[:depth]] += int(weight)
    return weights


def share_of(weights, pattern):
    """Of the whole, of stacks in which a frame's name matches."""
    def matches(frame):
        return re.search(pattern, frame.removesuffix("_[k]"))

    # Each outermost frame that matches has all that is in it.
    return sum(w for path, w in weights.items() if path and matches(path[-1])
               and not any(matches(frame) for frame in path[:-1])) / weights[()]


class Graph:
    """The page, as it is now."""

    def __init__(self, driver):
        self.driver = driver

    def frames(self):
        return self.driver.execute_script("""
            return Array.from(document.querySelectorAll('g.frame')).map(g => ({
                name: g.dataset.name, depth: Number(g.dataset.depth),
                shown: getComputedStyle(g).display !== 'none',
                x: Number(g.querySelector('rect').getAttribute('x')),
                width: Number(g.querySelector('rect').getAttribute('width')),
                colour: getComputedStyle(g.querySelector('rect')).fill,
                marked: g.classList.contains('match'),
                title: g.querySelector('title').textContent,
                label: g.querySelector('text').textContent}))""")

    def shown(self):
        return [f for f in self.frames() if f["shown"]]

    def element(self, index):
        return self.driver.find_elements(By.CSS_SELECTOR, "g.frame")[index]

    def click(self, index):
        ActionChains(self.driver).move_to_element(
            self.element(index).find_element(By.TAG_NAME, "rect")).click().perform()

    def text(self, name):
        return self.driver.find_element(By.ID, name).text

    def search(self, pattern, how):
        how()
        alert = Alert(self.driver)
        alert.send_keys(pattern)
        alert.accept()


def add_up(frames, what):
    """Frames of a depth lie beside each other, within those that called them."""
    by_depth = defaultdict(list)
    for f in frames:
        by_depth[f["depth"]].append(f)
    wrong = []
    for depth, row in by_depth.items():
        row.sort(key=lambda f: f["x"])
        wrong += [f["name"] for f, g in zip(row, row[1:]) if f["x"] + f["width"] > g["x"] + 0.1]
        above = by_depth.get(depth - 1)
        if above and sum(f["width"] for f in row) > sum(f["width"] for f in above) + 0.1:
            wrong.append(f"all of depth {depth}")
    claim(not wrong, f"widths add up, {what}", wrong)


def check_whole(graph, weights):
    frames = graph.shown()
    claim(frames[0]["name"] == "all" and abs(frames[0]["width"] - WIDTH) < 0.01,
          "the whole is as wide as the picture", frames[0])
    visible = sum(1 for path, w in weights.items() if w / weights[()] * WIDTH >= 0.1)
    claim(len(frames) == visible, "each frame that can be seen is there",
          f"{len(frames)} of {visible}")
    by_name = defaultdict(float)
    wanted = defaultdict(float)
    for f in frames[1:]:
        by_name[f["depth"], f["name"]] += f["width"]
    for path, w in weights.items():
        if path and w / weights[()] * WIDTH >= 0.1:
            wanted[len(path), path[-1].removesuffix("_[k]")] += w / weights[()] * WIDTH
    wrong = [key for key in wanted if abs(wanted[key] - by_name[key]) > 0.1]
    claim(not wrong, "each is as wide as it weighs", wrong[:5])
    add_up(frames, "of the whole")
    kernel = {f["colour"] for f in frames if "[kernel]" in f["title"]}
    user = {f["colour"] for f in frames[1:] if "[kernel]" not in f["title"]}
    claim(kernel and user and not kernel & user, "kernel and user are coloured apart")
    claim(all(re.search(r" samples?, [\d.]+ %\)$", f["title"]) and
              f["title"].startswith(f["name"]) for f in frames), "each says what it is")


def check_zoom(graph):
    frames = graph.frames()
    # The widest that is neither the whole nor all of it.
    index = max((i for i, f in enumerate(frames) if f["depth"] > 1 and f["width"] < 0.99 * WIDTH),
                key=lambda i: frames[i]["width"])
    chosen = frames[index]
    graph.click(index)
    shown = graph.shown()
    now = graph.frames()[index]
    claim(abs(now["width"] - WIDTH) < 0.01 and now["x"] < 0.01,
          f"a click makes {chosen['name']} as wide as the picture", now)
    callers = [f for f in shown if f["depth"] < chosen["depth"]]
    claim(len(callers) == chosen["depth"] and all(abs(f["width"] - WIDTH) < 0.01 for f in callers),
          "... and what called it", callers)
    beside = [f["name"] for f, old in zip(graph.frames(), frames) if f["shown"] and (
        old["x"] + old["width"] < chosen["x"] - 0.01 or
        old["x"] > chosen["x"] + chosen["width"] + 0.01)]
    claim(not beside, "... and hides all beside it", beside)
    add_up(shown, "of what is zoomed to")
    inside = [f for f in shown if f["depth"] == chosen["depth"] + 1]
    old = {f["name"]: f for f in frames if f["depth"] == chosen["depth"] + 1 and
           chosen["x"] - 0.01 <= f["x"] < chosen["x"] + chosen["width"]}
    claim(all(abs(f["width"] - old[f["name"]]["width"] * WIDTH / chosen["width"]) < 0.5
              for f in inside), "... what it called grows with it")
    claim(all(f["label"] == f["name"] for f in callers if len(f["name"]) < 100),
          "... labels have the room that there is")
    graph.driver.find_element(By.ID, "reset").click()
    claim([(f["x"], f["width"]) for f in graph.shown()] ==
          [(f["x"], f["width"]) for f in frames], "all shows the whole again")
    claim(not graph.driver.find_element(By.ID, "reset").is_displayed(), "... and goes")


def matched(graph):
    found = re.search(r"([\d.]+) %", graph.text("matched"))
    return float(found[1]) if found else None


def check_search(graph, weights, pattern):
    button = graph.driver.find_element(By.ID, "search")
    graph.search(pattern, button.click)
    wanted = 100 * share_of(weights, pattern)
    claim(matched(graph) is not None and abs(matched(graph) - wanted) < 0.5,
          f"a search for {pattern} says how much that is", f"{graph.text('matched')}: {wanted}")
    frames = graph.frames()[1:]
    claim(all(f["marked"] == bool(re.search(pattern, f["name"])) for f in frames) and
          any(f["marked"] for f in frames), "... and marks the frames that match")
    graph.search("(", lambda: ActionChains(graph.driver).key_down(Keys.CONTROL).send_keys("f")
                 .key_up(Keys.CONTROL).perform())
    claim("not a regular expression" in graph.text("matched"), "Ctrl-F searches; what is no regular "
          "expression is said", graph.text("matched"))
    graph.search("", button.click)
    claim(graph.text("matched") == "" and not any(f["marked"] for f in graph.frames()),
          "a search for nothing finds nothing", graph.text("matched"))


def check_details(graph):
    index, frame = max(((i, f) for i, f in enumerate(graph.frames()) if f["depth"] == 2),
                       key=lambda pair: pair[1]["width"])
    ActionChains(graph.driver).move_to_element(
        graph.element(index).find_element(By.TAG_NAME, "rect")).perform()
    claim(graph.text("details") == frame["title"], "a frame that is pointed at says what it is",
          graph.text("details"))


def hue(colour):
    """red, blue or white"""
    red, _, blue = (int(n) for n in re.findall(r"\d+", colour)[:3])
    return "red" if red > blue + 4 else "blue" if blue > red + 4 else "white"


def check_changes(graph, before, after):
    """Shares before and now, and colours by which is larger."""
    wanted = defaultdict(set)
    for path, weight in after.items():
        name = path[-1].removesuffix("_[k]") if path else "all"
        wanted[len(path), name].add((round(100 * before[path] / before[()], 2), round(100 * weight / after[()], 2)))
    wrong, hues = [], set()
    for f in graph.frames():
        found = re.search(r", ([\d.]+) %; before ([\d.]+) %, change ([+-][\d.]+)\)$", f["title"])
        now, was, change = (float(found[i]) for i in (1, 2, 3)) if found else (-1, -1, 0)
        if not found or abs(now - was - change) > 0.015 or \
                min(abs(was - w) + abs(now - n) for w, n in wanted[f["depth"], f["name"]]) > 0.03:
            wrong.append(f["title"])
        if f["depth"] and abs(change) > 5:
            hues.add((change > 0, hue(f["colour"])))
    claim(not wrong, "each frame says its share before and now", wrong[:3])
    claim(hues == {(True, "red"), (False, "blue")}, "what has grown is red, what has shrunk is blue", hues)
    gone = sum(w for path, w in before.items() if path not in after and path[-1] == "<script>")
    found = re.search(r"([\d.]+) % of before are stacks that are gone", graph.text("gone"))
    claim(found is not None and float(found[1]) >= 100 * gone / before[()] - 0.01 > 0,
          "it says how much is gone", graph.text("gone"))


def main():
    svg, folded, pattern, empty, diff, before, after = sys.argv[1:8]
    driver = browser()
    try:
        show(driver, svg)
        graph, weights = Graph(driver), read_folded(folded)
        check_whole(graph, weights)
        check_details(graph)
        check_zoom(graph)
        check_search(graph, weights, pattern)
        check_requests(driver)
        check_complaints(driver, "of a graph")
        for scheme in ("dark", "light"):
            show(driver, diff, scheme)
            if "PICTURES" in os.environ:
                driver.save_screenshot(os.path.join(os.environ["PICTURES"], f"diff-{scheme}.png"))
        check_changes(graph, read_folded(before), read_folded(after))
        check_complaints(driver, "of changes")
        show(driver, empty)
        claim(not graph.frames(), "a graph of no stacks has no frames")
        check_complaints(driver, "of one without stacks")
    finally:
        driver.quit()
    return done()


if __name__ == "__main__":
    sys.exit(main())
