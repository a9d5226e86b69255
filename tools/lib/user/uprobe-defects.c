/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/user/uprobe-defects.h>

#if defined(__x86_64__)

#include <plumb/functions/probing.h>

#include <elf.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <plumb/user/self-test.h>

/* --- 5-byte nops --- */

static const unsigned char nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

/* A function that keeps its argument in the red zone while it passes a nop, and returns it. */
asm(".pushsection .text\n"
    ".globl plumb_red_zone, plumb_red_zone_nop\n"
    ".hidden plumb_red_zone, plumb_red_zone_nop\n"
    ".type plumb_red_zone, @function\n"
    "plumb_red_zone:\n"
    "	movq %rdi, -8(%rsp)\n"
    "plumb_red_zone_nop:\n"
    "	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
    "	movq -8(%rsp), %rax\n"
    "	ret\n"
    ".size plumb_red_zone, . - plumb_red_zone\n"
    ".popsection\n");

long plumb_red_zone(long value);
void plumb_red_zone_nop(void);

/* A uprobe on the nop; its descriptor or -errno. */
static int open_own_uprobe(void)
{
	struct plumb_userfuncs found;
	int err = plumb_self_test_find_userfunc(plumb_red_zone_nop, &found);

	if (err)
		return err;
	err = plumb_probe_open_uprobe(found.path, false, found.list[0].offset, 0);
	plumb_userfuncs_free(&found);
	return err;
}

static bool try_nop(void)
{
	const long value = 0x1234567;
	int event = open_own_uprobe();
	bool intact = true;

	if (event < 0) /* nor can others be opened */
		return false;
	/* The first call replaces the nop. */
	for (int i = 0; i < 4; i++)
		intact &= plumb_red_zone(value) == value;
	close(event);
	return !intact;
}

/* Of 32-bit programs the kernel leaves nops as they are. */
static bool is_64bit(int fd)
{
	unsigned char class = ELFCLASSNONE;

	return pread(fd, &class, sizeof(class), EI_CLASS) == sizeof(class) && class == ELFCLASS64;
}

static bool is_nop5(int fd, uint64_t offset)
{
	unsigned char code[sizeof(nop5)];

	return pread(fd, code, sizeof(code), offset) == sizeof(code) &&
	       !memcmp(code, nop5, sizeof(code));
}

/* At a function's first instruction nothing is in the red zone. */
static bool is_at_nop(int fd, const struct plumb_userfunc *u, bool is_usdt)
{
	bool is_at = u->is_inside && is_nop5(fd, u->offset);

	for (size_t i = 0; i < u->n_places; i++)
		is_at |= (is_usdt || u->places[i].offset != u->offset) &&
			 is_nop5(fd, u->places[i].offset);
	return is_at;
}

void plumb_uprobe_refuse_nops(int fd, struct plumb_userfuncs *found)
{
	static bool is_tried, overwrites;

	for (size_t i = 0; i < found->n && is_64bit(fd); i++) {
		if (found->list[i].obstacle || !is_at_nop(fd, &found->list[i], found->is_usdt))
			continue;
		if (!is_tried)
			overwrites = try_nop();
		is_tried = true;
		if (overwrites)
			found->list[i].obstacle = "at a 5-byte nop this kernel's probe "
						  "overwrites the function's stack";
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

void plumb_uprobe_refuse_nops(int fd, struct plumb_userfuncs *found)
{
}

bool plumb_uretprobe_is_filtered(void)
{
	return false;
}

#endif
