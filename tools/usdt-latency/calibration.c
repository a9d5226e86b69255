/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "calibration.h"

#include <errno.h>
#include <plumb/bpf/function/function.h>
#include <plumb/core/run.h>
#include <plumb/cost/calibrate.h>
#include <plumb/user/probe-userfuncs.h>
#include <plumb/user/self-test.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "places.h"

/* START and DONE, nops of one byte as those of sys/sdt.h (of four on arm64). */
asm(".pushsection .text\n"
    ".balign 4\n"
    ".globl usdt_self_test_start, usdt_self_test_done\n"
    ".hidden usdt_self_test_start, usdt_self_test_done\n"
    "usdt_self_test_start:\n"
    "	nop\n"
    "usdt_self_test_done:\n"
    "	nop\n"
    "	ret\n"
    ".popsection\n");

void usdt_self_test_start(void);
void usdt_self_test_done(void);

static int attach_end(const struct plumb_bpf *bpf, struct plumb_probes *probes, int end,
		      void (*where)(void), char *what, size_t size)
{
	/* Arguments are constants, which read a few ns faster than registers. */
	const struct plumb_usdt_arg constant = {.kind = PLUMB_USDT_CONSTANT, .size = 8};
	const struct usdt_place place = {.by = constant, .pair = constant};
	const int map = bpf_object__find_map_fd_by_name(bpf->object, "usdt_places");
	const uint32_t number = end;
	struct plumb_userfuncs found;
	int err;

	if (bpf_map_update_elem(map, &number, &place, 0))
		return -errno;
	err = plumb_self_test_find_userfunc(where, &found);
	if (err)
		return err;
	err = plumb_probe_userfuncs(probes, bpf->object, usdt_hook(bpf, end), &found, number, 0,
				    what, size);
	plumb_userfuncs_free(&found);
	return err;
}

int usdt_calibration_attach(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what,
			    size_t size)
{
	probes->with_cookies = bpf->function->with_cookies;
	return attach_end(bpf, probes, USDT_DONE, usdt_self_test_done, what, size)
		       ?: attach_end(bpf, probes, USDT_START, usdt_self_test_start, what, size);
}

void usdt_calibrate(struct plumb_run *run)
{
	const struct plumb_mechanism *m = run->instance.mechanism;
	struct plumb_overhead o = {};

	if (!plumb_calibrate_mechanism(run, m, PLUMB_CALIBRATION_TAKES, usdt_self_test_start,
				       &o.traced))
		return;
	o.filtered_known = plumb_calibrate_mechanism(run, m, PLUMB_CALIBRATION_REJECTS,
						     usdt_self_test_start, &o.filtered);
	plumb_overhead_judge(&o);
	run->overhead = o;
}
