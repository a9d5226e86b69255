# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh
# Datagrams of the loopback device.

# steered COMMAND... - while the last of two CPUs receives them; fails where they cannot be steered
steered() {
	rps=/sys/class/net/lo/queues/rx-0/rps_cpus
	before=$(cat $rps) && echo 2 >$rps || return
	"$@"
	echo "$before" >$rps
}
