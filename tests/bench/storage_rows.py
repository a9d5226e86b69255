# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The rows of the benchmark of storage and memory: loads, tracers, and what is expected of them."""
import contextlib
import json
import re
import shlex
import statistics

from tracers import HISTOGRAM, counted_by_bpftrace, counted_by_funclatency

# By part: its load, where N is a disk or a file of the part, with a label for each of its points.
LOADS = {
    "block": ("storage-load", [("block:N:1", "one at a time"), ("block:N:32", "32 in flight")]),
    "fault": ("storage-load", [("fault", "a fault")]),
    "switch": ("pingpong", [("", "a context switch")]),
    "alloc": ("storage-load", [("alloc", "an allocation and its free")]),
    "read": ("storage-load", [("read:N", "a read in the page cache")]),
    "cache": ("storage-load", [("pages:N", "a read in the page cache"), ("write:N", "a write in the page cache"),
                               ("miss:N", "a read that adds a page, and its removal")]),
}
# Of the load before to that after: more, and something else disturbed it.
DISTURBED = 1.15
# Of what to what at most, by part.
TARGETS = {
    "block": [("block-io-latency", "biolatency", None), ("block-io-latency", "biolatency-Q", 1.0),
              ("block-io-latency", "biolatency.bt", None),
              ("block-io-latency-stage", "biolatency-Q", None)],
    "fault": [(tool, peer, 0.6)
              for tool in ("page-fault-latency", "page-fault-latency-function")
              for peer in ("bpftrace-fentry", "bpftrace-kprobe", "funclatency")] +
             [("event-rate", "perf", None), ("event-rate", "bpftrace-count", 0.5),
              ("page-fault-latency", "bpftrace-count", None)],
    "switch": [("event-rate", "perf", None), ("event-rate", "bpftrace-count", 0.5),
               ("event-rate", "bpftrace-switch", 0.5)],
    "alloc": [(tool, peer, 0.6)
              for tool in ("slab-latency", "slab-latency-function")
              for peer in ("bpftrace-fentry", "bpftrace-kprobe")] +
             [("slab-latency", "bpftrace-tracepoint", None)],
    "read": [(tool, peer, 0.6)
             for tool in ("file-latency", "file-latency-function")
             for peer in ("fsdist", "fsslower", "bpftrace-fentry", "bpftrace-kprobe")] +
            [("file-latency", "bpftrace-tracepoint", None), ("file-io-breakdown", "fsdist", 1.0),
             ("file-io-breakdown", "fsslower", None)],
    "cache": [("cache-hit", "cachestat", 0.5)],
}
FLOORS = [(tool, "floor-clock", None) for tool in (
    "block-io-latency", "page-fault-latency", "slab-latency", "file-latency", "cache-hit")] + \
    [(tool + "-function", "floor-function-clock", None) for tool in (
        "page-fault-latency", "slab-latency", "file-latency")]


# What a tracer has counted.

def counted_of_pid(out, pid):
    """By plumb; rows without a process are of all processes."""
    last = json.loads(out.splitlines()[-1])
    return sum(row["count"] for row in last["rows"] if row["key"].get("pid", pid) == pid)


def counted_in_map(out, pid):
    """By bpftrace's count()."""
    for line in out.splitlines():
        with contextlib.suppress(ValueError, AttributeError):
            message = json.loads(line)
            if message.get("type") == "map":
                return sum(n for key, n in message["data"]["@"].items() if key.startswith(f"{pid},"))
    return 0


def counted_in_histogram(out, _):
    """By bpftrace's hist() without a key."""
    for line in out.splitlines():
        with contextlib.suppress(ValueError, AttributeError):
            message = json.loads(line)
            if message.get("type") == "hist":
                return sum(bucket["count"] for bucket in message["data"]["@usecs"])
    return 0


class Row:
    """A tracer and what was measured of it."""

    def __init__(self, name, label, command, ready="-", signal="INT", settle=3.0, counted=None,
                 is_peer=False):
        self.name, self.label, self.command = name, label, command
        self.ready, self.signal, self.settle, self.counted = ready, signal, settle, counted
        self.is_peer = is_peer
        self.added, self.programs = {}, {}  # ns, by point, one of each round
        self.untraced, self.mechanism = {}, None
        self.lost, self.failures, self.why = 0, 0, None

    def plan(self):
        return "\t".join((self.name, self.signal, self.ready, str(self.settle), self.command))

    def fail(self, why):
        self.failures, self.why = self.failures + 1, why

    def is_sound(self, out, pid, made):
        """A tracer that was not attached, or that lost calls, is not mistaken for a cheap one."""
        if not self.counted:
            return True
        try:
            lost = max(0, made - self.counted(out, pid))
            if self.counted is counted_of_pid:
                self.mechanism = json.loads(out.splitlines()[-1])["mechanism"]["name"]
        except (ValueError, LookupError):
            lost = made
        self.lost = max(self.lost, lost)
        if lost > made / 1000:
            self.fail(f"lost {lost} of {made} calls")
            return False
        return True

    def take(self, i, figures, statistic):
        """FIGURES are of point I."""
        before, during, after = (float(f.split("/")[statistic]) for f in figures[:3])
        self.untraced.setdefault(i, []).append(min(before, after))
        if max(before, after) <= DISTURBED * min(before, after):
            self.added.setdefault(i, []).append(during - (before + after) / 2)
        if figures[3] != "-":
            self.programs.setdefault(i, []).append(float(figures[3]))

    def result(self, i):
        out = {"name": self.name, "what": self.label, "rounds": len(self.added.get(i, []))}
        for key, values in (("added_ns", self.added.get(i)), ("program_ns", self.programs.get(i))):
            if values:
                out[key] = {"median": statistics.median(values), "min": min(values),
                            "max": max(values)}
        if self.counted and self.untraced:
            out["lost_calls"] = self.lost
        if self.mechanism:
            out["mechanism"] = self.mechanism
        if self.why:
            out.update(failed_rounds=self.failures, why=self.why)
        return out


class Rows:
    """Those of one machine."""

    def __init__(self, args, kernel, have, peers):
        """HAVE are the tools; PEERS is the directory of the peers, or None."""
        self.args, self.here, self.have, self.peers = args, kernel == "here", have, peers
        self.is_7 = kernel.startswith("7")
        # Emulated, everything takes longer.
        self.slow = 1 if self.here else 3

    def tool(self, name, *options, row=None, counted=counted_of_pid):
        return Row(row or name, "plumb " + shlex.join((name, *options)),
                   shlex.join((name, "-j", "--no-calibrate", *options)), ready="tracing",
                   signal="TERM", settle=0.3 * self.slow, counted=counted)

    def floors(self, what, hooks):
        for step, label in (("empty", "empty"), ("clock", "each reads the clock")):
            yield self.floor(f"{hooks}, {label}", "storage-floor", what, step, row="floor-" + step)

    def floor(self, label, *argv, row="floor-empty"):
        return Row(row, "floor: " + label, shlex.join(argv), ready="tracing", signal="TERM",
                   settle=0.3 * self.slow)

    def bpftrace(self, row, label, script, counted):
        script = " ".join(script.split())
        return Row(row, "bpftrace " + label, shlex.join(("bpftrace", "-f", "json", "-e", script)),
                   ready="attached_probes", settle=0.5 * self.slow, counted=counted,
                   is_peer=True)

    def peer(self, row, *argv, counted=counted_by_funclatency):
        """It flushes nothing into a file before it ends: hence the time."""
        return Row(row, "BCC " + shlex.join(argv), shlex.join(argv), settle=1.5 * self.slow,
                   counted=counted, is_peer=True)

    def timed(self, function):
        """bpftrace, a histogram by pid and comm, where it can probe functions."""
        pairs = () if self.here else (("fentry", "fexit"), ("kprobe", "kretprobe"))
        for entry, leave in pairs:
            script = f"{entry}:{function} {HISTOGRAM}" % f"{leave}:{function}"
            yield self.bpftrace(f"bpftrace-{entry}", f"{entry}/{leave} {function}, hist by pid, comm",
                                script, counted_by_bpftrace)

    def counting(self, row, probe):
        return self.bpftrace(row, f"{probe}, count by pid, comm",
                             probe + " { @[pid, comm] = count(); }", counted_in_map)

    def by_function(self, name, *options):
        """With the cheapest mechanism, which a tool does not choose where it can miss calls."""
        if not self.here:
            yield self.tool(name, f"--mechanism={'fsession' if self.is_7 else 'fentry'}", *options,
                            row=name + "-function")

    def function_floor(self, function):
        hook = "fsession" if self.is_7 else "fentry"
        for step, what in (("empty", "empty"), ("clock", "each reads the clock")):
            yield self.floor(f"{hook} on {function}, {what}", "function-floor", hook, step, function,
                             row=f"floor-function-{step}")

    def broken_down(self, *options, counted=counted_of_pid):
        return self.tool("file-io-breakdown", *options, counted=counted)

    def perf(self, event):
        if self.here:
            yield Row("perf", f"perf stat -a -I 1000 -e {event}", f"perf stat -a -I 1000 -e {event}",
                      settle=1.0)

    def block(self):
        yield from self.floors("block", "4 raw tracepoint programs")
        yield self.tool("block-io-latency")
        yield self.tool("block-io-latency", "-b", "disk,op,pid,comm", row="block-io-latency-pid")
        yield self.tool("block-io-latency", "-b", "disk,op,stage", row="block-io-latency-stage")
        # Requests of AIO are no calls of its own, and followed all the same.
        yield self.broken_down(counted=None)
        yield self.peer("biolatency", "biolatency")
        yield self.peer("biolatency-Q", "biolatency", "-Q")
        yield self.peer("biolatency-DF", "biolatency", "-Q", "-D", "-F")
        script = "/usr/share/bpftrace/biolatency.bt"
        yield Row("biolatency.bt", "bpftrace biolatency.bt",
                  f"bpftrace -f json {self.peers if self.here else ''}{script}",
                  ready="attached_probes", settle=0.5 * self.slow, counted=counted_in_histogram,
                  is_peer=True)

    def fault(self):
        yield from self.floors("fault", "2 programs of software events")
        yield self.tool("page-fault-latency")
        yield self.tool("page-fault-latency", "-b", "kind,area", row="page-fault-latency-area")
        yield self.tool("event-rate", "page-faults")
        yield from self.perf("page-faults")
        yield self.counting("bpftrace-count", "software:page-faults:1")
        if not self.here:
            function = "handle_mm_fault"
            yield from self.function_floor(function)
            yield from self.by_function("page-fault-latency")
            yield from self.timed(function)
            yield self.peer("funclatency", "funclatency", function)

    def switch(self):
        if not self.here:
            return
        yield self.floor("an empty program on sched_switch", "switch-floor", "empty")
        yield self.tool("event-rate", "context-switches")
        # It reads a counter in each switch.
        yield self.tool("event-rate", "page-faults", row="event-rate-counter", counted=None)
        yield from self.perf("context-switches")
        yield self.counting("bpftrace-count", "software:context-switches:1")
        yield self.counting("bpftrace-switch", "tracepoint:sched:sched_switch")

    def alloc(self):
        if "slab-latency" not in self.have:
            return
        yield from self.floors("alloc", "a raw tracepoint program")
        yield self.tool("slab-latency", *self.args.slab)
        yield from self.by_function("slab-latency", *self.args.slab)
        yield self.counting("bpftrace-tracepoint", "tracepoint:kmem:kmem_cache_alloc")
        if not self.here:
            function = "kmem_cache_alloc_noprof"
            yield from self.function_floor(function)
            yield from self.timed(function)

    def read(self):
        if "file-latency" not in self.have:
            return
        yield from self.floors("read", "2 raw tracepoint programs")
        yield self.tool("file-latency", *self.args.file)
        yield from self.by_function("file-latency", *self.args.file)
        yield self.broken_down("-b", "pid,fs")
        yield self.bpftrace("bpftrace-tracepoint", "tracepoints of pread64, hist by pid, comm",
                            f"tracepoint:syscalls:sys_enter_pread64 {HISTOGRAM}" %
                            "tracepoint:syscalls:sys_exit_pread64", counted_by_bpftrace)
        if not self.here:
            yield from self.function_floor("vfs_read")
            yield from self.timed("vfs_read")
            yield self.peer("fsdist", "fsdist", "-t", "ext4")
            yield self.peer("fsslower", "fsslower", "-t", "ext4", "-m", "1000", counted=None)

    def cache(self):
        yield from self.floors("read", "2 raw tracepoint programs")
        yield self.tool("cache-hit", counted=None)
        if not self.here:
            yield self.peer("cachestat", "cachestat", counted=None)

    def of(self, part):
        rows = [row for row in getattr(self, part)() if self.peers or not row.is_peer]
        return [row for row in rows if not self.args.only or row.name in self.args.only]
