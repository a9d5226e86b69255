# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh

# go_chain TOP ARCHITECTURE FILE [FLAGS] - tests/workloads/library/chain.go, stripped if there are no FLAGS of the linker, to FILE;
# no ARCHITECTURE: this machine's
go_chain() {
	env GO111MODULE=off GOENV=off GOTOOLCHAIN=local GOARCH="$2" CGO_ENABLED=0 HOME=/nonexistent GOCACHE="$(cd "$1/build" && pwd)/go" \
		go build -ldflags "${4--s -w}" -o "$3" "$1/tests/workloads/library/chain.go"
}
