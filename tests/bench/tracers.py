# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the benchmarks share: tracers, ours and others', started, watched and ended alike."""
import contextlib
import ctypes
import json
import os
import random
import re
import selectors
import shutil
import signal
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PRIVATE = "PLUMB_BENCH_PRIVATE_MOUNTS"
# What bpftrace does at the entry of a function, and at its end, where %s is the probe.
HISTOGRAM = """{ @s[tid] = nsecs; }
%s /@s[tid]/ { @[pid, comm] = hist(nsecs - @s[tid]); delete(@s[tid]); }"""


class Broken(Exception):
    """This tracer cannot be measured here; the text says why."""


def read(path):
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as f:
        return f.read().strip()
    return ""


def sum_of(pid, number, field):
    """The FIELD of all that the process holds of the kernel's BPF, each by its NUMBER once."""
    found = {}
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fdinfo"):
            info = dict(re.findall(r"^(\w+):\s+(\d+)$", read(f"/proc/{pid}/fdinfo/{fd}"),
                                   re.MULTILINE))
            if number in info and field in info:
                found[info[number]] = int(info[field])
    return sum(found.values())


class Tracer:
    """One configuration: how it is started, how it says that it is ready, what it counted."""

    def __init__(self, name, label, argv, ready="tracing …", stop=signal.SIGTERM, counted=None,
                 settle=False, patience=20):
        self.name, self.label, self.argv = name, label, argv
        self.ready = re.compile(ready.encode(), re.MULTILINE)
        self.stop, self.counted = stop, counted
        self.settle = settle  # its line comes before it is attached
        self.patience = patience  # seconds for its start, and for its end
        self.failures, self.why = 0, None
        self.taken = []       # pairs of (ns untraced, ns traced), each by number of threads
        self.added = {1: [], 2: []}
        self.starts, self.lost, self.memory = [], [], {"resident": 0, "peak": 0, "maps": 0}

    def start(self):
        """Start it, wait until it is ready, and take the time."""
        began = time.monotonic()
        try:
            run = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, bufsize=0)
        except OSError as error:
            raise Broken(f"{self.argv[0]}: {error.strerror}") from error
        said, deadline = b"", began + self.patience
        with selectors.DefaultSelector() as ears:
            ears.register(run.stdout, selectors.EVENT_READ)
            ears.register(run.stderr, selectors.EVENT_READ)
            while not self.ready.search(said):
                for key, _ in ears.select(max(0, deadline - time.monotonic())):
                    text = os.read(key.fd, 65536)
                    said += text
                    if not text:
                        ears.unregister(key.fileobj)
                if not ears.get_map() or time.monotonic() > deadline:
                    run.kill()
                    run.communicate()
                    lines = said.decode(errors="replace").strip().splitlines()
                    raise Broken(lines[-1] if lines else "never became ready")
        self.starts.append((time.monotonic() - began) * 1e3)
        return run

    def weigh(self, pid):
        """Resident memory while it traces, at its peak (loading), and the kernel's, in maps."""
        status = read(f"/proc/{pid}/status")
        for what, field in (("resident", "VmRSS"), ("peak", "VmHWM")):
            found = re.search(rf"^{field}:\s+(\d+)", status, re.MULTILINE)
            self.memory[what] = max(self.memory[what], int(found[1]) * 1024 if found else 0)
        self.memory["maps"] = max(self.memory["maps"], sum_of(pid, "map_id", "memlock"))

    def end(self, run):
        """End it as its user would, and return what it printed."""
        self.weigh(run.pid)
        run.send_signal(self.stop)
        try:
            out, err = run.communicate(timeout=self.patience)
        except subprocess.TimeoutExpired:
            run.kill()
            run.communicate()
            raise Broken("did not end when told to") from None
        if run.returncode not in (0, -self.stop):
            lines = err.decode(errors="replace").strip().splitlines()
            raise Broken(f"exit status {run.returncode}: {lines[-1] if lines else ''}")
        return out.decode(errors="replace")


class Spin:
    """The measured load; see spin.c."""

    def __init__(self, path, *what):
        self.run = subprocess.Popen([path, *what], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    text=True, bufsize=1)
        self.pid = int(self.run.stdout.readline().split()[1])
        self.calls = 0
        self.least = None  # of the last measurement

    def ns(self, threads, ms):
        self.run.stdin.write(f"{threads} {ms}\n")
        median, least, calls = self.run.stdout.readline().split()
        self.calls += int(calls)
        self.least = float(least)
        return float(median)

    def close(self):
        self.run.stdin.close()
        self.run.wait()
        self.run.stdout.close()


@contextlib.contextmanager
def run_time_statistics():
    """The kernel times all BPF programs meanwhile (BPF_ENABLE_STATS)."""
    number = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(number, 32, ctypes.create_string_buffer(128), 128)
    if fd < 0:
        raise Broken(f"run-time statistics: {os.strerror(ctypes.get_errno())}")
    try:
        yield
    finally:
        os.close(fd)


def start_settled(tracer):
    """Start it; those that flush nothing before they end are ready after a while."""
    if not tracer.settle:
        return tracer.start()
    run = subprocess.Popen(tracer.argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    time.sleep(1.5)
    if run.poll() is not None:
        raise Broken(run.stderr.read().decode(errors="replace").strip()[-200:] or "it ended")
    return run


def find_peers(suite):
    """The directory of a newer Debian's peers, and what they are."""
    run = subprocess.run([os.path.join(ROOT, "tests", "bench", "peers.sh"), suite],
                         stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        return None, f"no peers from {suite}"
    root = run.stdout.strip()
    with open(os.path.join(root, "peers"), encoding="utf-8") as f:
        return root, ", ".join(f.read().splitlines()) + f" ({suite})"


def peer_tracer(root, name, label, *argv, ready=None, **options):
    """A peer below ROOT, run by its own loader, with a line of output for a line printed."""
    loader = os.path.join(root, "lib64", "ld-linux-x86-64.so.2")
    libs = os.path.join(root, "usr", "lib", "x86_64-linux-gnu")
    options = {"settle": not ready, **options}
    return Tracer(name, label, ["stdbuf", "-oL", loader, "--library-path", libs,
                                os.path.join(root, "usr", "bin", argv[0]), *argv[1:]],
                  ready=ready or "", stop=signal.SIGINT, **options)


def wrap_peers(root, where):
    """In the directory WHERE, a script for each peer below ROOT: it is run by its own loader."""
    for name in os.listdir(f"{root}/usr/bin"):
        with open(f"{where}/{name}", "w", encoding="utf-8") as script:
            script.write(f"#!/bin/sh\nexec {root}/lib64/ld-linux-x86-64.so.2 --library-path "
                         f"{root}/usr/lib/x86_64-linux-gnu {root}/usr/bin/{name} \"$@\"\n")
        os.chmod(f"{where}/{name}", 0o755)


def bootstrap(statistic, *samples):
    """The statistic of the samples; and between what it lies in 90 of 100 draws from them."""
    chance = random.Random(1)
    drawn = sorted(statistic(*(chance.choices(s, k=len(s)) for s in samples)) for _ in range(1000))
    return statistic(*samples), drawn[50], drawn[949]


def ratio(these, those):
    """Of the medians, and its interval."""
    return bootstrap(lambda a, b: statistics.median(a) / statistics.median(b), these, those)


def verdict(target):
    """As far as the interval tells: the median of a noisy run decides nothing."""
    low, high = target["interval_90"]
    if target["at_most"] is None:
        return ""
    if high <= target["at_most"]:
        return "met"
    return "MISSED" if low > target["at_most"] else "open"


def verdicts(result, what="ratio of"):
    yield [what, "measured", "90 % within", "at most", ""]
    for t in result["targets"]:
        yield [t["what"], f"{t['measured']:.2f}", "–".join(f"{q:.2f}" for q in t["interval_90"]),
               "" if t["at_most"] is None else f"{t['at_most']:.2f}", verdict(t)]


# How many of spin's calls did the tracer count?

def counted_by_plumb(out, pid):
    last = json.loads(out.splitlines()[-1])
    return sum(row["count"] for row in last["rows"] if row["key"].get("pid") == pid)


def counted_by_bpftrace(out, pid):
    for line in out.splitlines():
        with contextlib.suppress(ValueError, AttributeError):
            message = json.loads(line)
            if message.get("type") != "hist":
                continue
            return sum(bucket["count"] for key, hist in message["data"]["@"].items()
                       if key.startswith(f"{pid},") for bucket in hist)
    return 0


def counted_by_funclatency(out, _):
    return sum(int(n) for n in re.findall(r"^ *\d+ -> \d+ +: (\d+) ", out, re.MULTILINE))


def counted_by_floor(out, _):
    return int(out or 0)


def lay_out(cells, markdown):
    cells = list(cells)
    columns = len(cells[0])
    if markdown:
        for i, row in enumerate(cells):
            print("| " + " | ".join(row + [""] * (columns - len(row))) + " |")
            if not i:
                print("|---" + "|---:" * (columns - 1) + "|")
        return
    # A reason is as long as it is: it does not widen the columns.
    whole = [row for row in cells if len(row) == columns]
    widths = [max(len(row[i]) for row in whole) for i in range(columns)]
    widths[0] = max(len(row[0]) for row in cells)
    for row in cells:
        if len(row) < columns:
            print(row[0].ljust(widths[0]) + "  " + row[1])
        else:
            print("  ".join([row[0].ljust(widths[0])] +
                            [c.rjust(w) for c, w in zip(row[1:], widths[1:])]).rstrip())


def others():
    """Other programs on the system call tracepoints, as bpftool names them; "" also without it."""
    tool = shutil.which("bpftool", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if not tool:
        return ""
    links = subprocess.run([tool, "-j", "link", "list"], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, check=False).stdout
    with contextlib.suppress(ValueError):
        return ", ".join(f"link {link['id']} on {link['tp_name']}"
                         for link in json.loads(links)
                         if link.get("tp_name") in ("sys_enter", "sys_exit"))
    return ""


def machine():
    model = re.search(r"^(?:model name|CPU part)\s*: (.*)", read("/proc/cpuinfo"), re.MULTILINE)
    flaws = "/sys/devices/system/cpu/vulnerabilities/"
    return {"cpu": model[1] if model else os.uname().machine, "arch": os.uname().machine,
            "cores": len(os.sched_getaffinity(0)), "kernel": os.uname().release,
            # They decide what a call of a BPF helper costs.
            "mitigations": {name: read(flaws + name)
                            for name in ("spectre_v2", "spec_rstack_overflow", "retbleed")},
            "load": os.getloadavg()[0]}


def mount_privately():
    """bpftrace and BCC need tracefs; only this process and its children see what is mounted."""
    if PRIVATE not in os.environ:
        os.environ[PRIVATE] = "1"
        os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])
    for kind, where, proof in (("debugfs", "/sys/kernel/debug", "tracing"),
                               ("tracefs", "/sys/kernel/tracing", "events")):
        if not os.path.isdir(f"{where}/{proof}"):
            subprocess.run(["mount", "-t", kind, kind, where], check=False)
