// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* busy: a thread that is on the CPU, in known functions, for a known time. */
#include "workload.h"
#include <link.h>
#include <sys/random.h>

const char usage[] =
	"Usage: busy user|kernel|jit|rejit|moved MS [COMMAND...]\n"
	"\n"
	"user: in be_busy(). kernel: in getrandom, below be_busy_in_kernel(). jit: in code that\n"
	"is in no file, which /tmp/perf-PID.map calls busy_jit, below be_busy_in_jit().\n"
	"rejit: the same, and then the map calls the code busy_jit_last; it ends once gate named\n"
	"is open. moved: as user, with the program's code copied to memory of no file, at the "
	"same\n"
	"addresses.\n"
	"Then it executes COMMAND.\n"
	"\n"
	"\"cpu\" is the time that it was on the CPU, by the kernel's clock of the thread.\n"
	"Gates: ready, go; rejit: done, named.\n";

/* Keep what walks of user stacks need: frame pointers, and the frame of each caller. */
#pragma GCC optimize("no-omit-frame-pointer", "no-optimize-sibling-calls")

static volatile uint64_t sink;
static uint64_t deadline;

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

__attribute__((noinline)) static void be_busy(void)
{
	for (int i = 0; i < 1000000; i++)
		sink += i;
}

__attribute__((noinline)) static void be_busy_in_kernel(void)
{
	static char bytes[1 << 18];

	if (syscall(SYS_getrandom, bytes, sizeof(bytes), 0) < 0)
		die("getrandom: %s", strerror(errno));
	sink++; /* after the call, so that it is no tail call */
}

static void (*jit)(void);

__attribute__((noinline)) static void be_busy_in_jit(void)
{
	jit();
	sink++;
}

static size_t jit_size;

static void name_jit(const char *name, uint64_t flags)
{
	char path[64], line[64];
	int fd, n;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	n = snprintf(line, sizeof(line), "%lx %zx %s\n", (unsigned long)jit, jit_size, name);
	fd = open_uncounted(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags);
	if (fd < 0 || write(fd, line, n) != n)
		die("%s: %s", path, strerror(errno));
	close(fd);
}

/* A loop of 2^20 turns, with a frame. */
static void make_jit(void)
{
#if defined(__x86_64__)
	static const unsigned char code[] = {
		0x55,                         /* push %rbp */
		0x48, 0x89, 0xe5,             /* mov %rsp, %rbp */
		0xb9, 0x00, 0x00, 0x10, 0x00, /* mov $0x100000, %ecx */
		0xff, 0xc9,                   /* dec %ecx */
		0x75, 0xfc,                   /* jnz -4 */
		0x5d,                         /* pop %rbp */
		0xc3,                         /* ret */
	};
#elif defined(__aarch64__)
	static const uint32_t code[] = {
		0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
		0x910003fd, /* mov x29, sp */
		0xd2a00200, /* mov x0, #0x100000 */
		0xf1000400, /* subs x0, x0, #1 */
		0x54ffffe1, /* b.ne -4 */
		0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
		0xd65f03c0, /* ret */
	};
#endif
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	memcpy(page, code, sizeof(code));
	__builtin___clear_cache(page, (char *)page + sizeof(code));
	jit = (void (*)(void))page;
	jit_size = sizeof(code);
	name_jit("busy_jit", O_EXCL);
}

/* Of the program, which is the first one. */
static int move_code(struct dl_phdr_info *program, size_t size, void *none)
{
	const ElfW(Phdr) *p = program->dlpi_phdr;
	void *code, *copy;
	uintptr_t offset;

	while (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
		p++;
	offset = p->p_vaddr % sysconf(_SC_PAGESIZE);
	code = (void *)(program->dlpi_addr + p->p_vaddr - offset);
	size = p->p_filesz + offset;
	copy = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (copy == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	memcpy(copy, code, size);
	__builtin___clear_cache(copy, (char *)copy + size);
	if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, code) != code)
		die("mremap: %s", strerror(errno));
	return 1;
}

__attribute__((noinline)) static void be_busy_for(uint64_t ns, void (*work)(void))
{
	deadline = cpu_ns() + ns;
	while (cpu_ns() < deadline)
		work();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*work)(void);
	} works[] = {{"user", be_busy},
		     {"kernel", be_busy_in_kernel},
		     {"jit", be_busy_in_jit},
		     {"rejit", be_busy_in_jit},
		     {"moved", be_busy}};
	uint64_t ns, begin;
	char comm[16];
	size_t i;

	help_if_asked(argc, argv);
	if (argc < 3)
		misuse("where to be busy, and MS are needed");
	for (i = 0; i < 5 && strcmp(argv[1], works[i].name); i++)
		;
	if (i == 5)
		misuse("'%s' is not user, kernel, jit, rejit or moved", argv[1]);
	ns = parse_number(argv[2], "MS", 1, 60000) * 1000000;
	if (works[i].work == be_busy_in_jit)
		make_jit();
	if (i == 4)
		dl_iterate_phdr(move_code, NULL);
	reached("ready");
	gate("go");
	begin = cpu_ns();
	be_busy_for(ns, works[i].work);
	begin = cpu_ns() - begin;
	if (i == 3) {
		name_jit("busy_jit_last", O_APPEND);
		reached("done");
		gate("named");
	}
	report_begin();
	own_comm(comm);
	put_row_of("work", own_tid(), comm, works[i].name, 1, 0);
	put(",\"cpu\":%llu}", (unsigned long long)begin);
	report_end();
	if (argc > 3) {
		fflush(stdout);
		unsetenv("WORKLOAD_GATES");
		execvp(argv[3], argv + 3);
		die("%s: %s", argv[3], strerror(errno));
	}
	return 0;
}
