#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Slow calls as a timeline, looked at in a browser, and as a trace for Perfetto.

# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$work"
# A thread that sleeps in 13 reads, one with a name that is no text in XML, and one that reads much.
"$top/build/bin/syscall-slower" 2ms -s read,readv,clock_nanosleep -c '*<*,sleeps,reads' -j --timeline=calls.svg \
	--perfetto=calls.json -- /usr/bin/python3 -c '
import ctypes, os, threading, time
r, w = os.pipe()

def run(name, loop):
	ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
	for i in range(13):
		loop()

zero = os.open("/dev/zero", os.O_RDONLY)
memory = bytearray(64 << 20)
threads = [threading.Thread(target=run, args=(b"<script>&\"", lambda: os.read(r, 1))),
	threading.Thread(target=run, args=(b"sleeps", lambda: (time.sleep(0.03), os.write(w, b"x")))),
	threading.Thread(target=run, args=(b"reads", lambda: (time.sleep(0.02), os.readv(zero, [memory]))))]
for t in threads:
	t.start()
for t in threads:
	t.join()
' >report 2>err
"$top/build/bin/syscall-slower" 1s -c no-such-name --timeline=none.svg --perfetto=none.json -d 0.1 >out 2>err
/usr/bin/python3 "$here/timeline.py" calls.svg calls.json report none.svg none.json
