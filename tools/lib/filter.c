/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <plumb/cgroup.h>
#include <plumb/log.h>
#include <plumb/parse.h>
#include <plumb/session.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* include/linux/proc_ns.h: PROC_PID_INIT_INO, the number of the first pid namespace. */
#define INIT_PID_NS 0xEFFFFFFCU

/* Programs see the pids of the first namespace; ours may be others. */
static int check_pid_namespace(void)
{
	struct stat st;

	if (!stat("/proc/self/ns/pid", &st) && st.st_ino != INIT_PID_NS)
		return plumb_error(EINVAL, "-p, -t and -- need the host's pid namespace, "
					   "and this is another: use -c or -g");
	return 0;
}

/* The process that thread TID belongs to; 0: there is no such thread. */
static uint32_t process_of(uint32_t tid)
{
	char path[32], line[64];
	uint64_t tgid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "Tgid:\t", 6)) {
			line[strcspn(line, "\n")] = 0;
			plumb_parse_u64(line + 6, 1, UINT32_MAX, &tgid);
			break;
		}
	fclose(f);
	return tgid;
}

int plumb_filter_resolve(struct plumb_session *s)
{
	const struct plumb_options *o = &s->options;
	uint32_t tgid;
	int err;

	if (o->n_pids || o->n_tids || o->command) {
		err = check_pid_namespace();
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < o->n_pids; i++) {
		tgid = process_of(o->pids[i]);
		if (!tgid)
			return plumb_error(ESRCH, "--pid: no process %u", o->pids[i]);
		if (tgid != o->pids[i])
			return plumb_error(ESRCH,
					   "--pid: %u is a thread of process %u: use -t or -p %u",
					   o->pids[i], tgid, tgid);
		s->pids[i] = syscall(SYS_pidfd_open, o->pids[i], 0);
		if (s->pids[i] < 0)
			return plumb_error(errno, "--pid %u: %s", o->pids[i], strerror(errno));
	}
	for (uint32_t i = 0; i < o->n_tids; i++)
		if (!process_of(o->tids[i]))
			return plumb_error(ESRCH, "--tid: no thread %u", o->tids[i]);
	for (uint32_t i = 0; i < o->n_cgroups; i++) {
		s->cgroups[i] = plumb_cgroup_open(o->cgroups[i]);
		if (s->cgroups[i] < 0)
			return s->cgroups[i];
	}
	return 0;
}

void plumb_filter_configure(const struct plumb_session *s, struct plumb_config *config)
{
	const struct plumb_options *o = &s->options;

	config->self = getpid();
	config->npids = o->n_pids;
	config->ntids = o->n_tids;
	config->ncomms = o->n_comms;
	config->ncgroups = o->n_cgroups;
	config->descendants = s->child != 0;
	memcpy(config->pids, o->pids, sizeof(o->pids));
	memcpy(config->tids, o->tids, sizeof(o->tids));
	memcpy(config->comms, o->comms, sizeof(o->comms));
}

int plumb_filter_fill(const struct plumb_session *s, struct bpf_object *object)
{
	int family = bpf_object__find_map_fd_by_name(object, "plumb_family");
	int cgroups = bpf_object__find_map_fd_by_name(object, "plumb_cgroups");
	uint32_t child = s->child;
	uint8_t yes = 1;

	if (s->child && bpf_map_update_elem(family, &child, &yes, BPF_ANY))
		return -errno;
	for (uint32_t i = 0; i < s->options.n_cgroups; i++)
		if (bpf_map_update_elem(cgroups, &i, &s->cgroups[i], BPF_ANY))
			return -errno;
	return 0;
}
