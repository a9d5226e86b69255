/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "said.h"
#include "unit.h"

#include <errno.h>
#include "../../tools/lib/stacks/stacks.h"
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A line a frame, as an XML parser that has nothing in common with the writer reads it. */
static const char reader[] =
	"import sys, xml.dom.minidom as dom\n"
	"for g in dom.parse(sys.argv[1]).getElementsByTagName('g'):\n"
	"    a = lambda name: g.getAttribute('data-' + name)\n"
	"    rect = g.getElementsByTagName('rect')[0]\n"
	"    print(a('depth'), a('name'), '%.3f' % float(a('from')),\n"
	"          '%.3f' % float(a('share')), rect.getAttribute('fill')[:3],\n"
	"          g.getElementsByTagName('text')[0].firstChild and\n"
	"          g.getElementsByTagName('text')[0].firstChild.data or '-')\n";

static char dir[] = "/tmp/plumb-flame-XXXXXX";
static char path[64];

static const struct plumb_flame samples = {.about = "a <title> & more", .unit = "samples"};

/* What there is in the file; "" if it is no XML. */
static char *frames_of(const char *file)
{
	static char text[1 << 20];
	char command[2048];
	size_t n;
	FILE *f;

	snprintf(command, sizeof(command), "PYTHONIOENCODING=utf-8 /usr/bin/python3 -c \"%s\" %s",
		 reader, file);
	f = popen(command, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	return pclose(f) ? "" : text;
}

/* What is in the file that was written last. */
static const char *text_of_file(void)
{
	static char text[1 << 16];
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	return text;
}

static struct plumb_tree tree;

static struct plumb_folded stack(const char *text, uint64_t weight)
{
	return (struct plumb_folded){
		.leaf = plumb_tree_parse(&tree, text), .weight = weight, .count = weight};
}

static void frames_lie_on_their_callers_as_wide_as_they_weigh(void **state)
{
	/* "main loop" sorts before "main;", and must not come between what main called. */
	const struct plumb_folded all[] = {stack("main;read;vfs_read_[k]", 50),
					   stack("main loop;x", 10), stack("main;write", 30),
					   stack("main", 10)};

	assert_int_equal(plumb_flame_write(path, &samples, &tree, all, LENGTH(all)), 0);
	assert_string_equal(frames_of(path), "0 all 0.000 1.000 #d0 all\n"
					     "1 main 0.000 0.900 hsl main\n"
					     "2 read 0.000 0.500 hsl read\n"
					     "3 vfs_read 0.000 0.500 hsl vfs_read\n"
					     "2 write 0.500 0.300 hsl write\n"
					     "1 main loop 0.900 0.100 hsl main loop\n"
					     "2 x 0.900 0.100 hsl x\n");
}

/* The colour of the frame whose title begins with NAME. */
static const char *colour_of(const char *text, const char *name)
{
	static char colour[32];
	char title[64];
	const char *at;

	snprintf(title, sizeof(title), "<title>%s", name);
	at = strstr(text, title);
	assert_non_null(at);
	assert_int_equal(sscanf(strstr(at, "fill="), "fill=\"%31[^\"]", colour), 1);
	return colour;
}

/* 0.1 of 100 more or less is not what 25 of 100 is. */
static void small_changes_are_light(void **state)
{
	const struct plumb_folded all[] = {stack("p", 501), stack("q", 499)};
	const struct plumb_folded before[] = {stack("p", 500), stack("q", 500)};
	const struct plumb_flame flame = {
		.about = "x", .unit = "samples", .before = before, .n_before = LENGTH(before)};
	const char *text;

	assert_int_equal(plumb_flame_write(path, &flame, &tree, all, LENGTH(all)), 0);
	text = text_of_file();
	assert_string_equal(colour_of(text, "p ("), "hsl(0,90%,95%)");
	assert_string_equal(colour_of(text, "q ("), "hsl(215,90%,95%)");
}

static void frames_say_what_they_were_before(void **state)
{
	const struct plumb_folded all[] = {stack("main;read", 75), stack("main;w;[u8\\x3b 2]", 25)};
	const struct plumb_folded before[] = {
		stack("main;read", 500), stack("main;w;[u8\\x3b 2]", 250), stack("main;gone", 250)};
	const struct plumb_flame changes = {
		.about = "x", .unit = "samples", .before = before, .n_before = LENGTH(before)};
	const char *text;

	assert_int_equal(plumb_flame_write(path, &changes, &tree, all, LENGTH(all)), 0);
	text = text_of_file();
	assert_non_null(strstr(text, "read (75 samples, 75.00 %; before 50.00 %, change +25.00)"));
	assert_non_null(
		strstr(text, "[u8; 2] (25 samples, 25.00 %; before 25.00 %, change +0.00)"));
	/* A frame that has not changed has no hue. */
	assert_string_equal(colour_of(text, "[u8; 2] ("), "hsl(0,0%,95%)");
	assert_string_equal(colour_of(text, "read ("), "hsl(0,90%,55%)");
	assert_non_null(strstr(text, "25.00 % of before are stacks that are gone"));
	assert_non_null(strstr(text, "hsl(0,90%,55%)"));
	assert_non_null(strstr(text, "hsl(0,0%,95%)"));
}

static void any_name_makes_valid_xml(void **state)
{
	static const struct {
		const char *name, *shown;
	} names[] = {
		{"<script>alert(1)</script>", "<script>alert(1)</script>"},
		{"a&b&amp\"'", "a&b&amp\"'"},
		{"]]>", "]]>"},
		{"\x01\x1b[31m\t\n\x7f", "\\x01\\x1b[31m\\x09\\x0a\\x7f"},
		{"\xff\xfe", "\\xff\\xfe"},
		{"\xc3\x28 \xc3", "\\xc3( \\xc3"},                       /* cut short */
		{"\xc0\xaf \xe0\x80\xaf", "\\xc0\\xaf \\xe0\\x80\\xaf"}, /* longer than need be */
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"},                     /* a surrogate */
		{"\xef\xbf\xbe \xef\xbf\xbf",
		 "\\xef\\xbf\\xbe \\xef\\xbf\\xbf"},          /* no characters */
		{"\xc2\x85", "\\xc2\\x85"},                   /* C1 */
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* beyond Unicode */
		{"gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\xa5", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\xa5"},
		{"%s%n%d", "%s%n%d"},
	};
	char wanted[256];

	for (size_t i = 0; i < LENGTH(names); i++) {
		struct plumb_folded one = stack(names[i].name, 1);

		snprintf(wanted, sizeof(wanted),
			 "0 all 0.000 1.000 #d0 all\n1 %s 0.000 1.000 hsl %s\n", names[i].shown,
			 names[i].shown);
		assert_int_equal(plumb_flame_write(path, &samples, &tree, &one, 1), 0);
		assert_string_equal(frames_of(path), wanted);
	}
}

static void a_label_is_cut_between_characters(void **state)
{
	static const char omega[] = "\xce\xa9";
	struct plumb_folded all[] = {stack("y", 39), {0}};
	char name[201] = "";

	for (size_t i = 0; i < 100; i++)
		strcat(name, omega);
	all[1] = stack(name, 1); /* 30 pixels: 3 characters, of which 2 are dots */
	assert_int_equal(plumb_flame_write(path, &samples, &tree, all, 2), 0);
	assert_non_null(strstr(frames_of(path), " hsl \xce\xa9..\n"));
}

static void what_is_too_narrow_is_not_drawn_but_counted(void **state)
{
	const struct plumb_folded all[] = {stack("a", 1000000), stack("b;c", 1)};
	const char *text;

	assert_int_equal(plumb_flame_write(path, &samples, &tree, all, 2), 0);
	assert_null(strstr(frames_of(path), " b "));
	text = text_of_file();
	assert_non_null(strstr(text, ">not drawn, too narrow: 1 "));
}

static void nothing_is_a_graph_too(void **state)
{
	const struct plumb_folded none = stack("a", 0);
	const char *text;

	assert_int_equal(plumb_flame_write(path, &samples, &tree, NULL, 0), 0);
	assert_string_equal(frames_of(path), "");
	assert_int_equal(plumb_flame_write(path, &samples, &tree, &none, 1), 0);
	text = text_of_file();
	assert_non_null(strstr(text, ">nothing recorded<"));
	assert_null(strstr(text, "too narrow"));
}

static void a_hundred_thousand_stacks_take_no_time(void **state)
{
	static struct plumb_folded all[100000];
	static char texts[LENGTH(all)][64];
	struct timespec begin, end;

	for (size_t i = 0; i < LENGTH(all); i++) {
		snprintf(texts[i], sizeof(texts[i]), "f%zu;main;g%zu;h_[k]", i % 2 ? i : 0, i);
		all[i] = stack(texts[i], 1 + i % 7);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	assert_int_equal(plumb_flame_write(path, &samples, &tree, all, LENGTH(all)), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	check(end.tv_sec - begin.tv_sec < 3, "%ld s", (long)(end.tv_sec - begin.tv_sec));
}

static void stacks_may_be_deep(void **state)
{
	const size_t depth = 5000;
	char *text = malloc(depth * 8 + 1);
	struct plumb_folded one;
	size_t n = 0;

	for (size_t i = 0; i < depth; i++)
		n += sprintf(text + n, "%sf%zu", i ? ";" : "", i);
	one = stack(text, 1);
	assert_int_equal(plumb_flame_write(path, &samples, &tree, &one, 1), 0);
	assert_non_null(strstr(frames_of(path), "4 f3 0.000 1.000"));
	free(text);
}

static void what_cannot_be_written_is_said_in_a_line(void **state)
{
	const struct plumb_folded one = stack("a", 1);

	listen_to_stderr();
	assert_int_equal(plumb_flame_write("/nonexistent/x.svg", &samples, &tree, &one, 1),
			 -ENOENT);
	assert_non_null(strstr(said(), "--flame: cannot write /nonexistent/x.svg: "
				       "No such file or directory\n"));
	listen_to_stderr();
	assert_int_equal(plumb_flame_write("/dev/full", &samples, &tree, &one, 1), -ENOSPC);
	assert_non_null(strstr(said(), "cannot write /dev/full: No space left on device\n"));
}

static void a_link_stays_one_and_a_file_is_replaced(void **state)
{
	const struct plumb_folded one = stack("a", 1);
	char to[64], link[64];
	struct stat s;

	snprintf(to, sizeof(to), "%s/to", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	fclose(fopen(to, "w"));
	assert_int_equal(chmod(to, 0604), 0);
	assert_int_equal(symlink(to, link), 0);
	assert_int_equal(plumb_flame_write(link, &samples, &tree, &one, 1), 0);
	assert_int_equal(lstat(link, &s), 0);
	assert_true(S_ISLNK(s.st_mode));
	assert_non_null(strstr(frames_of(to), "1 a 0.000"));
	assert_int_equal(plumb_flame_write(to, &samples, &tree, &one, 1), 0);
	assert_int_equal(stat(to, &s), 0);
	assert_int_equal(s.st_mode & 0777, 0604);
	unlink(link);
	unlink(to);
}

static void what_could_not_be_written_is_said_before(void **state)
{
	char link[64];

	assert_int_equal(plumb_flame_check(path, false), 0);
	snprintf(link, sizeof(link), "%s/new.svg", dir);
	assert_int_equal(plumb_flame_check(link, false), 0);
	assert_int_equal(access(link, F_OK), -1);
	assert_int_equal(plumb_flame_check("/dev/full", false), 0);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(symlink("link", link), 0);
	listen_to_stderr();
	assert_int_equal(plumb_flame_check(link, false), -EMLINK);
	assert_non_null(strstr(said(), "/link: its symbolic links form a loop\n"));
	unlink(link);
	listen_to_stderr();
	assert_int_equal(plumb_flame_check("/nonexistent/x.svg", false), -ENOENT);
	assert_non_null(strstr(said(), "--flame: cannot write /nonexistent/x.svg: "
				       "No such file or directory\n"));
	listen_to_stderr();
	assert_int_equal(plumb_flame_check(dir, false), -EISDIR);
	assert_non_null(strstr(said(), "Is a directory\n"));
}

/* What others wrote there since it was checked is theirs. */
static void a_file_that_appears_or_changes_is_left(void **state)
{
	const char *texts[] = {"", "mine", "mine, and more"};
	char file[64], text[32] = "";
	FILE *f;

	snprintf(file, sizeof(file), "%s/theirs.svg", dir);
	for (size_t i = 1; i < LENGTH(texts); i++) {
		assert_int_equal(plumb_flame_check(file, false), 0);
		f = fopen(file, "w");
		fputs(texts[i], f);
		fclose(f);
		listen_to_stderr();
		assert_int_equal(plumb_flame_write(file, &samples, &tree, NULL, 0), -ESTALE);
		assert_non_null(strstr(said(), "--flame: cannot write"));
		f = fopen(file, "r");
		assert_non_null(fgets(text, sizeof(text), f));
		fclose(f);
		assert_string_equal(text, texts[i]);
	}
	assert_int_equal(plumb_flame_check(file, false), 0);
	assert_int_equal(plumb_flame_write(file, &samples, &tree, NULL, 0), 0);
	unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_lie_on_their_callers_as_wide_as_they_weigh),
		cmocka_unit_test(frames_say_what_they_were_before),
		cmocka_unit_test(small_changes_are_light),
		cmocka_unit_test(any_name_makes_valid_xml),
		cmocka_unit_test(a_label_is_cut_between_characters),
		cmocka_unit_test(what_is_too_narrow_is_not_drawn_but_counted),
		cmocka_unit_test(nothing_is_a_graph_too),
		cmocka_unit_test(a_hundred_thousand_stacks_take_no_time),
		cmocka_unit_test(stacks_may_be_deep),
		cmocka_unit_test(what_cannot_be_written_is_said_in_a_line),
		cmocka_unit_test(what_could_not_be_written_is_said_before),
		cmocka_unit_test(a_file_that_appears_or_changes_is_left),
		cmocka_unit_test(a_link_stays_one_and_a_file_is_replaced),
	};
	int failed;

	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/flame.svg", dir);
	failed = run_all(tests);
	unlink(path);
	rmdir(dir);
	return failed;
}
