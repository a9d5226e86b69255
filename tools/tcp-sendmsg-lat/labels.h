/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* labels: names for the far ends of connections, from a file (--labels). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "addresses.h"

#define TCP_MAX_LABELS 4096
#define TCP_LABEL_LEN  32 /* with its NUL */

struct tcp_label {
	struct tcp_prefix prefix;
	uint16_t port;  /* 0: all */
	uint32_t first; /* index of the first entry of this name: the key of all of them */
	const char *file;
	unsigned int line;
	char name[TCP_LABEL_LEN];
};

struct tcp_labels {
	struct tcp_label *list;
	size_t n;
};

/*
 * Parse a line of a file, without its newline; LINE is modified.  Returns 1 and a LABEL (name,
 * prefix, port), 0 if the line has none, or -EINVAL and the reason in *WHY.
 */
int tcp_parse_label(char *line, struct tcp_label *label, const char **why);

/* Add the labels of FILE, whose name is not copied; 0, or -errno after messages. */
int tcp_labels_read(struct tcp_labels *labels, const char *file);
