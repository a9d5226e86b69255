/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* names: of interrupts, as the kernel has them, and of vectors and softirqs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Reads those of all interrupts, which may be gone when they are reported. */
void irq_names_read(void);

/* Formats WHAT (irq-hooks.h): "virtio0-input/34", "NET_RX"; returns TEXT. */
const char *irq_name(uint32_t what, char *text, size_t size);
