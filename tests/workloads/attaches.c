// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* attaches: the probe points that the kernel accepts, without any library in between. */
#include "workload.h"

#include <linux/bpf.h>
#include <linux/perf_event.h>

const char usage[] =
	"Usage: attaches\n"
	"For each line of stdin, k:FUNCTION, k:MODULE:FUNCTION or r:RAW-TRACEPOINT, print it "
	"and 0,\n"
	"or the errno of what refused. A kprobe is registered, but not armed.\n";

static int kprobes = -1; /* the perf event type of kprobes */
static int program = -1; /* for raw tracepoints */

static int load_program(void)
{
	/* r0 = 0; exit */
	static const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insns = (uintptr_t)insns,
		.insn_cnt = 2,
		.license = (uintptr_t) "GPL",
	};

	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static int open_raw_tracepoint(const char *name)
{
	union bpf_attr attr = {
		.raw_tracepoint = {.name = (uintptr_t)name, .prog_fd = program},
	};

	return syscall(SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
}

static int open_kprobe(const char *function)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = kprobes,
		.config1 = (uintptr_t)function,
		.disabled = 1,
	};

	if (kprobes < 0) {
		errno = ENODEV;
		return -1;
	}
	return syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
}

int main(int argc, char **argv)
{
	FILE *f = fopen("/sys/bus/event_source/devices/kprobe/type", "re");
	char line[512];
	int fd;

	if (argc > 1)
		misuse("no arguments are taken");
	if (f && fscanf(f, "%d", &kprobes) != 1)
		kprobes = -1;
	program = load_program();
	if (program < 0)
		die("bpf: %s", strerror(errno));
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		fd = *line == 'r' ? open_raw_tracepoint(line + 2) : open_kprobe(line + 2);
		printf("%s %d\n", line, fd < 0 ? errno : 0);
		if (fd >= 0)
			close(fd);
	}
	return 0;
}
