#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""served.py asyncio|pool REPORT: a server of HTTP, by a loop of events, or one whose threads reply to what another reads.

It prints its port, and when it is terminated, writes to REPORT what it has done on purpose, in ns: /sleep sleeps, /spin needs CPU
time, for which it may have to wait, /sync waits for the disk and perhaps a CPU.
"""
import asyncio
import concurrent.futures
import json
import os
import signal
import socket
import sys
import time

NS = 2_000_000
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n"
done = {"sleep": 0, "spin": 0, "runq": 0, "sync": 0}


def waited():
    """How long this thread has waited for a CPU, as the scheduler has it."""
    with open("/proc/thread-self/schedstat", encoding="ascii") as f:
        return int(f.read().split()[1])


def spin():
    before, end = waited(), time.thread_time_ns() + NS
    while time.thread_time_ns() < end:
        sum(range(1000))
    done["spin"] += NS
    done["runq"] += waited() - before


def sync(fd):
    os.pwrite(fd, b"x" * 4096, 0)
    wall, cpu = time.monotonic_ns(), time.thread_time_ns()
    os.fsync(fd)
    cpu = time.thread_time_ns() - cpu
    done["sync"] += time.monotonic_ns() - wall - cpu


async def serve(reader, writer):
    fd = os.open(".", os.O_TMPFILE | os.O_RDWR)
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            path = head.split()[1]
            if path == b"/sleep":
                await asyncio.sleep(NS / 1e9)
                done["sleep"] += NS
            elif path == b"/spin":
                spin()
            elif path == b"/sync":
                sync(fd)
            writer.write(REPLY)
            await writer.drain()
    except asyncio.IncompleteReadError:
        pass
    writer.close()
    os.close(fd)


async def loop():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()


def reply(connection):
    time.sleep(NS / 1e9)
    connection.sendall(REPLY)


def read(connection, pool):
    while connection.recv(4096):
        pool.submit(reply, connection)
    connection.close()


def pooled():
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with concurrent.futures.ThreadPoolExecutor(8) as readers, concurrent.futures.ThreadPoolExecutor(8) as pool:
        while True:
            connection, _ = listener.accept()
            readers.submit(read, connection, pool)


if sys.argv[1] == "asyncio":
    asyncio.run(loop())
    with open(sys.argv[2], "w", encoding="ascii") as f:
        json.dump(done, f)
else:
    pooled()
