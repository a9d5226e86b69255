#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Makes the folder of a new tool: a small one that works, to be changed.

set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
	cat <<-END
	Usage: ${0##*/} NAME

	Make tools/NAME with NAME.c, NAME.bpf.c, NAME.rst, NAME.schema.json and NAME.targets: a tool
	that counts context switches by thread name. No other file has to be touched: make builds it.
	END
}

case ${1-} in
-h | --help) usage; exit 0 ;;
'' | -*) usage >&2; exit 2 ;;
esac
name=$1
[[ $# == 1 && $name =~ ^[a-z][a-z0-9]*(-[a-z0-9]+)*$ ]] || {
	echo "${0##*/}: a name of small letters, digits and hyphens: $*" >&2
	exit 2
}
[[ ! -e tools/$name ]] || { echo "${0##*/}: tools/$name is there already" >&2; exit 1; }
folder=tools/$name object=${name//-/_}
spdx='SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause'
bar=${name//?/=}
mkdir "$folder"

cat >"$folder/$name.bpf.c" <<END
/* $spdx */
#define PLUMB_KEY struct plumb_who
#include <plumb/bpf/key/key.bpf.h>
#include <plumb/bpf/core/lifecycle.bpf.h>
#include <plumb/bpf/core/totals.bpf.h>

/* Runs as the thread that leaves the CPU. */
SEC("raw_tp/sched_switch")
int on_switch(void *ctx __attribute__((unused)))
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id(), slot;
	struct plumb_cached_slot *cached;
	struct plumb_totals *totals;
	struct plumb_who key = {};
	struct syscall_thread *t;
	__u64 var;

	if (!filter_thread(task) || !filter_entry(task))
		return 0;
	t = inflight_make(task);
	if (!t) {
		ledger_count(cpu, no_state);
		return 0;
	}
	key_refresh(t, task);
	var = plumb_config.by & PLUMB_BY_CPU ? cpu : 0;
	cached = key_cached(t, var);
	if (cached->valid && cached->var == var) {
		slot = cached->slot;
	} else {
		key_who(&key, t, task, cpu);
		slot = key_slot(cached, var, &key);
	}
	totals = totals_of(slot, cpu);
	if (totals)
		totals_add_call(totals, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
END

cat >"$folder/$name.c" <<END
/* $spdx */
#include <errno.h>
#include <plumb/core/tool.h>

#include "$name.skel.h"

static const struct argp_option options[] = {{0}};

static int open_raw_tracepoint(struct plumb_bpf *bpf, bool calibration)
{
	struct ${object}_bpf *skel = ${object}_bpf__open();

	(void)calibration;
	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "sched_switch");
	return 0;
}

static const char *const programs[] = {"thread_exit", "thread_fork", "on_switch", NULL};

static const struct plumb_mechanism mechanisms[] = {
	{
		.name = "raw_tracepoint",
		.stability = "stable-ish",
		.open = open_raw_tracepoint,
		.programs = programs,
	},
};

int main(int argc, char **argv)
{
	struct plumb_tool tool = {
		.card.name = "$name",
		.card.summary = "Count how often threads leave the CPU, by name.",
		.card.about = "",
		.options.list = options,
		.keys.size = sizeof(struct plumb_who),
		.keys.default_by = PLUMB_BY_COMM,
		.measure.kind = PLUMB_COUNTS,
		.mechanisms.list = mechanisms,
		.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	};

	return plumb_main(argc, argv, &tool);
}
END

cat >"$folder/$name.rst" <<END
.. $spdx

$bar
$name
$bar

-----------------------------------
count how often threads leave a CPU
-----------------------------------

:Manual section: 8
:Manual group: plumb

SYNOPSIS
========
**$name** [OPTION...] [INTERVAL [COUNT]]

**$name** [OPTION...] -- COMMAND [ARG...]

OPTIONS
=======
.. include:: ../lib/manual/options.rst

.. include:: ../lib/manual/footer.rst
END
cat >"$folder/$name.schema.json" <<END
{
	"\$comment": "$spdx",
	"description": "$name: a report of how often threads left the CPU.",
	"\$ref": "#/\$defs/report",
	"properties": {"rows": {"items": {"\$ref": "#/\$defs/row_of_counts"}}}
}
END
cat >"$folder/$name.targets" <<END
# $spdx
# What it hooks, by mechanism: for probe-check --tool. "all": whatever the mechanism is.
all: t:sched:sched_process_exit t:sched:sched_process_fork
raw_tracepoint: t:sched:sched_switch
END
echo "$folder is made; next: make build/bin/$name"
