# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What one tracer adds to the calls of a load: measured, and held against what it counted."""
import json
import statistics
import time

from tracers import Broken, counted_by_plumb, start_settled

# To the fastest: with a busy sibling of its CPU a system call, or a probe, takes 1.3 times as long.
DISTURBED = 1.15


class Row:
    """A tracer, the load that it is measured with, and whether it slows that load."""

    def __init__(self, part, tracer, load, slows=True):
        self.part, self.tracer, self.load, self.slows = part, tracer, load, slows
        self.added, self.slowed, self.mechanism, self.says = [], [], None, None

    def ns(self, ms):
        """Of a bystander's own call the least, which nothing but a probe would raise."""
        median = self.load.ns(1, ms)
        return self.load.least if self.part == "own" else median

    def wait_until_live(self, before):
        """Its line may come before its probes."""
        deadline = time.monotonic() + 10
        while self.load.ns(1, 10) < 1.1 * before + 20:
            if time.monotonic() > deadline:
                raise Broken("its probes never fired")

    def take(self, before, ms):
        run = start_settled(self.tracer)
        try:
            if self.slows:
                self.wait_until_live(before)
                time.sleep(0.1)  # the last probe of several
            made = -self.load.calls
            self.load.ns(1, 10)  # the tracer's first sight of it
            during = self.ns(ms)
            made += self.load.calls
        except BaseException:
            run.kill()
            run.communicate()
            raise
        self.check(self.tracer.end(run), made)
        return during

    def check(self, out, made):
        """Did it see the calls?  And what does it say of itself?"""
        counted_by = self.tracer.counted
        if not counted_by:
            return
        lost = max(0, made - counted_by(out, self.load.pid))
        self.tracer.lost.append(lost)
        if lost > made / 1000:
            raise Broken(f"lost {lost} of {made} calls")
        if counted_by is counted_by_plumb:
            said = json.loads(out.splitlines()[-1])
            self.mechanism = said["mechanism"]["name"]
            self.says = (said.get("overhead_ns") or {}).get("traced")

    def measure(self, gauge, ms):
        """Return how slow the machine was for system calls, or 0 without a result."""
        if self.tracer.failures > 2:
            return 0
        untraced_ms = ms if self.part == "own" else ms / 4
        calm = gauge.ns(1, ms / 4)
        before = self.ns(untraced_ms)
        try:
            during = self.take(before, ms)
        except (Broken, ValueError, LookupError) as error:
            self.tracer.failures, self.tracer.why = self.tracer.failures + 1, str(error)
            return 0
        after = self.ns(untraced_ms)
        slow = max(calm, gauge.ns(1, ms / 4))
        untraced = min(before, after) if self.part == "own" else (before + after) / 2
        self.tracer.taken.append((slow, untraced, during))
        return slow

    def settle(self, least):
        """Only now is it known how fast the machine can be: leave out what was disturbed."""
        taken = self.tracer.taken
        calm = [t for t in taken if t[0] <= DISTURBED * least]
        for _, untraced, during in calm or taken:
            self.added.append(during - untraced)
            self.slowed.append(during / untraced)
        return len(taken) - len(calm)

    def result(self):
        row = {"part": self.part, "name": self.tracer.name, "what": self.tracer.label,
               "rounds": len(self.added)}
        if self.added:
            row["added_ns"] = {"median": statistics.median(self.added), "min": min(self.added),
                               "max": max(self.added)}
        if self.tracer.lost:
            row["lost_calls"] = max(self.tracer.lost)
        if self.mechanism:
            row.update(mechanism=self.mechanism, says_ns=self.says)
        if self.tracer.why or not self.added:
            row["failed_rounds"] = self.tracer.failures
            row["why"] = self.tracer.why or "not measured"
        return row
