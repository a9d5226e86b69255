#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Containers and pods: known numbers of calls in real cgroups, called as runtimes call them, and
# files as the kubelet and Docker write them, in a mount namespace of this test.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
((EUID == 0)) || { echo "1..0 # SKIP tracing takes root"; exit 0; }
if [[ -z ${PLUMB_INSIDE:-} ]]; then
	unshare --mount true 2>/dev/null || { echo "1..0 # SKIP no mount namespace can be made"; exit 0; }
	PLUMB_INSIDE=1 exec unshare --mount "$0"
fi
top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[[ -n $top ]] || { echo "1..0 # SKIP no cgroup2 is mounted"; exit 0; }
mount -t tmpfs tmpfs /var/log && mount -t tmpfs tmpfs /var/lib || exit 1

build=$PWD/${PLUMB_BIN:-build/bin} tests=$PWD/${PLUMB_BIN:-build/bin}
tests=${tests%/bin}/tests
work=$(mktemp -d)
cg=$top/plumb-containers.$$
trap 'rm -rf "$work"; find "$cg" -depth -type d -exec rmdir {} +' EXIT

# --- two containers of Docker, a pod with two, one of which is run again later, and look-alikes ---
id() { printf "$1%.0s" {1..32}; } # an id of 64 digits, of two
uid=0c5f8f0e-5f1b-4f0c-9d3b-2a6a1de0b6d1
web=system.slice/docker-$(id a1).scope
dark=docker/$(id b2)
pod=kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${uid//-/_}.slice
app=$pod/cri-containerd-$(id c3).scope
again=$pod/cri-containerd-$(id d4).scope
side=$pod/cri-containerd-$(id e5).scope
conmon=machine.slice/libpod-conmon-$(id f6).scope
mkdir -p "$cg"/{"$web"/{init.scope,app.service},"$dark","$app","$again","$side","$conmon"}

named() {
	mkdir -p "/var/lib/docker/containers/$(id a1)" "/var/log/pods/shop_cart-0_$uid/app" /var/log/containers
	echo '{"ID":"x","Name":"/web"}' >"/var/lib/docker/containers/$(id a1)/config.v2.json"
	for i in c3 d4; do
		ln -s nowhere "/var/log/containers/cart-0_shop_app-$(id $i).log"
	done
}

# calls_in CGROUP CALLS
calls_in() {
	# shellcheck disable=SC2016 # the inner shell expands it
	sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" -n plumb-cont "$3" getppid' sh "$cg/$1" "$tests/calls" "$2" >>"$work/truth"
}
all_call() {
	calls_in "$web/init.scope" 101
	calls_in "$web/app.service" 1009
	calls_in "$dark" 211
	calls_in "$app" 307
	calls_in "$again" 401
	calls_in "$side" 503
	calls_in "$conmon" 17
}

# traced NAME TOOL OPTION... - while all make their calls
tools=()
attach() {
	local name=$1
	shift
	: >"$work/$name.err"
	"$build/$1" --no-calibrate -j -c plumb-cont "${@:2}" >"$work/$name.json" 2>"$work/$name.err" &
	tools+=($!)
	until grep -q tracing "$work/$name.err" || ! kill -0 $! 2>/dev/null; do sleep 0.1; done
}
detach() {
	kill -INT "${tools[@]}"
	wait "${tools[@]}"
	tools=()
}
rows() { gojq -cs "[.[].rows // [] | .[] | [(.key | $1), .count]] | group_by(.[0]) | map([.[0][0], (map(.[1]) | add), length]) | sort" "$work/$2.json"; }

attach container syscall-count -s getppid -b container
attach pod syscall-count -s getppid -b pod
attach both syscall-latency -s getppid -b pod,container
attach split syscall-latency -s getppid -b container,cgroup
attach ids syscall-count -s getppid -b container,cgroup_id
attach interval syscall-latency -s getppid -b container 0.2
attach stacks func-stack -b container t:raw_syscalls:sys_enter
# Only now is there a name: the tools are confined.
named
attach of-web syscall-count -s getppid -b cgroup -g container:web
attach of-id syscall-count -s getppid -b container -g "container:$(id b2 | head -c 12)"
attach of-app syscall-count -s getppid -b container -g container:shop/cart-0/app
attach of-pod syscall-count -s getppid -b container -g pod:shop/cart-0
attach of-uid syscall-count -s getppid -b pod -g "pod:$uid,/${cg##*/}/$conmon"
all_call
detach

evidence "$work"/{container,pod,both,interval}.err "$work/container.json"
cart=shop/cart-0
short=$(id e5 | head -c 12)
b2=$(id b2 | head -c 12)
all="[[\"-\",17,1],[\"$b2\",211,1],[\"$cart/app\",708,1],[\"$cart/$short\",503,1],[\"web\",1110,1]]"
is "-b container: a row for each, whatever its cgroups" "$(rows .container container)" "$all"
is "-b pod: a row for each, and one for all else" "$(rows .pod pod)" "[[\"-\",1338,1],[\"$cart\",1211,1]]"
is "-b pod,container: both" "$(rows '.pod + " " + .container' both)" \
	"[[\"- -\",17,1],[\"- $b2\",211,1],[\"- web\",1110,1],[\"$cart $cart/app\",708,1],[\"$cart $cart/$short\",503,1]]"
is "-b container,cgroup: cgroups apart" "$(rows .container split)" \
	"[[\"-\",17,1],[\"$b2\",211,1],[\"$cart/app\",708,2],[\"$cart/$short\",503,1],[\"web\",1110,2]]"
is "... with their paths" "$(gojq -cs '[.[].rows // [] | .[] | select(.key.container == "web") | .key.cgroup] | sort' "$work/split.json")" \
	"[\"/${cg##*/}/$web/app.service\",\"/${cg##*/}/$web/init.scope\"]"
is "-b container,cgroup_id: the same" "$(rows .container ids)" \
	"[[\"-\",17,1],[\"$b2\",211,1],[\"$cart/app\",708,2],[\"$cart/$short\",503,1],[\"web\",1110,2]]"
is "intervals add up" "$(rows .container interval | gojq -c 'map(.[:2])')" "$(gojq -c 'map(.[:2])' <<<"$all")"
is "no interval has a container twice" \
	"$(gojq -s 'all(.[]; .rows // [] | map(.key.container) | . == unique or (sort == unique))' "$work/interval.json")" true
like "stacks have it, too" "$(gojq -cs '[.[-1].rows[].key.container] | unique' "$work/stacks.json")" "\"$cart/app\".*\"web\""

evidence "$work"/of-{web,id,app,pod,uid}.err
is "-g container:NAME: its cgroups only" "$(rows .cgroup of-web | gojq -c 'map(.[1]) | sort')" "[101,1009]"
is "-g container:ID" "$(rows .container of-id)" "[[\"$b2\",211,1]]"
is "-g container:NAMESPACE/POD/NAME: also two of that name" "$(rows .container of-app)" "[[\"$cart/app\",708,1]]"
is "-g pod:NAMESPACE/NAME: all containers of it" "$(rows .container of-pod)" \
	"[[\"$cart/app\",708,1],[\"$cart/$short\",503,1]]"
is "-g pod:UID, beside a path" "$(rows .pod of-uid)" "[[\"-\",17,1],[\"$cart\",1211,1]]"

# --- what is not there ---
refused() {
	"$build/syscall-count" -d 0.1 -g "$1" >"$work/refused" 2>&1
	echo $? "$(<"$work/refused")"
}
evidence "$work/refused"
is "no such pod: status 1, and nothing of others" "$(refused pod:shop/other)" \
	"1 syscall-count: --cgroup pod:shop/other: no cgroup of such a pod; NAMESPACE/NAME or its UID"
is "no such container" "$(refused container:other)" "1 syscall-count: --cgroup container:other: no cgroup of such a container"
is "a container that is none: conmon" "$(refused "container:$(id f6)" | head -c 1)" 1
is "the arguments are right, whatever is there" \
	"$("$build/syscall-count" --check-arguments -g pod:shop/other -b pod,container 2>&1; echo $?)" 0

# --- a pod that begins again in the same cgroup is followed ---
find "$cg/$pod" -depth -type d -exec rmdir {} +
mkdir -p "$cg/$pod"
attach followed syscall-count -s getppid -b container -g pod:shop/cart-0
rmdir "$cg/$pod"
mkdir "$cg/$pod"
for ((i = 0; i < 100; i++)); do
	grep -q 'made again' "$work/followed.err" && break
	sleep 0.1
done
mkdir "$cg/$app"
calls_in "$app" 97
detach
evidence "$work/followed.err"
is "a pod whose cgroup is made again is followed" "$(rows .container followed)" "[[\"$cart/app\",97,1]]"
done_testing
