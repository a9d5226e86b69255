/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* inflight, of system calls: /proc/PID/syscall, and the states of inflight-slots.bpf.h. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/bpf/sched/return.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/map.h>
#include <plumb/syscalls/descriptors.h>
#include <plumb/syscalls/syscalls.h>

#include <bpf/libbpf.h>

/*
 * The ABI of the process's system call numbers, from its executable: /proc/PID/syscall does not
 * show it.
 */
static uint32_t abi_of(uint32_t pid)
{
	unsigned char ident[EI_NIDENT] = {};
	static uint32_t last, abi;
	char path[32];
	int fd;

	if (pid == last)
		return abi;
	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, ident, sizeof(ident)) != sizeof(ident))
		ident[EI_CLASS] = ELFCLASSNONE;
	if (fd >= 0)
		close(fd);
	last = pid;
	abi = ident[EI_CLASS] == ELFCLASS32 ? PLUMB_ABI_COMPAT : PLUMB_ABI_NATIVE;
	return abi;
}

/* A stopped thread has left its call, and will restart it or return EINTR. */
static bool is_stopped(const struct plumb_flight *f)
{
	struct plumb_thread_stat stat;

	return plumb_thread_stat(f->pid, f->tid, &stat) || stat.state == 'T' || stat.state == 't';
}

static bool find_syscall(const struct plumb_run *run, struct plumb_flight *f)
{
	const struct syscall_config *selection = run->tool->options.syscalls->selection;
	unsigned long long fd, size, stack;
	char text[256];
	uint32_t abi;
	int nr, err;

	err = plumb_thread_read(f->pid, f->tid, "syscall", text, sizeof(text));
	f->hidden = err == -EACCES || err == -EPERM;
	/*
	 * "running", or: the number, which is -1 outside of a call; the arguments; the stack
	 * pointer, which kernel threads do not have.
	 */
	if (sscanf(text, "%d %llx %*x %llx %*x %*x %*x %llx", &nr, &fd, &size, &stack) != 4 ||
	    nr < 0 || !stack)
		return false;
	abi = abi_of(f->pid);
	f->what = (uint64_t)abi << 32 | (uint32_t)nr;
	return plumb_syscall_is_selected(selection, nr, abi) &&
	       (!selection->has_fd || (uint32_t)fd == selection->fd) &&
	       (!selection->has_size ||
		(size >= selection->min_size && size <= selection->max_size)) &&
	       !is_stopped(f);
}

/* Offsets of fields in the programs' structs; negative: there is no such field. */
static struct layout {
	bool known;
	int start, call, inflight_slot, task, left, own, kernel, user, ret;
	int inflight_slot_start, inflight_slot_call, inflight_slot_task;
} at;

static void find_layout(const struct bpf_object *o)
{
	at.start = plumb_states_offset(o, "call_thread", "start");
	at.call = plumb_states_offset(o, "call_thread", "call");
	at.inflight_slot = plumb_states_offset(o, "call_thread", "inflight_slot");
	at.task = plumb_states_offset(o, "call_thread", "task");
	at.left = plumb_states_offset(o, "call_thread", "left");
	at.own = plumb_states_offset(o, "call_thread", "own");
	at.ret = plumb_states_offset(o, "call_thread", "ret");
	at.kernel = plumb_states_offset(o, "where", "kernel");
	at.user = plumb_states_offset(o, "where", "user");
	at.inflight_slot_start = plumb_states_offset(o, "plumb_inflight_slot", "start");
	at.inflight_slot_call = plumb_states_offset(o, "plumb_inflight_slot", "call");
	at.inflight_slot_task = plumb_states_offset(o, "plumb_inflight_slot", "task");
	at.known = true;
}

/*
 * Reads the stacks at which the thread last left the CPU, if it did so in this call and stacks are
 * taken.
 */
static void read_stacks(const void *state, struct plumb_flight *f)
{
	const char *own = (const char *)state + at.own;

	if (at.own < 0 || at.kernel < 0 || at.left < 0 || !plumb_state_word(state, at.left))
		return;
	f->kernel = *(const int32_t *)(own + at.kernel);
	f->user = *(const int32_t *)(own + at.user);
}

/* Reads a call from its in-flight slot; false: the slot holds another thread's call, or none. */
static bool read_inflight_slot(const struct bpf_object *object, const void *state,
			       struct plumb_flight *f)
{
	uint32_t n = plumb_state_word(state, at.inflight_slot) - 1;
	int map = bpf_object__find_map_fd_by_name(object, "plumb_inflight_slots");
	uint64_t inflight_slot[8];

	if (plumb_map_lookup(map, &n, inflight_slot) ||
	    plumb_state_word(inflight_slot, at.inflight_slot_task) !=
		    plumb_state_word(state, at.task))
		return false;
	f->start = plumb_state_word(inflight_slot, at.inflight_slot_start);
	f->what = plumb_state_word(inflight_slot, at.inflight_slot_call);
	return f->start;
}

static void read_syscall(const struct plumb_run *run, const struct plumb_state *state,
			 struct plumb_flights *to)
{
	struct plumb_flight f = plumb_flight_of(run, state, "call_thread");

	if (!at.known)
		find_layout(run->instance.bpf.object);
	f.what = plumb_state_word(state->value, at.call);
	if (!f.start && (!plumb_state_word(state->value, at.inflight_slot) ||
			 !read_inflight_slot(run->instance.bpf.object, state->value, &f)))
		return;
	read_stacks(state->value, &f);
	plumb_flights_take(run, state, &f, to);
}

static void name_syscall(const struct plumb_run *run, const struct plumb_flight *f, char *text,
			 size_t size)
{
	plumb_syscall_name(f->what, f->what >> 32, text, size);
}

const struct plumb_inflight_kind plumb_syscalls_inflight = {
	.find = find_syscall,
	.read = read_syscall,
	.name = name_syscall,
	.add_text = plumb_descriptor_add_text,
	.add_json = plumb_descriptor_add_json,
};
