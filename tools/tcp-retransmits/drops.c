/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "drops.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/json.h>
#include <plumb/core/privileges.h>
#include <plumb/core/program.h>
#include <plumb/core/text.h>
#include <plumb/inflight/states.h>
#include <plumb/kernel/types.h>
#include <plumb/symbols/symbols.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "tcp-retransmits.h"

/* By number, without the prefix; above, reasons of other subsystems have no names here. */
static char *names[RESENT_REASONS];

static void read_names(const struct btf *btf)
{
	static const char prefix[] = "SKB_DROP_REASON_";
	const __s32 id = btf__find_by_name_kind(btf, "skb_drop_reason", BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;
	const char *name;

	for (int i = 0; t && i < btf_vlen(t); i++) {
		const __u32 number = btf_enum(t)[i].val;

		name = btf__name_by_offset(btf, btf_enum(t)[i].name_off);
		if (number < RESENT_REASONS && !names[number] &&
		    !strncmp(name, prefix, sizeof(prefix) - 1))
			names[number] = strdup(name + sizeof(prefix) - 1);
	}
}

int drops_prepare(const char *file)
{
	struct btf *btf = plumb_types_get(file);

	if (!btf)
		return -EOPNOTSUPP;
	plumb_retain(PLUMB_CAP(SYSLOG), 0, "names of functions that drop packets");
	read_names(btf);
	plumb_kernel_btf_put(btf);
	return 0;
}

/*
 * What TCP frees in its own right can be a copy of what it has.  Data that it has for sure are in
 * some of its reasons.
 */
void drops_judge(uint8_t verdicts[RESENT_REASONS])
{
	static const char *const copies[] = {"TCP_OLD_DATA", "TCP_OLD_SEQUENCE", "TCP_OFOMERGE"};

	for (size_t i = 0; i < RESENT_REASONS; i++) {
		if (names[i] && !strncmp(names[i], "TCP_", 4))
			verdicts[i] = RESENT_AMBIGUOUS;
		for (size_t j = 0; names[i] && j < sizeof(copies) / sizeof(*copies); j++)
			if (!strcmp(names[i], copies[j]))
				verdicts[i] = RESENT_COPY;
	}
}

static const struct bpf_object *used;

int drops_use(struct bpf_object *object)
{
	used = object;
	return 0;
}

void drops_format(uint64_t why, char *text, size_t size)
{
	struct plumb_frame_name f;

	if (!why) {
		snprintf(text, size, "none-seen");
	} else if (RESENT_IS_ADDRESS(why)) {
		plumb_symbolize_caller(why, &f);
		snprintf(text, size, "%s", f.function ?: "unknown");
	} else if (why < RESENT_REASONS && names[why]) {
		snprintf(text, size, "%s", names[why]);
	} else {
		snprintf(text, size, "%#" PRIx64, why);
	}
}

/* --- evidence --- */

struct evidence {
	uint64_t seen, joined, kept; /* KEPT: they still may be joined */
	uint64_t missed;             /* executions that the kernel skipped; UINT64_MAX: unknown */
};

static uint64_t counter(const char *name)
{
	size_t size;
	const __u64 *at = plumb_states_variable(used, name, &size);

	return at ? *at : 0;
}

/* Joined ones are read before seen ones: none is joined that was not seen. */
static struct evidence find_evidence(void)
{
	const struct bpf_program *p = bpf_object__find_program_by_name(used, "segment_dropped");
	struct evidence e = {.joined = counter("resent_joined")};
	size_t size;
	const struct resent_drop *d = plumb_states_variable(used, "resent_drops", &size);

	for (size_t i = 0; d && i < size / sizeof(*d); i++)
		e.kept += d[i].id && !d[i].sent;
	e.seen = counter("resent_dropped");
	if (!plumb_program_missed(bpf_program__fd(p), &e.missed))
		e.missed = UINT64_MAX;
	return e;
}

static uint64_t forgotten(const struct evidence *e)
{
	const uint64_t known = e->joined + e->kept;

	return e->seen > known ? e->seen - known : 0;
}

void drops_print(FILE *out)
{
	const struct evidence e = find_evidence();
	char text[256], missed[64] = "";

	if (e.missed == UINT64_MAX)
		snprintf(missed, sizeof(missed), ", drops that were missed are not counted here");
	else if (e.missed)
		snprintf(missed, sizeof(missed), ", %" PRIu64 " drops of any kind missed",
			 e.missed);
	snprintf(text, sizeof(text),
		 "segments that this host dropped: %" PRIu64 ", of which %" PRIu64
		 " were retransmitted; evidence lost: %" PRIu64 " of them%s",
		 e.seen, e.joined, forgotten(&e), missed);
	plumb_print_wrapped(text, out);
}

json_t *drops_json(void)
{
	const struct evidence e = find_evidence();

	return json_pack("{s:o, s:o, s:o, s:o}", "seen", plumb_json_u64(e.seen), "retransmitted",
			 plumb_json_u64(e.joined), "lost", plumb_json_u64(forgotten(&e)), "missed",
			 e.missed == UINT64_MAX ? json_null() : plumb_json_u64(e.missed));
}
