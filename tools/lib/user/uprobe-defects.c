/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/user/uprobe-defects.h>

#if defined(__x86_64__)

#include <plumb/functions/probing.h>

#include <elf.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <plumb/user/code.h>
#include <plumb/user/self-test.h>

/* --- long nops --- */

/* Longest instruction, in bytes. */
#define INSTRUCTION 15

/* The nops that kernels replace by a call; 5-byte ones of any form. */
static const unsigned char nop10[] = {0x66, 0x2e, 0x0f, 0x1f, 0x84};
enum { NOP5, NOP10, NOPS };

/* A function that keeps its argument in the red zone while it passes a nop, and returns it. */
#define RED_ZONE(name, nop)                                                                        \
	asm(".pushsection .text\n"                                                                 \
	    ".globl " #name ", " #name "_nop\n"                                                    \
	    ".hidden " #name ", " #name "_nop\n"                                                   \
	    ".type " #name ", @function\n" #name ":\n"                                             \
	    "	movq %rdi, -8(%rsp)\n" #name "_nop:\n"                                             \
	    "	.byte " nop "\n"                                                                   \
	    "	movq -8(%rsp), %rax\n"                                                               \
	    "	ret\n"                                                                               \
	    ".size " #name ", . - " #name "\n"                                                     \
	    ".popsection\n");                                                                      \
	long name(long value);                                                                     \
	void name##_nop(void)

RED_ZONE(plumb_red_zone5, "0x0f, 0x1f, 0x44, 0, 0");
RED_ZONE(plumb_red_zone10, "0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0");

static const struct {
	long (*pass)(long value);
	void (*nop)(void);
} own[NOPS] = {{plumb_red_zone5, plumb_red_zone5_nop}, {plumb_red_zone10, plumb_red_zone10_nop}};

enum outcome { UNTRIED, UNKNOWN, TRAPS, CALLS, DAMAGES };

/* A uprobe on the nop; its descriptor or -errno. */
static int open_own_uprobe(void (*nop)(void))
{
	struct plumb_userfuncs found;
	int err = plumb_self_test_find_userfunc(nop, &found);

	if (err)
		return err;
	err = plumb_probe_open_uprobe(found.path, false, found.list[0].offset, 0);
	plumb_userfuncs_free(&found);
	return err;
}

static bool passes(int nop)
{
	const long value = 0x1234567;

	return own[nop].pass(value) == value;
}

static void on_fault(int number)
{
	_exit(1);
}

static bool child_passes(int nop)
{
	pid_t child = fork();
	int status;

	if (!child) {
		signal(SIGSEGV, on_fault); /* no line in the kernel's log, no core file */
		_exit(!passes(nop));
	}
	return child > 0 && waitpid(child, &status, 0) == child && !status;
}

static enum outcome try_nop(int nop)
{
	enum outcome outcome = TRAPS;
	int event = open_own_uprobe(own[nop].nop);
	bool intact = true;

	if (event < 0) /* refused, or the tool has given up the rights to try */
		return UNKNOWN;
	/* The first call replaces the nop. */
	for (int i = 0; i < 4; i++)
		intact &= passes(nop);
	if (*(const volatile unsigned char *)own[nop].nop != 0xcc)
		outcome = CALLS;
	if (!intact || !child_passes(nop))
		outcome = DAMAGES;
	close(event);
	return outcome;
}

const char *plumb_uprobe_nop_obstacle(const void *code, size_t size, bool is_32bit, bool *called)
{
	static enum outcome outcomes[NOPS];
	const size_t length = plumb_code_long_nop(code, size, is_32bit);
	const bool is_10 = length == 10 && !memcmp(code, nop10, sizeof(nop10));
	enum outcome *outcome = &outcomes[is_10 ? NOP10 : NOP5];

	*called = false;
	if (length != 5 && !is_10)
		return NULL;
	if (*outcome == UNTRIED)
		*outcome = try_nop(outcome - outcomes);
	*called = *outcome == CALLS;
	if (*outcome == DAMAGES)
		return "at this nop the kernel's probe overwrites the function's stack, or ends "
		       "children of the process";
	if (*outcome == UNKNOWN)
		return is_10 ? PLUMB_CODE_REFUSED " (segment prefix)"
			     : "whether a probe on this nop does harm could not be tried";
	return NULL;
}

static bool is_32bit(int fd)
{
	unsigned char class = ELFCLASSNONE;

	return pread(fd, &class, sizeof(class), EI_CLASS) == sizeof(class) && class == ELFCLASS32;
}

void plumb_uprobe_refuse_nops(int fd, struct plumb_userfuncs *found)
{
	unsigned char code[INSTRUCTION];
	struct plumb_userfunc *u;
	ssize_t size;
	bool called;

	for (size_t i = 0; i < found->n; i++) {
		u = &found->list[i];
		for (size_t j = 0; j < u->n_places && !u->obstacle; j++) {
			size = pread(fd, code, sizeof(code), u->places[j].offset);
			u->obstacle = plumb_uprobe_nop_obstacle(code, size > 0 ? size : 0,
								is_32bit(fd), &called);
		}
	}
}

/* --- return probes under seccomp --- */

/* The number of the system call uretprobe, since Linux 6.11; older headers lack it. */
#define URETPROBE 335

/* What a direct system call uretprobe returns, which the kernel answers by SIGILL: 0 then. */
static int call_uretprobe(bool filtered)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, URETPROBE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = sizeof(code) / sizeof(*code), .filter = code};
	pid_t child = fork();
	int status;

	if (!child) {
		prctl(PR_SET_DUMPABLE, 0); /* no core file */
		if (filtered && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
				 prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)))
			_exit(ENOSYS);
		_exit(syscall(URETPROBE) ? errno : 0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return ENOSYS;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

bool plumb_uretprobe_is_filtered(void)
{
	return call_uretprobe(false) != ENOSYS && call_uretprobe(true) == EPERM;
}

#else

const char *plumb_uprobe_nop_obstacle(const void *code, size_t size, bool is_32bit, bool *called)
{
	*called = false;
	return NULL;
}

void plumb_uprobe_refuse_nops(int fd, struct plumb_userfuncs *found)
{
}

bool plumb_uretprobe_is_filtered(void)
{
	return false;
}

#endif
