#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Calls C functions of the interpreter a known number of times.

Py_SetRecursionLimit() 1009 times, with the arguments 1000, 1001 and 1002 by turns; and
PyThread_acquire_lock_timed() in each of 8 threads 31 times, for 3 ms.

Gates: ready, go; at done all have ended; leave.
"""
import json
import os
import sys
import threading
import time

LIMITS = 1009
THREADS = 8
WAITS = 31
WAIT_US = 3000


def gate_path(name):
    directory = os.environ.get("WORKLOAD_GATES")
    return directory and os.path.join(directory, name)


def reached(name):
    path = gate_path(name)
    if path:
        with open(path, "w", encoding="ascii"):
            pass


def gate(name):
    path = gate_path(name)
    while path and not os.path.exists(path):
        time.sleep(0.001)


def wait(lock, times):
    for _ in range(WAITS):
        start = time.monotonic_ns()
        lock.acquire(timeout=WAIT_US / 1e6)
        times.append(time.monotonic_ns() - start)


def main():
    times = [[] for _ in range(THREADS)]
    locks = [threading.Lock() for _ in range(THREADS)]
    for lock in locks:
        lock.acquire()
    reached("ready")
    gate("go")
    for i in range(LIMITS):
        sys.setrecursionlimit(1000 + i % 3)
    threads = [threading.Thread(target=wait, args=both) for both in zip(locks, times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reached("done")
    gate("leave")
    every = sorted(sum(times, []))
    truth = {
        "workload": "python-calls",
        "pid": os.getpid(),
        "calls": [{"function": "PyThread_acquire_lock_timed", "argument": WAIT_US, "count": len(every), "sum": sum(every),
                   "min": every[0], "max": every[-1]}],
    }
    if "WORKLOAD_JSON" in os.environ:
        with open(os.environ["WORKLOAD_JSON"], "w", encoding="ascii") as out:
            json.dump(truth, out)
    else:
        print(json.dumps(truth))


main()
