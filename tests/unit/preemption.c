// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* preemption: what the kernel says of itself, on each of the kernels that say it differently. */
#include "unit.h"
#include <plumb/kernel/preemption.h>

static const struct {
	struct plumb_preemption says;
	bool preemptible;
} kernels[] = {
	{{.version = "#1 SMP Debian 5.10.262-1 (2026-07-31)"}, false},
	{{.version = "#1 SMP PREEMPT_RT Debian 6.1.192-2 (2026-11-16)"}, true},
	{{.version = "#1 SMP PREEMPT_RT Debian 7.3.4-1", .mode = "(full) lazy \n"}, true},
	{{.version = "#1 SMP PREEMPT"}, true},
	{{.version = "#1 SMP PREEMPT_LAZY"}, true},
	/* Chosen at run time. */
	{{.version = "#1 SMP PREEMPT_DYNAMIC", .mode = "none (voluntary) full \n"}, false},
	{{.version = "#1 SMP PREEMPT_DYNAMIC", .mode = "(none) voluntary full \n"}, false},
	{{.version = "#1 SMP PREEMPT_DYNAMIC", .mode = "none voluntary (full) \n"}, true},
	{{.version = "#1 SMP PREEMPT_DYNAMIC", .mode = "full (lazy) \n"}, true},
	/* The mode is what holds now. */
	{{.version = "#1 SMP PREEMPT_DYNAMIC",
	  .mode = "none voluntary (full) \n",
	  .cmdline = "preempt=none",
	  .config = "CONFIG_PREEMPT_NONE=y\n"},
	 true},
	/* At the boot, where debugfs is not to be had. */
	{{.version = "#1 SMP PREEMPT_DYNAMIC", .cmdline = "quiet preempt=voluntary\n"}, false},
	{{.version = "#1 SMP PREEMPT_DYNAMIC",
	  .cmdline = "preempt=none preempt=full quiet\n",
	  .config = "CONFIG_PREEMPT_VOLUNTARY=y\n"},
	 true},
	{{.version = "#1 SMP PREEMPT_DYNAMIC",
	  .cmdline = "nopreempt=none quiet\n",
	  .config = "CONFIG_PREEMPT_VOLUNTARY=y\n"},
	 false},
	{{.version = "#1 SMP PREEMPT_DYNAMIC", .cmdline = "rcu.nopreempt=none\n"}, true},
	/* When it was built. */
	{{.version = "#1 SMP PREEMPT_DYNAMIC", .config = "CONFIG_PREEMPT_NONE=y\n"}, false},
	/* It does not say: not to miss a call, it is taken to be. */
	{{.version = "#1 SMP PREEMPT_DYNAMIC"}, true},
	{{}, true},
};

static void each_kernel_is_judged(void **state)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (plumb_preemption_judge(&kernels[i].says) != kernels[i].preemptible)
			fail_msg("kernel %zu: %s", i, kernels[i].says.version ?: "(silent)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kernel_is_judged),
	};

	return run_all(tests);
}
