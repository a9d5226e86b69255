// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* throws: functions of C++ that exceptions leave, N times each. */
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace throws
{
class Calls
{
      public:
	__attribute__((noinline)) static int odd(int n)
	{
		if (n % 2)
			throw std::runtime_error("odd");
		asm volatile("");
		return n;
	}

	__attribute__((noinline)) static int between(int n)
	{
		int even = odd(n);

		asm volatile("" : "+r"(even));
		return even;
	}

	__attribute__((noinline)) static int outer(int n)
	{
		try {
			return between(n) + 1;
		} catch (const std::exception &) {
			return -1;
		}
	}
};
} // namespace throws

/* Prints how often outer() caught an exception. */
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0, caught = 0;

	for (int i = 0; i < n; i++)
		caught += throws::Calls::outer(i) < 0;
	fprintf(stderr, "caught %d\n", caught);
	return 0;
}
