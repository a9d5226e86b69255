# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# probe-check: our tools' own targets, what may not be probed, what was inlined, and what is silent.

# judge NAME ARG... - its JSON
judge() {
	judged=$1
	shift
	probe-check -j "$@" >"$judged.json" 2>"$judged.err"
	echo $? >"$judged.status"
}

known=/sys/kernel/tracing/available_filter_functions
blacklist=/sys/kernel/debug/kprobes/blacklist

# "KIND NAME", ten of each: functions of the kernel itself, of a plain name, sorted out by its own lists alone.
find_specimens() {
	awk -v known="$known" -v blacklist="$blacklist" '
		FILENAME == known { traced[$1] = 1; next }
		FILENAME == blacklist { barred[$2] = 1; next }
		$3 == "_stext" { inside = 1; next }
		$3 == "_etext" { inside = 0 }
		inside && NF == 3 && $2 ~ /^[tT]$/ && $3 ~ /^[a-z][a-z_0-9]*$/ { n[$3]++; alias[$1]++; at[$3] = $1 }
		END {
			for (name in n) {
				if (n[name] > 1)
					kind = (name in traced) && !(name in barred) ? "twice" : ""
				else if (alias[at[name]] > 1)
					kind = ""
				else if (name in barred)
					kind = "barred"
				else
					kind = name in traced ? "" : "notrace"
				if (kind && ++some[kind] <= 10)
					print kind, name
			}
		}' "$known" "$blacklist" /proc/kallsyms
}

# "taken NAME", "refused NAME": parts that the compiler split off, and whether kprobe_events takes them.
try_cold() {
	events=/sys/kernel/tracing/kprobe_events
	awk 'NF == 3 && $3 ~ /^[a-z_0-9]+[.]cold$/ { n[$3]++ } END { for (name in n) if (n[name] == 1) print name }' \
		/proc/kallsyms | sort | awk 'NR % 89 == 5' | while read -r name; do
		if echo "p:plumb_cold $name" 2>/dev/null >>"$events"; then
			echo "taken $name"
			echo "-:plumb_cold" >>"$events"
		else
			echo "refused $name"
		fi
	done
}

# each_hook TOOL ARG... - what it says that it hooks, by each mechanism
each_hook() {
	hooking=$1
	shift
	for mech in $("$hooking" --mechanism '' 2>&1 | sed -n 's/.*known: //p'); do
		"$hooking" "--mechanism=$mech" --no-calibrate -d 0.05 -j "$@" >"hooks-$hooking-$mech.json" 2>/dev/null
	done
}

run() {
	uname -r >kernel
	[ -e /sys/bus/event_source/devices/kprobe/type ] && echo kprobe >kprobes
	judge own --tool skb-alloc --tool syscall-count --tool syscall-latency --tool tcp-sendmsg-lat --tool func-latency \
		--tool func-count --tool func-stack --tool syscall-slower --tool syscall-breakdown --tool runq-latency \
		--tool offcpu-time --tool cpu-profile
	each_hook tcp-sendmsg-lat
	each_hook syscall-count
	skb-alloc --no-calibrate -d 0.05 -j >hooks-skb-alloc.json 2>/dev/null
	syscall-latency --no-calibrate -d 0.05 -j >hooks-syscall-latency.json 2>/dev/null
	runq-latency --no-calibrate -d 0.05 -j >hooks-runq-latency.json 2>/dev/null
	offcpu-time --no-calibrate -d 0.05 -j >hooks-offcpu-time.json 2>/dev/null
	each_hook syscall-slower 1s
	# 6.1 takes it, and hangs.
	func-latency --mechanism=fentry --no-calibrate -d 0.05 __rcu_read_lock >rcu.out 2>rcu.err
	echo $? >rcu.status
	: >specimens
	if [ -r "$known" ] && [ -r "$blacklist" ]; then
		find_specimens >specimens
		try_cold >>specimens
	fi
	# shellcheck disable=SC2046 # words
	judge names k:vfs_llseek k:ksys_lseek k:null_lseek k:finish_task_switch k:start_kernel s:openat s:cachestat \
		$(sed 's/.* /k:/' specimens)
	# Somebody has to call what is waited for: lseek(2), which is ksys_lseek, in which vfs_llseek may stand.
	while :; do calls 100000 lseek >/dev/null 2>&1; done &
	started="$started $!"
	judge live --live 2 k:vfs_llseek k:ksys_lseek s:lseek t:raw_syscalls:sys_exit t:syscalls:sys_enter_swapoff
}

# verdict NAME TARGET REGEX
verdict() {
	evidence "$1.json" "$1.err"
	like "$2 is $3" "$(jq -r --arg t "$2" '.checks[] | select(.target == $t).verdict' "$1.json")" "^($3)\$"
}

# kind KIND REGEX - of all such specimens
kind() {
	evidence names.json names.err specimens
	holds "what the kernel's lists have as $1 is $2" names.json '
		($names | split("\n") | map(select(startswith("\($kind) ")) | "k:" + split(" ")[1])) as $these
		| ($these | length) > 0
			and all($last.checks[] | select(.target | IN($these[])); .verdict | test("^(\($want))$"))' \
		--arg kind "$1" --arg want "$2" --arg names "$(cat specimens)"
}

own_targets() {
	evidence own.json own.err
	unable='[]'
	[ -s hooks-skb-alloc.json ] || unable='["skb-alloc"]' # it takes functions, and they may be refused
	is "the targets of our own tools are fine, but for a tool that cannot work here" "$(cat own.status)" \
		"$([ "$unable" = '[]' ] && echo 0 || echo 3)"
	holds "each tool's are" own.json '($last.tools | length) == 12 and [$last.tools[] | select(.ok | not).tool] == $unable' \
		--argjson unable "$unable"
	# Each mechanism that was forced holds if, and only if, the tool is said to work by it.
	is "the mechanisms that are said to hold are those that do" \
		"$(jq -r '.tools[] | select(.tool | IN("tcp-sendmsg-lat", "syscall-count", "syscall-slower")) | .tool as $tool | .mechanisms[]
			| select(.ok and .mechanisms != "all") | ((.mechanisms | split(", ")) - (.refused | split(", ")))[]
			| "hooks-\($tool)-\(.).json"' own.json | sort)" \
		"$(find . -name 'hooks-tcp-sendmsg-lat-*' -size +0 -o -name 'hooks-syscall-count-*' -size +0 \
			-o -name 'hooks-syscall-slower-*' -size +0 | sed 's|^[.]/||' | sort)"
	for hooks in hooks-*.json; do
		[ -s "$hooks" ] || continue
		evidence "$hooks" own.json
		is "${hooks%.json}: the tool hooks what its list says" "$(jq -r '.mechanism.hooks[]' "$hooks" | sort -u)" \
			"$(jq -r --arg tool "$(jq -r .tool "$hooks")" --arg mech "$(jq -r .mechanism.name "$hooks")" \
				'.tools[] | select(.tool == $tool).mechanisms[] | select(.mechanisms | split(", ") | index($mech))
				| .targets | split(" ")[] | split(":")[-1]' own.json | sort)"
	done
}

check() {
	own_targets
	evidence rcu.err
	like "fentry is not put on what BPF itself calls, if there is such a function" \
		"$(cat rcu.status rcu.err | tr '\n' ' ')" '^(77 .*fentry refused|1 .*no .*function)'
	if [ -s specimens ]; then
		kind barred blacklisted
		kind notrace notrace
		kind twice 'duplicated|inlined|partly inlined'
		kind taken 'no BTF'
		if grep -q ^refused specimens; then
			case $(jq -r .kernel names.json | tail -n 1) in
			5.10.*) known_to_fail "5.10 refuses some parts whose functions it traces" ;;
			esac
			kind refused 'notrace|blacklisted'
			known_to_fail ''
		fi
	else
		skip "what the kernel's own lists say" "they cannot be read here"
	fi
	verdict names k:start_kernel gone
	# Where there are no kprobes, fentry is refused too on the machines that this runs on.
	verdict names k:null_lseek "$([ -e kprobes ] && echo ok || echo refused)"
	verdict names s:openat ok
	case $(cat kernel) in
	5.10.*)
		verdict names k:finish_task_switch ok
		# Probes that other groups had on it now and then leave its address in the kernel's data, which is
		# taken for a way to call it. (Of the image, without them, tests/vm/image.t knows more.)
		verdict names k:vfs_llseek 'inlined|ok'
		holds "k:vfs_llseek has no calls" names.json '$last.checks[] | select(.target == "k:vfs_llseek").calls == 0'
		verdict live k:vfs_llseek 'inlined|attached but silent'
		verdict names s:cachestat gone
		;;
	6.1.*)
		verdict names k:finish_task_switch renamed
		verdict names k:vfs_llseek 'maybe inlined'
		verdict live k:vfs_llseek 'attached but silent'
		verdict names s:cachestat gone
		;;
	6.12.* | 7.*)
		verdict names k:finish_task_switch renamed
		verdict names k:vfs_llseek 'maybe inlined'
		verdict live k:vfs_llseek 'attached but silent'
		verdict names s:cachestat ok
		;;
	esac
	if jq -e '.checks[] | select(.target == "k:ksys_lseek").fires' live.json >/dev/null; then
		verdict live k:ksys_lseek ok
	else
		skip "functions that are called fire" "no kprobes hold here"
	fi
	verdict live s:lseek ok
	verdict live t:raw_syscalls:sys_exit ok
	verdict live t:syscalls:sys_enter_swapoff 'attached but silent'
	evidence live.json
	holds "and are counted" live.json '[$last.checks[] | select(.target == "s:lseek").fires] | .[0] > 1000'
}
