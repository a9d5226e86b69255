#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The image: one file, a user who is not root, a trace of a neighbour with the least privileges; and the DaemonSet has
# nothing that Kubernetes does not know, and the same privileges.

cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
((EUID == 0)) || { echo "1..0 # SKIP only root can make it"; exit 0; }
for command in buildah podman runc setcap; do
	command -v "$command" >/dev/null || { echo "1..0 # SKIP there is no $command"; exit 0; }
done
work=$(mktemp -d)
export STORAGE_DRIVER=vfs
# A host may forbid to raise limits.
contained() {
	podman --root "$work/root" --runroot "$work/run" --runtime runc --cgroup-manager cgroupfs "$@"
}
run_image() {
	contained run --rm --ulimit nofile=1024:1024 --ulimit nproc=512:512 \
		--network none --read-only --cap-drop all "$@"
}
neighbour=
# shellcheck disable=SC2317 # the trap calls it
clean() {
	[[ ! $neighbour ]] || kill -9 "$neighbour" 2>/dev/null
	contained unmount --all >/dev/null 2>&1
	rm -rf "$work"
}
trap clean EXIT

for n in 1 2; do
	scripts/package/image --single=build/single/plumb --output="$work/$n" >"$work/log" 2>&1
	is "the image is made" $? 0 || cat "$work/log" >&2
done
archive=$(echo "$work"/1/plumb-*-image.tar)
claim "twice the same" cmp "$archive" "${archive/\/1\//\/2\/}"
mkdir "$work/oci"
tar -xf "$archive" -C "$work/oci"
layer=$(for blob in "$work"/oci/blobs/sha256/*; do tar -tf "$blob" 2>/dev/null; done | grep -v '/$' | sort | paste -s -d ' ')
like "it is one program, and licences" "$layer" '^(licenses/[A-Za-z0-9.-]+ )+plumb$'
contained load -q -i "$archive" >"$work/log" 2>&1
is "podman takes it" $? 0 || cat "$work/log" >&2
image=$(contained images --format '{{.Repository}}:{{.Tag}}' | head -n 1)
config=$(contained inspect --type image "$image")
is "its user is not root" "$(jq -r '.[0].User' <<<"$config")" 65534:65534
is "its labels say what it is" "$(jq -r '.[0].Labels | [.["org.opencontainers.image.title"], .["org.opencontainers.image.version"]] | join(" ")' <<<"$config")" \
	"plumb $(sed -nE 's/^VERSION *:= *//p' Makefile)"

privileges=(--cap-add bpf --cap-add perfmon --security-opt seccomp=unconfined --pid host)
mkdir "$work/gates"
WORKLOAD_GATES=$work/gates WORKLOAD_JSON=$work/truth build/tests/calls 10007 getppid >/dev/null 2>&1 &
neighbour=$!
for _ in $(seq 100); do [[ ! -e $work/gates/ready ]] || break; sleep 0.05; done
run_image "${privileges[@]}" "$image" syscall-latency -j --no-calibrate -p "$neighbour" >"$work/out" 2>"$work/err" &
tool=$!
for _ in $(seq 200); do ! grep -q 'tracing …' "$work/err" || break; sleep 0.05; done
: >"$work/gates/go"
wait "$neighbour"
neighbour=
wait "$tool"
evidence "$work/out" "$work/err"
is "it traces a neighbour" "$? $(jq -s 'last | [.rows[] | select(.key.syscall == "getppid").count] | add' "$work/out")" "0 10007"
like "without the capabilities it does not start" "$(run_image "$image" --version 2>&1)" 'not permitted'

if /usr/bin/python3 -c 'import kubernetes' 2>/dev/null; then
	is "the DaemonSet has what Kubernetes knows" "$(/usr/bin/python3 tests/package/fits-kubernetes.py V1DaemonSet containers/daemonset.yaml 2>&1)" ""
	is "... its version is this one" "$(sed -n 's/.*image: .*://p' containers/daemonset.yaml)" "$(sed -nE 's/^VERSION *:= *//p' Makefile)"
	mapfile -t arguments < <(/usr/bin/python3 -c 'import sys, yaml
print(*yaml.safe_load(open(sys.argv[1]))["spec"]["template"]["spec"]["containers"][0]["args"], sep="\n")' containers/daemonset.yaml)
	build/single/plumb "${arguments[@]}" --check-arguments 2>"$work/err"
	is "... and its command line is right" "$?:$(<"$work/err")" "0:"
	# kubectl names the container.
	is "what kubectl debug adds is what Kubernetes knows" \
		"$(/usr/bin/python3 tests/package/fits-kubernetes.py V1Container <(echo 'name: debugger' && cat containers/debug.yaml) 2>&1)" ""
	is "... the privileges of the DaemonSet, and nothing else" "$(/usr/bin/python3 -c 'import sys, yaml
debug, daemons = (yaml.safe_load(open(name)) for name in sys.argv[1:])
print(debug == {"securityContext": daemons["spec"]["template"]["spec"]["containers"][0]["securityContext"]})' containers/debug.yaml containers/daemonset.yaml 2>&1)" True
else
	skip "the DaemonSet has what Kubernetes knows" "there is no client of Kubernetes for Python"
fi
done_testing
