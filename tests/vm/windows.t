#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Windows under systemd, in an emulated machine: begun by a timer in a zone, ended by themselves, by
# hand, and by systemd if a tool hangs; what they leave; which files are kept.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
. tests/windows/lib.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage_root
cp tests/windows/machine.sh "$root/machine.sh"

# Each tool, a second long: its command line. Those that are replaced below come back for it.
mkdir -p "$root/real" "$root/usr/local/bin"
cp "$root"/usr/sbin/{skb-alloc,tcp-sendmsg-lat} "$root/real"
cp build/tests/{userfuncs,usdt} "$root/usr/local/bin"
declare -A of=([event-rate]=page-faults [func-count]='t:sched:sched_switch' [func-latency]=vfs_read [func-stack]='t:sched:sched_switch'
	[syscall-breakdown]='-s read' [syscall-slower]=1ms [user-func-latency]=/usr/local/bin/userfuncs:user_leaf
	[usdt-latency]='/usr/local/bin/usdt:app:slow_begin /usr/local/bin/usdt:app:slow_end')
each=()
for page in tools/*/*.rst; do
	grep -q "manual/common" "$page" || continue
	tool=$(basename "$page" .rst)
	[[ ${CHECK_ALL-} || $tool == @(offcpu-time|slab-latency|user-func-latency) ]] || continue # a tool takes 5 s
	each+=("$tool")
	quick=$(build/bin/"$tool" --help | grep -o -m 1 -e --no-calibrate)
	window "each-$tool" "WHEN=2099-01-01 00:00" ZONE=Asia/Kolkata FOR=1s "COMMAND=$tool -j $quick ${of[$tool]-}"
done

# Tools that hang, and that end with status 3, as those of plumb do not when they are told to.
checks='[ "$1" != --check-arguments ] || exit 0'
printf '%s\n' '#!/bin/sh' "$checks" 'trap "" TERM' 'echo "{}"' 'while :; do sleep 1; done' >"$root/usr/sbin/skb-alloc"
printf '%s\n' '#!/bin/sh' "$checks" 'head -c 1000 /dev/zero | tr "\0" "{"' 'exit 3' >"$root/usr/sbin/tcp-sendmsg-lat"
window boot "WHEN=*-*-* 09:05" ZONE=Asia/Kolkata UNTIL=09:25 "COMMAND=syscall-latency -j"
window bad "WHEN=*-*-* 09:05" ZONE=Asia/Kolkata UNTIL=09:25 "COMMAND=syscall-latenzy -j"

status=0
scripts/vm.sh --timeout=900 --mem=1536 --systemd="$root" 6.1 -- /machine.sh >"$work/tar" 2>"$work/err" || status=$?
((status != 77)) || { echo "1..0 # SKIP the archive has no 6.1"; exit 0; }
evidence "$work/err"
is "the machine runs to its end" "$status" 0
cd "$work" && tar -x -f tar || exit 1

evidence generator.journal units boot.show
is "a timer begins at boot, in its zone" "$(sed -E 's/20..-..-../DATE/; s/=... /=/' boot.show)" \
	$'NextElapseUSecRealtime=DATE 03:35:00 UTC\nActiveState=active'
is "a configuration that is refused is in the journal, with file and line" "$(<generator.journal)" \
	"/etc/plumb/windows/bad.conf:4: not a tool of plumb that traces for a duration: syscall-latenzy"
is "... and no unit" "$(grep -v @each- units | sort | paste -s -d ' ')" "plumb-window@boot.service plumb-window@boot.timer"

# shown NAME - how its service ended
shown() { sort "$1.show" | paste -s -d ' '; }
evidence soon.{show,files,journal,jsonl}
is "a window ends by itself" "$(shown soon)" "ExecMainCode=1 ExecMainStatus=0 Result=success RuntimeMaxUSec=34s"
# In a busy machine the timer may elapse later, and the runner start later than that; never before.
claim "... and was begun by its timer" test "$(<soon.triggered)" -ge "$(<soon.at)" -a "$(<soon.triggered)" -le $(($(<soon.at) + 60))
is "... in the zone, when it was to begin" "$(awk -v at="$(<soon.name)" '/[+]0530.jsonl$/ && $0 >= at { n++ } END { print n }' soon.files)" 1
holds "its output has all reports, the last one final" soon.jsonl \
	'($all | length) >= 4 and ([$all[].final] | (.[-1] == true and all(.[:-1][]; . == false)))'
holds "... of at least the window's length" soon.jsonl '[$all[0].start, $last.end | sub("[.].*"; "Z") | fromdate] | .[1] - .[0] >= 4'
holds "... of the threads that its quoted word matches" soon.jsonl \
	'$last.ledger.recorded > 20 and ([$all[].rows[].key.comm] | unique == ["worker"])'
is "files that are too old, and the oldest of those that are too large together, are deleted, and no others" \
	"$(comm -23 <(sort soon.before) <(sort soon.files))" "$(sort soon.doomed)"
is "... and a file that is not ours stays" "$(grep -c '^notes$' soon.files)" 1
is "only root reads them" "$(<soon.mode)" $'600 root\n700 root'

evidence long.{show,files,journal,status}
is "the tool had two capabilities and has none left, no new privileges and a filter of system calls" \
	"$(tr '\t\n' '  ' <long.status)" "Uid: 0 0 0 0 CapEff: 0000000000000000 CapBnd: 000000c000000000 NoNewPrivs: 1 Seccomp: 2 "
is "a window that is stopped by hand succeeds" "$(shown long)" "ExecMainCode=1 ExecMainStatus=0 Result=success RuntimeMaxUSec=1h 30s"
like "... and its output is whole" "$(<long.files)" '^20[0-9T+-]*\.jsonl$'
holds "... to its last report" long.jsonl '$last.final == true and $last.ledger.recorded > 0'

evidence hang.{show,files,journal,times}
is "a tool that hangs is killed" "$(shown hang)" "ExecMainCode=2 ExecMainStatus=9 Result=timeout RuntimeMaxUSec=31s"
took=$(awk -F = '{ t[$1] = $2 } END { printf "%d", (t["ExecMainExitTimestampMonotonic"] - t["ExecMainStartTimestampMonotonic"]) / 1e6 }' hang.times)
echo "# after $took s"
claim "... 30 s after its window and 10 s later" test "$took" -ge 40 -a "$took" -le 90
is "... with all its processes" "$(<hang.left)" ""
like "... and its output is known to be no whole one" "$(<hang.files)" '^20[0-9T+-]*\.part$'

evidence three.{show,files,journal} lacking.{show,files,journal} large.{show,files,journal}
is "status 3 is passed on" "$(shown three)" "ExecMainCode=1 ExecMainStatus=3 Result=exit-code RuntimeMaxUSec=31s"
is "... the output kept, and files that are too many with it deleted after" \
	"$(wc -l <three.files) $(grep -c 2026-01-01 three.files)" "1 0"
is "status 77 is passed on" "$(shown lacking)" "ExecMainCode=1 ExecMainStatus=77 Result=exit-code RuntimeMaxUSec=31s"
is "... and an empty output leaves no file" "$(<lacking.files)" ""
like "... the reason is in the journal" "$(<lacking.journal)" 'cpu-profile: perf_event refused: .*perf_event_paranoid'
like "a report that would be larger than all that is kept ends its tool" "$(shown large)" '^ExecMainCode=[12] ExecMainStatus=[1-9][0-9]* Result=(signal|exit-code|core-dump)'
claim "... which wrote no more" test "$(<large.size)" -le 1024

evidence without-admin
like "one that lacks CAP_SYS_ADMIN says so" "$(<without-admin)" "slab-latency: CAP_SYS_ADMIN is missing, .*PRIVILEGES in slab-latency.8."
for tool in "${each[@]}"; do
	evidence "each-$tool".{show,journal}
	is "$tool runs in the sandbox" "$(shown "each-$tool")" "ExecMainCode=1 ExecMainStatus=0 Result=success RuntimeMaxUSec=31s"
	holds "... with its report" "each-$tool.jsonl" '$last.tool == $tool and $last.final and ($last.ledger | type) == "object"' --arg tool "$tool"
done
evidence records records.journal
jq -c '(.MESSAGE | fromjson) + {facility: .SYSLOG_FACILITY}' records.journal >records
holds "the journal has the records of a run, as authpriv's" records \
	'[$all[] | .event] == ["begin", "attach", "end"] and all($all[]; .facility == "10" and .schema == "plumb-audit/1")'
done_testing
