// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* leaves: leaves functions of the C library by exceptions, by the end of a context and of a thread.
 */
#include <argp.h>
#include <cstdio>
#include <cstdlib>
#include <execinfo.h>
#include <fts.h>
#include <mutex>
#include <pthread.h>
#include <ucontext.h>

static ucontext_t first, second;

struct Guard {
	~Guard()
	{
		puts("a destructor");
	}
};

static void coroutine()
{
	puts("a context, which goes on in another at its end");
}

static void *thread(void *)
{
	Guard guard;

	pthread_exit(nullptr);
}

static error_t option(int, char *, struct argp_state *)
{
	throw 4;
}

static int compares(const FTSENT **, const FTSENT **)
{
	throw 5;
}

static void parses()
{
	char name[] = "leaves", *arguments[] = {name, nullptr};
	struct argp parser = {};

	parser.parser = option;
	argp_parse(&parser, 1, arguments, 0, nullptr, nullptr);
}

static void walks()
{
	char root[] = "/", *roots[] = {root, nullptr};
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, compares);

	while (fts_read(tree))
		;
}

static void attempt(void (*function)())
{
	try {
		function();
	} catch (int number) {
		printf("caught %d\n", number);
	}
}

int main()
{
	std::once_flag once;
	void *callers[9];
	pthread_t id;

	for (int i = 0; i < 3; i++)
		try {
			std::call_once(once, [&] {
				if (i < 2)
					throw i;
				puts("once");
			});
		} catch (int number) {
			printf("caught %d\n", number);
		}
	attempt(parses);
	attempt(walks);
	getcontext(&second);
	second.uc_stack.ss_size = 65536;
	second.uc_stack.ss_sp = malloc(second.uc_stack.ss_size);
	second.uc_link = &first;
	makecontext(&second, coroutine, 0);
	swapcontext(&first, &second);
	pthread_create(&id, nullptr, thread, nullptr);
	pthread_join(id, nullptr);
	printf("called from somewhere: %d\n", backtrace(callers, 9) > 1);
	return 3;
}
