/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* calibration: a START and a DONE in this program, for measuring what the tool's probes cost. */
#ifndef USDT_LATENCY_CALIBRATION_H
#define USDT_LATENCY_CALIBRATION_H

#include <plumb/core/tool.h>
#include <plumb/functions/probe.h>

/* struct plumb_bpf.attach of a calibration instance. */
int usdt_calibration_attach(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what,
			    size_t size);

/* struct plumb_tool_overhead.calibrate */
void usdt_calibrate(struct plumb_run *run);

#endif
