// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* plug: throws through qsort(), and through a function that it is given, and catches beyond each. */
#include <cstdlib>

static void fails()
{
	throw 1;
}

static int compares(const void *, const void *)
{
	throw 1;
}

static bool sorts()
{
	int two[] = {2, 1};

	try {
		qsort(two, 2, sizeof(*two), compares);
		return true;
	} catch (int) {
		return false;
	}
}

extern "C" int plug(void (*between)(void (*)()), int times)
{
	int caught = 0;

	for (int i = 0; i < times && !sorts(); i++)
		try {
			between(fails);
		} catch (int) {
			caught++;
		}
	return caught;
}
