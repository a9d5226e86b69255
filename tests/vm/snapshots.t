#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# probe-check --save on one kernel, --against on a later one: what is known to differ is said.  The oldest
# against the newest; with CHECK_ALL (scripts/check.sh --all) each against the next.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
functions=(k:tcp_recvmsg k:__napi_alloc_skb k:blk_account_io_done k:vfs_read)

# KERNEL OLD - its snapshot to $work/KERNEL, and if there is an older one what has changed since to $work/KERNEL.json
boot() {
	local status=0 options=()
	[[ -z $2 ]] || options=("--file=$work/$2:/old")
	scripts/vm.sh "${options[@]}" "$1" -- sh -c '
		probe-check --save /new "$@" >/dev/null
		[ ! -e /old ] || probe-check -j --against /old >&2
		cat /new' sh "${functions[@]}" >"$work/$1" 2>"$work/$1.json" || status=$?
	((status != 77)) || { skip "kernel $1" "the archive has none"; return 1; }
	evidence "$work/$1.json"
	is "$1 is booted, and its snapshot taken" "$status" 0
}

# KERNEL TEXT... - these are said of it
said() {
	local kernel=$1 text
	shift
	for text; do
		claim "on $kernel: $text" jq -e --arg text "$text" \
			'[.differences[] | "\(.target) \(.what)" | startswith($text)] | any' "$work/$kernel.json"
	done
	holds "on $kernel: what is the same is not said" "$work/$kernel.json" \
		'$last.differences | length > 0 and all(.[]; .target | IN("k:vfs_read", "k:tcp_sendmsg", "k:__alloc_skb") | not)'
}

old=
for kernel in 5.10 ${CHECK_ALL:+6.1 6.12} 7; do
	boot "$kernel" "$old" || continue
	case $old-$kernel in
	5.10-6.1)
		said 6.1 "k:tcp_recvmsg argument 3, int nonblock, is gone" \
			"t:kmem:kmem_cache_alloc_node gone" "t:skb:kfree_skb field reason is new"
		;;
	6.1-6.12)
		said 6.12 "k:__napi_alloc_skb gone" "t:skb:kfree_skb field rx_sk is new" "t:skb:consume_skb field location is new"
		;;
	6.12-7)
		said 7 "k:tcp_recvmsg argument 4, int *addr_len, is gone" "k:blk_account_io_done gone" \
			"t:sched:sched_process_exit field group_dead is new"
		;;
	5.10-7)
		said 7 "k:tcp_recvmsg argument 3, int nonblock, is gone" "k:__napi_alloc_skb gone" "k:blk_account_io_done gone" \
			"t:kmem:kmem_cache_alloc_node gone" "t:skb:kfree_skb field reason is new" "t:skb:kfree_skb field rx_sk is new" \
			"t:skb:consume_skb field location is new" "t:sched:sched_process_exit field group_dead is new"
		;;
	esac
	old=$kernel
done
done_testing
