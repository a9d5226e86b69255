/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* provokes: the calls. */
#pragma once

#include "workload.h"

#include <linux/bpf.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum { TEXT = 0, ZERO = 512 };

#define PATH "/tmp/provoked"

/* Pointers are to SCRATCH + TEXT, a path that does not exist, and SCRATCH + ZERO. */
#define P(offset) (1ULL << 63 | (offset))

static const struct call {
	const char *name;
	long nr;
	uint64_t args[6];
} calls[] = {
	{"execve", SYS_execve, {P(TEXT), 0, 0}},
	{"execveat", SYS_execveat, {AT_FDCWD, P(TEXT), 0, 0, 0}},
	{"socket", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}},
	{"socketpair", SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, P(ZERO)}},
#ifdef SYS_open
	{"open-write", SYS_open, {P(TEXT), O_WRONLY}},
#endif
	{"openat-write", SYS_openat, {AT_FDCWD, P(TEXT), O_WRONLY}},
	{"openat-update", SYS_openat, {AT_FDCWD, P(TEXT), O_RDWR}},
	{"openat-create", SYS_openat, {AT_FDCWD, P(TEXT), O_CREAT | O_RDONLY, 0600}},
	{"openat-read", SYS_openat, {AT_FDCWD, P(TEXT), O_RDONLY}},
	{"openat2", SYS_openat2, {AT_FDCWD, P(TEXT), P(ZERO), sizeof(struct open_how)}},
	{"ptrace", SYS_ptrace, {PTRACE_ATTACH, INT_MAX}},
	{"process_vm_readv", SYS_process_vm_readv, {INT_MAX, P(ZERO), 1, P(ZERO), 1, 0}},
	{"process_vm_writev", SYS_process_vm_writev, {INT_MAX, P(ZERO), 1, P(ZERO), 1, 0}},
	{"pidfd_getfd", SYS_pidfd_getfd, {-1, 0, 0}},
	{"io_uring_setup", SYS_io_uring_setup, {0, 0}},
	{"perf_event_open", SYS_perf_event_open, {0, 0, 0, -1, 0}},
	{"bpf-load", SYS_bpf, {BPF_PROG_LOAD, P(ZERO), 64}},
	{"bpf-link", SYS_bpf, {BPF_LINK_CREATE, P(ZERO), 64}},
	{"bpf-get", SYS_bpf, {BPF_OBJ_GET, P(ZERO), 12}},
	{"bpf-get-high", SYS_bpf, {1ULL << 32 | BPF_OBJ_GET, P(ZERO), 12}},
	{"bpf-update", SYS_bpf, {BPF_MAP_UPDATE_ELEM, P(ZERO), 32}},
	{"bpf-lookup", SYS_bpf, {BPF_MAP_LOOKUP_ELEM, P(ZERO), 32}},
	{"unshare", SYS_unshare, {0}},
	{"setns", SYS_setns, {-1, 0}},
	{"clone-namespace",
	 SYS_clone,
	 {CLONE_NEWUSER | CLONE_VM | CLONE_SIGHAND | CLONE_FS, 0, 0, 0, 0}},
	{"clone3", SYS_clone3, {0, 0}},
	{"mount", SYS_mount, {0, 0, 0, 0, 0}},
	{"finit_module", SYS_finit_module, {-1, 0, 0}},
	{"keyctl", SYS_keyctl, {0, -3, 0}},
	{"userfaultfd", SYS_userfaultfd, {0}},
#ifdef SYS_chmod
	{"chmod", SYS_chmod, {P(TEXT), 0600}},
#endif
	{"fchmodat2", 452, {AT_FDCWD, P(TEXT), 0600, 0}}, /* numbers: of newer headers */
	{"setxattrat", 463, {AT_FDCWD, P(TEXT), 0, P(TEXT), P(ZERO), 16}},
	{"removexattrat", 466, {AT_FDCWD, P(TEXT), 0, P(TEXT)}},
	{"open_tree_attr", 467, {AT_FDCWD, P(TEXT), 0, 0, 0}},
	{"file_setattr", 469, {AT_FDCWD, P(TEXT), P(ZERO), 24, 0}},
	{"linkat", SYS_linkat, {AT_FDCWD, P(TEXT), AT_FDCWD, P(TEXT), 0}},
	{"renameat", SYS_renameat, {AT_FDCWD, P(TEXT), AT_FDCWD, P(TEXT)}},
	{"unlinkat", SYS_unlinkat, {AT_FDCWD, P(TEXT), 0}},
	{"ioctl-sti", SYS_ioctl, {0, 0x5412, P(ZERO)}},
	{"ioctl-setflags", SYS_ioctl, {-1, 0x40086602, P(ZERO)}},
	{"ioctl-freeze", SYS_ioctl, {-1, 0xc0045877, 0}},
	{"ioctl-clone", SYS_ioctl, {-1, 0x40049409, -1}},
	{"fcntl-setfl", SYS_fcntl, {-1, F_SETFL, 0}},
	{"ftruncate", SYS_ftruncate, {-1, 0}},
	{"fallocate", SYS_fallocate, {-1, 0, 0, 1}},
	/* the kernel sends the signal, when the descriptor is ready */
	{"fcntl-setown", SYS_fcntl, {-1, F_SETOWN, INT_MAX}},
	{"fcntl-setown-high", SYS_fcntl, {-1, 1ULL << 32 | F_SETOWN, INT_MAX}},
	{"fcntl-setown_ex", SYS_fcntl, {-1, F_SETOWN_EX, P(ZERO)}},
	{"fcntl-setsig", SYS_fcntl, {-1, F_SETSIG, SIGCONT}},
	{"fcntl-async", SYS_fcntl, {-1, F_SETFL, O_ASYNC}},
	{"fcntl-notify", SYS_fcntl, {-1, F_NOTIFY, 0}},
	{"fcntl-setlease", SYS_fcntl, {-1, F_SETLEASE, F_RDLCK}},
	{"ioctl-async", SYS_ioctl, {-1, FIOASYNC, P(ZERO)}},
	{"ioctl-setown", SYS_ioctl, {-1, FIOSETOWN, P(ZERO)}},
	{"ioctl-spgrp", SYS_ioctl, {-1, SIOCSPGRP, P(ZERO)}},
	{"ioctl-linux", SYS_ioctl, {-1, TIOCLINUX, P(ZERO)}},
	{"ioctl-linux-high", SYS_ioctl, {-1, 1ULL << 32 | TIOCLINUX, P(ZERO)}},
	{"timer_create", SYS_timer_create, {CLOCK_MONOTONIC, P(ZERO), P(ZERO)}},
	{"mq_notify", SYS_mq_notify, {-1, 0}},
	{"kill-0", SYS_kill, {INT_MAX, 0}},
	{"kill-all-0", SYS_kill, {-1, 0}},
	{"kill", SYS_kill, {INT_MAX, SIGCONT}},
	{"tkill", SYS_tkill, {INT_MAX, SIGCONT}},
	{"tgkill", SYS_tgkill, {INT_MAX, INT_MAX, SIGCONT}},
	{"pidfd_send_signal", SYS_pidfd_send_signal, {-1, SIGCONT, 0, 0}},
	{"prlimit", SYS_prlimit64, {INT_MAX, RLIMIT_NOFILE, 0, 0}},
	{"prlimit-high", SYS_prlimit64, {1ULL << 32 | INT_MAX, RLIMIT_NOFILE, 0, 0}},
	{"setpriority", SYS_setpriority, {PRIO_PROCESS, INT_MAX, 0}},
	{"ioprio_set", SYS_ioprio_set, {1, INT_MAX, 0}},
	{"sched_setaffinity", SYS_sched_setaffinity, {INT_MAX, 8, P(ZERO)}},
	{"sched_setscheduler", SYS_sched_setscheduler, {INT_MAX, SCHED_OTHER, P(ZERO)}},
	{"sched_setattr", SYS_sched_setattr, {INT_MAX, P(ZERO), 0}},
	{"move_pages", SYS_move_pages, {INT_MAX, 0, 0, 0, 0, 0}},
	{"mq_open", SYS_mq_open, {P(TEXT), O_CREAT | O_RDWR, 0600, 0}},
	{"mq_timedsend", SYS_mq_timedsend, {-1, P(ZERO), 1, 0, 0}},
	{"mq_timedreceive", SYS_mq_timedreceive, {-1, P(ZERO), 1, 0, 0}},
	{"shmget", SYS_shmget, {1, 4096, 0}},
	{"shmat", SYS_shmat, {-1, 0, 0}},
	{"shmdt", SYS_shmdt, {1}},
	{"semop", SYS_semop, {-1, P(ZERO), 1}},
	{"semtimedop", SYS_semtimedop, {-1, P(ZERO), 1, 0}},
	{"msgsnd", SYS_msgsnd, {-1, P(ZERO), 1, 0}},
	{"msgrcv", SYS_msgrcv, {-1, P(ZERO), 1, 0, 0}},
	{"splice", SYS_splice, {-1, 0, -1, 0, 1, 0}},
	{"vmsplice", SYS_vmsplice, {-1, P(ZERO), 1, 0}},
	{"tee", SYS_tee, {-1, -1, 1, 0}},
	{"sendfile", SYS_sendfile, {-1, -1, 0, 1}},
	{"copy_file_range", SYS_copy_file_range, {-1, 0, -1, 0, 1, 0}},
	{"pwrite", SYS_pwrite64, {-1, P(ZERO), 1, 0}},
	{"connect", SYS_connect, {-1, P(ZERO), 2}},
	{"sendto-address", SYS_sendto, {-1, P(ZERO), 1, 0, P(ZERO), 2}},
	{"fchmod", SYS_fchmod, {-1, 0600}},
	{"fchown", SYS_fchown, {-1, -1, -1}},
	{"symlinkat", SYS_symlinkat, {P(TEXT), AT_FDCWD, P(TEXT)}},
	{"utimensat", SYS_utimensat, {AT_FDCWD, P(TEXT), 0, 0}},
	{"io_setup", SYS_io_setup, {0, P(ZERO)}},
	{"landlock_create_ruleset", 444, {P(ZERO), 8, 0}},
	{"landlock_restrict_self", 446, {-1, 0}},
	{"memfd_create", SYS_memfd_create, {P(TEXT), 0}},
	{"memfd_secret", 447, {0}},
	{"process_mrelease", 448, {-1, 0}},
	{"not-yet", 999, {0}}, /* what a kernel to come may have */
	{"prctl-dumpable", SYS_prctl, {PR_SET_DUMPABLE, 1}},
	{"prctl-ptracer", SYS_prctl, {PR_SET_PTRACER, -1}},
	{"personality", SYS_personality, {READ_IMPLIES_EXEC}},
	{"personality-ask", SYS_personality, {0xffffffff}},
	{"remap_file_pages", SYS_remap_file_pages, {0, 4096, 0, 0, 0}},
	{"mmap-code", SYS_mmap, {0, 4096, PROT_WRITE | PROT_EXEC, MAP_SHARED, -1, 0}},
	{"mprotect-code", SYS_mprotect, {1, 4096, PROT_EXEC}},
};
