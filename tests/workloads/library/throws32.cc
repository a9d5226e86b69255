// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* throws32: a 32-bit program with exceptions that leave qsort(), made without headers and start-up
 * files of 32 bits, which a machine of 64 does not have. */
extern "C" {
int printf(const char *, ...);
void qsort(void *, unsigned, unsigned, int (*)(const void *, const void *));
int __libc_start_main(int (*)(), int, char **, void (*)(), void (*)(), void (*)(), void *);
void begin(int, char **);
}

static int compares(const void *, const void *)
{
	throw 1;
}

__attribute__((noinline)) static int sorts()
{
	int two[] = {2, 1};

	try {
		qsort(two, 2, sizeof(*two), compares);
		return 0;
	} catch (int number) {
		return number;
	}
}

static int calls()
{
	int caught = 0;

	for (int i = 0; i < 100; i++)
		caught += sorts();
	printf("caught %d\n", caught);
	return 3;
}

asm(".globl _start\n"
    "_start: pop %eax; mov %esp, %ecx; and $-16, %esp; sub $8, %esp\n"
    "push %ecx; push %eax; call begin; hlt");

void begin(int argc, char **argv)
{
	__libc_start_main(calls, argc, argv, nullptr, nullptr, nullptr, nullptr);
}
