# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Real servers with their own clients, started below a temporary directory and ended by pid.

A server runs as nobody, on a Unix socket, in a cgroup of its own.  open() starts the client of a
measurement, if it goes on meanwhile, and says which processes serve it; window() takes the rate and
the 99th percentile that the client sees for a while; close() ends it and returns what the windows
saw: requests per second, microseconds, and requests.

The server has one CPU, which it fills, and the client the others: so what the rate loses is what the
server's calls and switches cost, and not where the scheduler put the two.
"""
import contextlib
import csv
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time

from tracers import Broken, read

NOBODY = pwd.getpwnam("nobody")
CLIENTS = 8
CPUS = sorted(os.sched_getaffinity(0))
SERVER, CLIENT = {CPUS[-1]}, set(CPUS[:-1]) or {CPUS[0]}


def await_that(what, happened):
    deadline = time.monotonic() + 20
    while not happened():
        if time.monotonic() > deadline:
            raise Broken(f"{what}: not within 20 s")
        time.sleep(0.02)


class Daemon:
    """What the servers share; ROOT has their programs, DIRECTORY is theirs."""

    def __init__(self, root, directory, cgroup):
        self.root, self.directory, self.cgroup = root, directory, cgroup
        self.process = self.client = self.bin = self.socket = None
        self.per_second = 0
        self.options, self.windows = [], []

    def spawn(self, *argv, cpus=CLIENT, **options):
        env = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": os.path.join(self.root, "lib"),
               "LC_ALL": "C", "HOME": self.directory}
        return subprocess.Popen(argv, env=env, cwd=self.directory, user=NOBODY.pw_uid,
                                group=NOBODY.pw_gid, extra_groups=[], stdin=subprocess.DEVNULL,
                                preexec_fn=lambda: os.sched_setaffinity(0, cpus),
                                **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL,
                                   **options})

    def run(self, *argv):
        process = self.spawn(*argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, err = process.communicate(timeout=120)
        if process.returncode:
            raise Broken(f"{os.path.basename(argv[0])}: {err.strip()[-300:]}")
        return out

    def serve(self, socket, *argv):
        self.process = self.spawn(*argv, cpus=SERVER)
        # What it forks from here on is in the cgroup as well.
        with open(os.path.join(self.cgroup, "cgroup.procs"), "w", encoding="ascii") as f:
            f.write(str(self.process.pid))
        await_that(f"{argv[0]} listens",
                   lambda: os.path.exists(os.path.join(self.directory, socket)))

    def end(self):
        if not self.process:
            return
        self.process.send_signal(signal.SIGINT)  # to PostgreSQL: without waiting for clients
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        self.process.kill()
        self.process.wait()


class PostgreSQL(Daemon):
    """SELECTs by primary key, pgbench -S, whose log has each transaction."""

    name, what = "postgresql", f"PostgreSQL under pgbench -S -c {CLIENTS}"

    def start(self):
        self.bin = glob.glob(os.path.join(self.root, "usr/lib/postgresql/*/bin"))[0]
        self.options = ["-h", self.directory, "-U", "bench"]
        data = os.path.join(self.directory, "data")
        self.run(f"{self.bin}/initdb", "-D", data, "-A", "trust", "-U", "bench", "--no-sync",
                 "--locale=C", "--encoding=UTF8")
        self.serve(".s.PGSQL.5432", f"{self.bin}/postgres", "-D", data, "-k", self.directory,
                   "-c", "listen_addresses=", "-c", "fsync=off", "-c", "autovacuum=off",
                   "-c", "jit=off", "-c", "shared_buffers=128MB")
        time.sleep(0.5)  # it accepts connections when it has recovered
        self.run(f"{self.bin}/pgbench", *self.options, "-i", "-q", "-s", "5", "postgres")

    def backends(self):
        pids = read(os.path.join(self.cgroup, "cgroup.procs")).split()
        return [pid for pid in pids if "[local]" in read(f"/proc/{pid}/cmdline")]

    def open(self):
        self.windows = []
        self.client = self.spawn(f"{self.bin}/pgbench", *self.options, "-S", "-n", "-c",
                                 str(CLIENTS), "-j", "1", "-T", "120", "--log",
                                 f"--log-prefix={self.directory}/log", "postgres")
        await_that("pgbench connects", lambda: len(self.backends()) == CLIENTS)
        time.sleep(0.2)
        return self.backends()

    def window(self, seconds):
        began = time.time()
        time.sleep(seconds)
        self.windows.append((began, time.time()))

    def close(self):
        time.sleep(0.1)  # what the client has not written yet is later
        alive = self.client.poll() is None
        self.client.kill()
        self.client.wait()
        await_that("pgbench's connections end", lambda: not self.backends())
        taken = [[] for _ in self.windows]
        for path in glob.glob(f"{self.directory}/log.*"):
            with open(path, encoding="ascii") as f:
                for line in f:
                    fields = line.split()
                    if len(fields) < 6:
                        continue  # the last, which is not whole
                    at = int(fields[4]) + int(fields[5]) / 1e6
                    for times, (began, ended) in zip(taken, self.windows):
                        if began <= at < ended:
                            times.append(int(fields[2]))
            os.unlink(path)
        if not alive or not all(taken):
            raise Broken("pgbench ended early")
        return [(len(times) / (ended - began), sorted(times)[len(times) * 99 // 100], len(times))
                for times, (began, ended) in zip(taken, self.windows)]


class Redis(Daemon):
    """GETs by redis-benchmark, which runs once for each window."""

    name, what = "redis", f"redis under redis-benchmark -t get -c {CLIENTS}"
    port = 0

    def start(self):
        self.bin = os.path.join(self.root, "usr", "bin")
        self.socket = os.path.join(self.directory, "redis.sock")
        self.serve("redis.sock", f"{self.bin}/redis-server", "--port", str(self.port),
                   "--unixsocket", self.socket, "--save", "", "--appendonly", "no", "--dir",
                   self.directory)
        self.per_second = self.gets(20000)[0]

    def gets(self, count):
        where = ("-p", str(self.port)) if self.port else ("-s", self.socket)
        out = self.run(f"{self.bin}/redis-benchmark", *where, "-t", "get", "-c", str(CLIENTS),
                       "-n", str(count), "--csv")
        line = next(line for line in csv.reader(out.splitlines()) if line[0] == "GET")
        return float(line[1]), float(line[6]) * 1e3, count

    def open(self):
        self.windows = []
        return [str(self.process.pid)]

    def window(self, seconds):
        self.windows.append(self.gets(int(self.per_second * seconds)))

    def close(self):
        return self.windows


class RedisOfTCP(Redis):
    """The same by the loopback device, for tools of connections."""

    name, what = "redis-tcp", f"redis under redis-benchmark -t get -c {CLIENTS}, by TCP"

    def start(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        super().start()


@contextlib.contextmanager
def own_cgroup():
    """A cgroup of version 2 for the server, and for nothing else."""
    mounts = [line.split()[1] for line in read("/proc/mounts").splitlines()
              if line.split()[2] == "cgroup2"]
    if not mounts:
        raise Broken("no cgroup2 is mounted here")
    path = os.path.join(mounts[0], f"plumb-bench-{os.getpid()}")
    os.mkdir(path)
    try:
        yield path
    finally:
        await_that("the server's processes end",
                   lambda: not read(os.path.join(path, "cgroup.procs")))
        os.rmdir(path)


@contextlib.contextmanager
def running(kind, root, directory):
    """A server of this KIND below DIRECTORY, ended and removed when it is no longer needed."""
    place = os.path.join(directory, kind.name)
    os.mkdir(place, 0o700)
    os.chown(place, NOBODY.pw_uid, NOBODY.pw_gid)
    with own_cgroup() as cgroup:
        daemon = kind(root, place, cgroup)
        try:
            daemon.start()
            yield daemon
        finally:
            daemon.end()
            shutil.rmtree(place)
