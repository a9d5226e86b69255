// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* plug: throws through a function that it is given, and catches beyond it. */
static void fails()
{
	throw 1;
}

extern "C" int plug(void (*between)(void (*)()), int times)
{
	int caught = 0;

	for (int i = 0; i < times; i++)
		try {
			between(fails);
		} catch (int) {
			caught++;
		}
	return caught;
}
