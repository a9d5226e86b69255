// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * upgrade: a library in two versions, whose function is at different places in the file.  Another
 * function calls one that is chosen at run time (ifunc).
 */
#include <sys/sdt.h>

int upgrade_work(int n);
int upgrade_indirect(int n);
int upgrade_chosen(int n);

static int chosen(int n)
{
	return n + VERSION;
}

static int (*choose(void))(int)
{
	return chosen;
}

int upgrade_chosen(int n) __attribute__((ifunc("choose")));

int upgrade_indirect(int n)
{
	return upgrade_chosen(n) + 1;
}

#if VERSION > 1
int upgrade_added(int n);
int upgrade_added(int n)
{
	volatile int sum = 0;

	for (int i = 0; i < n; i++)
		sum += i * n;
	return sum;
}
#endif

int upgrade_work(int n)
{
	volatile int sum = VERSION;

	STAP_PROBE(upgrade, begin);
	for (int i = 0; i < n; i++)
		sum += i;
	STAP_PROBE(upgrade, end);
	return sum;
}
