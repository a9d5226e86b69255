# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How long a tracer takes to attach to 1,000 functions of a program that runs, and to be gone.

Neither is taken from what the tracer says: a probe is there, and is gone, when the first byte of
its function changes in the memory of the process.
"""
import contextlib
import os
import re
import statistics
import subprocess
import time

from tracers import Broken, bootstrap, read, start_settled

TIMES = 23      # each function is called so often, while all are traced
PATIENCE = 20   # seconds


def functions_of(path):
    """The offset in the file of each function, by name."""
    out = subprocess.run(["readelf", "-sWl", path], stdout=subprocess.PIPE, text=True,
                         check=True).stdout
    number = "0x([0-9a-f]+)"
    loads = [[int(n, 16) for n in found] for found in
             re.findall(rf"^ +LOAD +{number} {number} {number} {number} ", out, re.MULTILINE)]
    symbols = re.findall(r"^ *\d+: ([0-9a-f]+) +\d+ FUNC .* (\S+)$", out, re.MULTILINE)
    return {name: int(address, 16) - start + offset for address, name in symbols
            for offset, start, _, size in loads if 0 <= int(address, 16) - start < size}


class Many:
    """The program that has them; see many.c."""

    def __init__(self, path):
        self.path = path
        self.offsets = sorted(at for name, at in functions_of(path).items()
                              if name.startswith("many_"))
        self.run = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    text=True, bufsize=1)
        self.pid = int(self.run.stdout.readline().split()[1])
        self.addresses = [self.find(offset) for offset in self.offsets]
        self.memory = os.open(f"/proc/{self.pid}/mem", os.O_RDONLY)
        self.untraced = self.look()

    def find(self, offset):
        for start, end, at in re.findall(
                rf"^(\w+)-(\w+) r-xp (\w+) .*{re.escape(self.path)}$",
                read(f"/proc/{self.pid}/maps"), re.MULTILINE):
            start, end, at = int(start, 16), int(end, 16), int(at, 16)
            if at <= offset < at + end - start:
                return start + offset - at
        raise Broken(f"{self.path} is not mapped where its functions are")

    def look(self):
        """The first instructions of each function."""
        return [os.pread(self.memory, 8, address) for address in self.addresses]

    def probed(self):
        return sum(a != b for a, b in zip(self.look(), self.untraced))

    def wait_for(self, probed, what):
        deadline = time.monotonic() + PATIENCE
        while (found := self.probed()) != probed:
            if time.monotonic() > deadline:
                raise Broken(f"{found} of {len(self.addresses)} functions were probed {what}")
            time.sleep(0.002)

    def call(self):
        self.run.stdin.write(f"{TIMES}\n")
        return int(self.run.stdout.readline())

    def close(self):
        self.run.stdin.close()
        self.run.wait()
        self.run.stdout.close()
        os.close(self.memory)


class Timing:
    """What a tracer took for all functions."""

    def __init__(self, tracer):
        self.tracer, self.attach, self.detach, self.lost = tracer, [], [], []

    def measure(self, many):
        began = time.monotonic()
        run = start_settled(self.tracer)
        try:
            many.wait_for(len(many.addresses), "while it traced")
            attached = time.monotonic() - began
            made = many.call()
        except BaseException:
            run.kill()
            run.communicate()
            with contextlib.suppress(Broken):
                many.wait_for(0, "after it was killed")
            raise
        ended = time.monotonic()
        out = self.tracer.end(run)
        many.wait_for(0, "after its end")
        self.attach.append(attached)
        self.detach.append(time.monotonic() - ended)
        self.lost.append(abs(made - self.tracer.counted(out, many.pid)))

    def result(self):
        row = {"name": self.tracer.name, "what": self.tracer.label}
        if self.attach:
            row["attach_s"] = statistics.median(self.attach)
            row["detach_s"] = statistics.median(self.detach)
            row["miscounted_calls"] = max(self.lost)
        if self.tracer.why:
            row["why"] = self.tracer.why
        return row

    def targets(self, at_most):
        for what, values in (("attach", self.attach), ("detach", self.detach)):
            if values:
                value, low, high = bootstrap(statistics.median, values)
                yield {"what": f"{what} 1,000 functions, {self.tracer.label}", "measured": value,
                       "interval_90": [low, high], "at_most": at_most}
