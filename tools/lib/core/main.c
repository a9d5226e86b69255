/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* main: from the command line to the trace. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/choice.h>
#include <plumb/core/cli.h>
#include <plumb/core/command.h>
#include <plumb/core/filter.h>
#include <plumb/core/instance.h>
#include <plumb/core/log.h>
#include <plumb/core/part.h>
#include <plumb/core/privileges.h>
#include <plumb/core/reasons.h>
#include <plumb/kernel/kernel.h>
#include <plumb/kernel/subset.h>
#include <plumb/kernel/types.h>

#include "trace.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>

/* Checked here since libbpf would only report that no program can be loaded. */
static int check_types(const char *file)
{
	struct btf *btf = plumb_types_read(file);

	btf__free(btf);
	return btf ? 0 : PLUMB_EXIT_FAILED;
}

static int check_system(const struct plumb_options *o)
{
	if (!plumb_may_trace())
		return PLUMB_EXIT_FAILED;
	if (!plumb_has_memory()) {
		plumb_warn("too little memory: 32 MB needed, raise ulimit -v and -d");
		return PLUMB_EXIT_FAILED;
	}
	if (o->btf)
		return check_types(o->btf);
	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		plumb_warn("this kernel has no BTF (/sys/kernel/btf/vmlinux: %s); it takes "
			   "CONFIG_DEBUG_INFO_BTF, or --btf FILE",
			   strerror(errno));
		return PLUMB_EXIT_UNSUPPORTED;
	}
	return 0;
}

static int choice_failed(const struct plumb_run *run)
{
	bool limited = false, told = false;

	for (size_t i = 0; i < run->n_refused; i++) {
		told |= strstr(run->refused[i].why, "CAP_SYS_ADMIN") != NULL;
		plumb_warn("%s refused: %s", run->refused[i].name, run->refused[i].why);
		limited |= plumb_limit_hit(run->refused[i].err) != NULL ||
			   run->refused[i].err == -PLUMB_FORBIDDEN;
	}
	if (!run->n_refused)
		plumb_warn("--mechanism=%s: not usable here", run->options.mechanism);
	/* What takes it fails with many errors, EINVAL among them. */
	if (!limited && !told && !(plumb_capabilities() & PLUMB_CAP(SYS_ADMIN)))
		plumb_warn("CAP_SYS_ADMIN is missing, which some kernels require (PRIVILEGES in "
			   "%s(8)): run as root, or: setcap cap_sys_admin+ep FILE",
			   run->tool->card.name);
	return limited ? PLUMB_EXIT_FAILED : PLUMB_EXIT_UNSUPPORTED;
}

static struct bpf_object_open_opts open_opts = {.sz = sizeof(open_opts)};

const struct bpf_object_open_opts *plumb_open_opts(void)
{
	return &open_opts;
}

int plumb_main(int argc, char **argv, struct plumb_tool *tool)
{
	static char buffer[1 << 20];
	struct plumb_run run = {.tool = tool, .child_status = -1};
	int status, signals;

	/*
	 * Some tools look in the kernel's BTF, of which libbpf copies some 6 MB, and free it. Until
	 * the trace begins they stay in the heap, where the next one takes them: pages that are
	 * mapped anew would be half of the CPU time of their start.
	 */
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	plumb_options_parse(&run.options, argc, argv, tool);
	/*
	 * Writes each line of JSON with one write(), so that output of the command does not come
	 * into it.
	 */
	if (run.options.json)
		setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	open_opts.btf_custom_path = run.options.btf ?: plumb_subset_path();
	plumb_kernel_types(run.options.btf);
	plumb_parts_check(&run.options, tool);
	if (run.options.check_only)
		return 0;
	status = check_system(&run.options);
	if (status)
		return status;
	status = tool->lifecycle.prepare ? tool->lifecycle.prepare(&run.options) : 0;
	if (status)
		return status == -EOPNOTSUPP ? PLUMB_EXIT_UNSUPPORTED : PLUMB_EXIT_FAILED;
	/* Again: its trace targets, which a mechanism may not be for, are known only now. */
	plumb_options_check_mechanism(&run.options, tool);
	if (plumb_configure_check_memory(&run) || plumb_parts_prepare(&run.options, tool) ||
	    plumb_filter_resolve(&run) || plumb_parts_wait(&run))
		return PLUMB_EXIT_FAILED;
	if (run.options.command && plumb_command_start(&run))
		return PLUMB_EXIT_FAILED;
	signals = plumb_signals_open(run.options.keep.on ? SIGUSR1 : 0);
	status = plumb_mechanism_choose(&run);
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_TRIM_THRESHOLD, 128 << 10);
	malloc_trim(0);
	status = status ? choice_failed(&run) : plumb_trace(&run, signals);
	plumb_parts_leave();
	plumb_instance_close(&run.instance);
	if (status == PLUMB_EXIT_UNSUPPORTED && run.child)
		kill(run.child, SIGKILL);
	status = plumb_close_stdout(status);
	/* The report is complete.  The command does not go on without its trace. */
	if (run.child)
		plumb_command_end(&run, signals);
	return status;
}
