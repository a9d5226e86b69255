/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/report.h>
#include <plumb/core/text.h>
#include <plumb/recorder/slower.h>

static const struct plumb_slower *slower;

/* In JSON the rows of reports stay. */
static void refuse_table_options(const struct plumb_options *o)
{
	const char *option = o->by_given    ? "--by"
			     : o->histogram ? "--histogram"
			     : o->top_given ? "--top"
			     : o->sort      ? "--sort"
			     : o->columns   ? "--columns"
					    : NULL;

	if (!o->json && option)
		plumb_usage_error("%s cannot be combined with --slower, which prints no table",
				  option);
}

static void print_none(const struct plumb_report *r, FILE *out)
{
	char text[32];

	if (r->final && !slower->records->printed)
		fprintf(out, "none took %s or longer\n",
			plumb_format_time(slower->min_ns, PLUMB_AUTO, text, sizeof(text)));
}

void plumb_slower_complete(const struct plumb_slower *s, struct plumb_tool *tool,
			   const struct plumb_options *o)
{
	if (!s->asked)
		return;
	slower = s;
	refuse_table_options(o);
	s->records->may_keep = true;
	tool->view.one_by_one = true;
	tool->view.rows = print_none;
}
