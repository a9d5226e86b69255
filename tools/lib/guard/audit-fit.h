/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* audit fit: a record as text, made to fit into what the sink takes. */
#ifndef AUDIT_FIT_H
#define AUDIT_FIT_H

#include <jansson.h>

#include "audit-sink.h"

/*
 * Returns RECORD as text, malloc'd.  If it is too long, its longest lists are cut, then words, and
 * the member "cut" is true; how long lists were is in members of their own.  NULL: no memory.
 */
char *plumb_audit_fit(const json_t *record, const struct plumb_sink *sink);

#endif
