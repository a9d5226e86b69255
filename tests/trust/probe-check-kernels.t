#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# probe-check on images of kernels that do not run, and what it says of two kernels.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/trust/probe-check.sh

((EUID == 0)) || { skip "two kernels" "tracefs is for root"; done_testing; }

# --- two kernels ---

"$bin/probe-check" --save now >"$out" 2>"$err"
is "a snapshot is saved" "$? $(wc -c <"$out") $(ls)" "0 0 $(ls)"
claim "it has all tracepoints" test "$(jq '.tracepoints | length' now)" -ge 500
claim "and our tools' functions" jq -e '.functions.tcp_sendmsg.arguments == ["struct sock *sk", "struct msghdr *msg", "size_t size"]' now
"$bin/probe-check" --save again k:vfs_getattr >/dev/null 2>&1
claim "and those that are named" jq -e '.functions.vfs_getattr.returns == "int"' again
claim "else it is the same each time" cmp <(jq -S 'del(.functions.vfs_getattr)' again) <(jq -S . now)
checks 0 --against now
holds "nothing differs from itself" "$out" '$last.differences == [] and $last.summary.differences == 0'
jq '.tracepoints["sched:sched_switch"][1].offset += 8
	| .functions.tcp_sendmsg |= (.arguments[2] = "int size" | .types[2] = "int")
	| .functions.lost = {} | .tracepoints["no:such"] = []' now >edited
checks 3 --against edited
is "each difference is said once" "$(jq -r '.differences[] | "\(.target) \(.what)"' "$out" | sort | sed 's/from offset.*//')" \
	"k:lost gone
k:tcp_sendmsg argument 2 was int size, is size_t size
t:no:such gone
t:sched:sched_switch field $(jq -r '.tracepoints["sched:sched_switch"][1].name' now) moved "
"$bin/probe-check" --against edited >"$out" 2>"$err"
is "a table is no wider than a terminal" "$(awk 'length > 80' "$out")" ""
jq 'del(.tracepoints, .prototypes)' now >few
checks 0 --against few
holds "what is missing in a snapshot is said" "$out" '$last.not_compared == {prototypes: "the snapshot has none",
	tracepoints: "the snapshot has none, as its kernel did not run"} and ($last.compared | keys) == ["by_name", "functions", "records"]'
jq '.functions = {} | .tracepoints = {} | .records = {} | .prototypes = {}' now >empty
refused 1 'empty: there is nothing in it' --against empty
jq '.kernel = "\u001b[2Jx"' now >hostile
"$bin/probe-check" --against hostile >"$out" 2>"$err"
is "what a snapshot says has no control characters" "$(tail -n 1 "$out")" "0 differences between \\x1b[2Jx and $(uname -r)"
ln -s now link
"$bin/probe-check" --save link
claim "a link stays one" test -L link
mkfifo fifo
cat fifo >through &
reader=$!
"$bin/probe-check" --save ./fifo >"$out" 2>"$err"
is "a snapshot goes through a pipe" "$?" 0
wait "$reader"
claim "as it goes to a file" cmp now through
claim "and the pipe stays one" test -p fifo

# --- kernels that do not run ---

image() {
	local line
	line=$("$top/scripts/kernels.sh" "$@" 2>/dev/null) || return
	echo "${line##*$'\t'}"
}
for kernel in 5.10 6.1 6.12 7; do
	if ! path=$(image "$kernel"); then
		skip "an image of $kernel" "the archive has no such kernel"
		continue
	fi
	"$bin/probe-check" --image "$path" --save "of-$kernel" k:tcp_recvmsg >/dev/null 2>&1
	is "prototypes of an image of $kernel are saved" "$?" 0
	checks 3 --image "$path" k:tcp_sendmsg k:vfs_llseek k:null_lseek k:finish_task_switch k:do_int3 k:notify_die k:trace_clock_local \
		k:start_kernel k:no_such_function k:migrate_disable s:openat s:cachestat t:sched:sched_switch t:no:such \
		r:sched_switch r:sched_swicht r:pelt_cfs_tp
	verdict k:tcp_sendmsg ok
	why k:tcp_sendmsg 'more may be inlined [(]no debugging information[)]'
	verdict k:null_lseek ok null 0
	verdict k:do_int3 blacklisted
	verdict k:notify_die blacklisted
	verdict k:trace_clock_local notrace
	verdict k:start_kernel gone
	verdict k:no_such_function gone
	verdict s:openat ok
	verdict t:sched:sched_switch ok
	verdict t:no:such gone
	verdict r:sched_switch ok
	verdict r:sched_swicht gone
	[[ $kernel == 5.10 ]] || verdict r:pelt_cfs_tp ok # has no event in tracefs
	case $kernel in
	5.10) verdict k:vfs_llseek inlined null 0; verdict k:finish_task_switch ok ;;
	*)
		verdict k:vfs_llseek 'maybe inlined' null 1
		why k:vfs_llseek 'ksys_lseek has the same instructions and does not call it'
		verdict k:finish_task_switch renamed
		;;
	esac
	[[ $kernel != 6.* ]] || why k:migrate_disable 'kprobes take it; fentry is refused'
	case $kernel in
	5.10 | 6.1) verdict s:cachestat gone ;;
	*) verdict s:cachestat ok ;;
	esac
	for tool in skb-alloc tcp-sendmsg-lat; do
		checks 0 --image "$path" --tool "$tool"
	done
done
if [[ -e of-5.10 ]] && path=$(image 6.12); then
	checks 3 --image "$path" --against of-5.10
	is "tcp_recvmsg took another argument on 5.10 than on 6.12" \
		"$(jq -r '.differences[] | select(.target | startswith("k:tcp")) | "\(.class) \(.target) \(.what)"' "$out")" \
		"breaking k:tcp_recvmsg argument 3, int nonblock, is gone"
fi
# What the kernels' sources say of their tracepoints; Debian's 5.10 gives block_rq_issue no queue either.
if [[ -e of-5.10 ]] && path=$(image 7); then
	checks 3 --image "$path" --against of-5.10
	for difference in "added raw_tp:sched_switch argument 3 is new: unsigned int" \
		"breaking raw_tp:block_bio_queue argument 0, struct request_queue *, is gone" \
		"breaking raw_tp:block_getrq argument 2, int, is gone" "breaking raw_tp:block_sleeprq gone" \
		"added raw_tp:kfree_skb argument 2 is new: enum skb_drop_reason" \
		"breaking record:block_rq field rwbs had 8 bytes, has 10, and is char[10]" \
		"moved record:block_rq field comm moved from offset 40 to 44" "added record:block_rq field ioprio is new"; do
		claim "from 5.10 to 7: $difference" jq -e --arg text "$difference" \
			'.differences | map("\(.class) \(.target) \(.what)") | index($text)' "$out"
	done
	holds "and nothing is said of what is the same" "$out" \
		'[$last.differences[] | select(.target | IN("raw_tp:block_rq_issue", "raw_tp:sched_process_fork", "raw_tp:sys_enter"))] == []'
	holds "what was compared is counted" "$out" '$last.compared.prototypes == $n and $last.compared.records > 300
		and $last.not_compared == {tracepoints: "only a running kernel has them"}' --argjson n "$(jq '.prototypes | length' of-5.10)"
	holds "so are the classes" "$out" '$last | .summary as $sum | .differences
		| all("breaking", "moved", "added", "noise"; . as $class | $sum[$class] == ([$last.differences[] | select(.class == $class)] | length))'
	checks 0 --image "$path" --against of-7
	holds "a kernel does not differ from itself" "$out" '$last.differences == []'
	jq '.records.sched_switch[0].offset += 8' of-7 >edited
	checks 4 --image "$path" --against edited
	jq '.records.sched_switch[0].signed |= not | del(.prototypes.sched_switch[3])' of-7 >edited
	checks 0 --image "$path" --against edited
	holds "noise and what is new break nothing" "$out" '[$last.differences[].class] == ["added", "noise"]'
	jq '.records.sched_switch[1].size = 8' of-7 >edited
	checks 3 --image "$path" --against edited
fi
if path=$(image --arch=arm64 6.12); then
	"$bin/probe-check" --image "$path" --save of-arm64 >/dev/null 2>&1
	is "a snapshot names the architecture of its kernel" "$? $(jq -r .arch of-arm64)" "0 aarch64"
	if [[ $(uname -m) != aarch64 && -e of-6.12 ]]; then
		checks 3 --image "$path" --against of-6.12
		is "which may differ, and no function but those of the architecture" \
			"$(jq -r '.differences[] | select(.target | test("^(arch$|k:)")) | select(.target | test("__x64_|:__do_sys_|:allocate_slab$") | not) | "\(.class) \(.target) \(.what)"' "$out")" \
			"breaking arch was $(uname -m), is aarch64"
		checks 1 --image "$path" s:read
		verdict s:read unknown
		why s:read "of this machine's architecture"
	fi
else
	skip "an image of another architecture" "the archive has no such kernel"
fi
done_testing
