#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# programs.md: each of its commands runs, as it stands there, under a workload that does a little of everything, and
# each of its filters finds its answer. Tools that this kernel refuses end with 77; the file says of which it may be so.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
((EUID == 0)) || { echo "1..0 # SKIP tracing takes root"; exit 0; }

top=$PWD
build=$PWD/${PLUMB_BIN:-build/bin}
page=${build%/bin}/doc/programs.md
PATH=$build:$PATH
work=$(mktemp -d)
trap 'kill "$busy" "$probes" "$counted" 2>/dev/null; wait; rm -rf "$work"' EXIT
cd "$work" || exit 1

cat >busy.py <<'END'
import ctypes, mmap, os, socket, threading, time
server = socket.create_server(("127.0.0.1", 0))
def drain():
    peer = server.accept()[0]
    threading.Thread(target=refuse, daemon=True).start()
    while peer.recv(1 << 16):
        peer.send(b"x")
def refuse():
    while True:
        server.accept()[0].close()
threading.Thread(target=drain, daemon=True).start()
lock = threading.Lock()
def hold():
    while True:
        with lock:
            time.sleep(0.01)
for _ in range(2):
    threading.Thread(target=hold, daemon=True).start()
client = socket.create_connection(server.getsockname())
libc = ctypes.CDLL("libc.so.6")
print("ready", flush=True)
while True:
    client.send(bytes(1000))
    client.recv(1)
    socket.create_connection(server.getsockname()).close()
    with open("written", "wb") as f:
        f.write(bytes(65536))
        f.flush()
        os.fsync(f.fileno())
    with open("written", "rb") as f:
        f.read()
    with mmap.mmap(-1, 1 << 20) as m:
        for at in range(0, 1 << 20, 4096):
            m[at] = 1
    libc.free(ctypes.c_void_p(libc.malloc(100) and None))
    end = time.monotonic() + 0.02
    while time.monotonic() < end:
        pass
    time.sleep(0.005)
END
python3 busy.py >ready 2>busy.err &
busy=$!
# Two USDT probes, in the loop of a workload that waits for its gate again and again.
usdt=$top/${build##"$top"/}
usdt=${usdt%/bin}/tests/usdt
(while sleep 0.3; do "$usdt" 1 >/dev/null; done) &
probes=$!
# One that probe-misses can list.
syscall-count -p "$busy" >count 2>&1 &
counted=$!
until [[ -s ready ]] || ! kill -0 $busy; do sleep 0.1; done
syscall-latency --no-calibrate -j -p "$busy" -b syscall -d 0.5 >a.json 2>a.err
syscall-latency --no-calibrate -j -p "$busy" -b syscall -d 0.5 >b.json 2>b.err

# Those whose block says so may be refused: they take probes on kernel functions, or counters.
may_be_refused() {
	sed -n "/^## $1\(:\|$\)/,/^## [a-z]/p" "$page" | grep -q '\b77\b'
}

# runs COMMAND FILTER
runs() {
	local command=${1//PID/$busy} tool=${1%% *} status=0
	[[ $tool != usdt-latency ]] || command=${command/-p $busy/}
	command=${command/BEGIN/$usdt:app:begin} command=${command/END/$usdt:app:end}
	eval "timeout 120 $command" >json 2>err || status=$?
	if ((status == 77)) && may_be_refused "$tool"; then
		like "$1: refused, and it says why" "$(<err)" "refused: ....|not usable|no such event"
		return
	fi
	[[ $tool == probe-check || $tool == trace-bias ]] && ((status == 3)) && status=0
	is "$1: exit status" "$status" 0
	is "... it is JSON, and complete" "$(jq -s 'length > 0 and (.[-1] | .final // true)' json 2>&1)" true
	jq -c "$2" json >answer 2>answer.err
	is "... | jq $2" "$(<answer.err)" ""
	claim "... finds something" test -s answer
	# What is null in each answer is not there at all.
	is "... and nothing that is not there" "$(absent)" ""
}

# By tracepoints slab-latency has no times.
counts_only() {
	jq -s -r 'if .[0].tool == "slab-latency" and .[0].mechanism.name == "raw_tracepoint" then "sum|p99" else "-" end' json
}

# The members of all answers that are null in each, but for those that may be.
absent() {
	jq -rs 'map(select(type == "object")) | [.[] | to_entries[]] | group_by(.key)[] | select(all(.value == null)) | .[0].key' answer |
		grep -vxE 'by|held_by|syscall|function|woken_by|why|refused|recursion_misses|link_missed|lost|'"$(counts_only)"
}

declare -A seen=()
while IFS= read -r line; do
	line=${line#    }
	seen[${line%% *}]=1
	evidence err json
	filter=${line#* | jq -c \'}
	runs "${line%% | jq -c *}" "${filter%\'}"
done < <(grep '^    [a-z]' "$page")
evidence
is "every tool has a command" "$(printf '%s\n' "${!seen[@]}" | sort)" "$(sed -nE 's#^\| \[([a-z-]+)\]\(tools/.*#\1#p' "$top/README.md" | sort)"
done_testing
