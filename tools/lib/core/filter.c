/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <plumb/core/cgroups.h>
#include <plumb/core/filter.h>
#include <plumb/core/log.h>
#include <plumb/kernel/cgroup.h>
#include <plumb/kernel/thread.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* Ns since boot; PLUMB_EXITED: there is no such thread any more, but for its exit status. */
static uint64_t thread_began(uint32_t tid)
{
	uint32_t pid = plumb_thread_process(tid);
	struct plumb_thread_stat stat;

	if (!pid || plumb_thread_stat(pid, tid, &stat) || strchr("ZX", stat.state))
		return PLUMB_EXITED;
	return stat.begun;
}

int plumb_filter_resolve(struct plumb_run *run)
{
	const struct plumb_options *o = &run->options;
	uint32_t tgid;

	if (o->n_pids || o->n_tids || o->command) {
		if (plumb_pids_are_foreign())
			return plumb_error(EINVAL, "-p, -t and --: /proc is of another pid "
						   "namespace: mount this one's, or use -c or -g");
	}
	for (uint32_t i = 0; i < o->n_pids; i++) {
		tgid = plumb_thread_process(o->pids[i]);
		if (!tgid)
			return plumb_error(ESRCH, "--pid: no process %u", o->pids[i]);
		if (tgid != o->pids[i])
			return plumb_error(ESRCH,
					   "--pid: %u is a thread of process %u: use -t or -p %u",
					   o->pids[i], tgid, tgid);
		if (plumb_process_is_zombie(tgid))
			return plumb_error(ESRCH, "--pid: process %u has ended (a zombie)", tgid);
		run->pids[i] = syscall(SYS_pidfd_open, o->pids[i], 0);
		if (run->pids[i] < 0)
			return plumb_error(errno, "--pid %u: %s", o->pids[i], strerror(errno));
	}
	for (uint32_t i = 0; i < o->n_tids; i++) {
		run->tids[i] = thread_began(o->tids[i]);
		if (run->tids[i] == PLUMB_EXITED)
			return plumb_error(ESRCH, "--tid: no thread %u", o->tids[i]);
	}
	for (uint32_t i = 0; i < o->n_cgroups; i++) {
		run->cgroups[i] = plumb_cgroup_open(o->cgroups[i]);
		if (run->cgroups[i] < 0)
			return run->cgroups[i];
	}
	plumb_cgroups_watch(run);
	return 0;
}

bool plumb_filter_threads_are_over(struct plumb_run *run)
{
	const struct plumb_options *o = &run->options;
	uint32_t left = 0;

	for (uint32_t i = 0; i < o->n_tids; i++) {
		if (thread_began(o->tids[i]) != run->tids[i])
			run->tids[i] = PLUMB_EXITED;
		left += run->tids[i] != PLUMB_EXITED;
	}
	return o->n_tids && !left;
}

bool plumb_filter_takes_name(const struct plumb_options *o, const char comm[PLUMB_COMM_LEN])
{
	uint64_t words[2] = {};

	strncpy((char *)words, comm, PLUMB_COMM_LEN - 1);
	for (uint32_t i = 0; i < o->n_comms; i++)
		if (!strncmp(o->comms[i], comm, PLUMB_COMM_LEN))
			return true;
	return plumb_globs_match(&o->globs, words[0], words[1]);
}

bool plumb_filter_takes_own_name(const struct plumb_options *o)
{
	char comm[PLUMB_COMM_LEN];

	prctl(PR_GET_NAME, comm);
	return plumb_filter_takes_name(o, comm);
}

void plumb_filter_configure(const struct plumb_run *run, struct plumb_config *config)
{
	const struct plumb_options *o = &run->options;

	config->self = getpid();
	config->pid_namespace = plumb_pid_namespace();
	config->npids = o->follow ? 0 : o->n_pids;
	config->ntids = o->n_tids;
	config->ncomms = o->n_comms;
	config->ncgroups = o->n_cgroups;
	config->descendants = run->child || o->follow;
	memcpy(config->pids, o->pids, sizeof(o->pids));
	memcpy(config->tids, o->tids, sizeof(o->tids));
	memcpy(config->comms, o->comms, sizeof(o->comms));
	config->globs = o->globs;
}

int plumb_filter_fill(const struct plumb_run *run, struct bpf_object *object)
{
	int descendants = bpf_object__find_map_fd_by_name(object, "plumb_descendants");
	int cgroups = bpf_object__find_map_fd_by_name(object, "plumb_cgroups");
	uint32_t child = run->child;
	uint64_t unknown = 0;

	if (run->child && bpf_map_update_elem(descendants, &child, &unknown, BPF_ANY))
		return -errno;
	for (uint32_t i = 0; run->options.follow && i < run->options.n_pids; i++)
		if (bpf_map_update_elem(descendants, &run->options.pids[i], &unknown, BPF_ANY))
			return -errno;
	for (uint32_t i = 0; i < run->options.n_cgroups; i++)
		if (bpf_map_update_elem(cgroups, &i, &run->cgroups[i], BPF_ANY) && errno != ENOENT)
			return -errno; /* ENOENT: removed meanwhile, see plumb_cgroups_look() */
	return 0;
}
