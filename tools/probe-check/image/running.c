/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* running: read the running kernel from /proc and /sys, or from its file. */
#include "image/file.h"
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/kernel/types.h>

/* Read a whole file of /proc or /sys, malloc'd; NULL and errno if it cannot be read. */
static char *read_all(const char *path, size_t *size)
{
	FILE *in = fopen(path, "re"), *out;
	char *text = NULL, some[8192];
	size_t n;
	int err;

	if (!in)
		return NULL;
	out = open_memstream(&text, size);
	while (out && (n = fread(some, 1, sizeof(some), in)))
		fwrite(some, 1, n, out);
	err = ferror(in) ? EIO : 0;
	if (!out || fclose(out))
		err = ENOMEM;
	fclose(in);
	if (!err)
		return text;
	free(text);
	errno = err;
	return NULL;
}

static void take_notes(struct plumb_image *image)
{
	Elf_Data notes = {.d_type = ELF_T_NHDR, .d_version = EV_CURRENT, .d_align = 4};

	notes.d_buf = read_all("/sys/kernel/notes", &notes.d_size);
	if (notes.d_buf)
		image->build_id_size = plumb_elf_build_id_in(&notes, image->build_id);
	free(notes.d_buf);
}

/* Add the memory from symbol FROM to symbol TO, from /proc/kcore. */
static int add_memory(struct plumb_image *image, const char *from, const char *to, bool is_code)
{
	uint64_t start = plumb_image_address(image, from), end = plumb_image_address(image, to);
	Elf *core = image->file->elf;
	Elf_Data *data = NULL;
	GElf_Phdr p;
	size_t n = 0;

	elf_getphdrnum(core, &n);
	for (size_t i = 0; start < end && !data && i < n && gelf_getphdr(core, i, &p); i++)
		if (p.p_type == PT_LOAD && start >= p.p_vaddr && end - p.p_vaddr <= p.p_memsz)
			data = elf_getdata_rawchunk(core, p.p_offset + (start - p.p_vaddr),
						    end - start, ELF_T_BYTE);
	return data ? plumb_image_add(image, (struct plumb_span){.address = start,
								 .bytes = data->d_buf,
								 .size = data->d_size,
								 .is_code = is_code})
		    : -ENOENT;
}

/* Read the kernel's memory from /proc/kcore, which has the form of a core file. */
static int read_core(struct plumb_image *image)
{
	static const char path[] = "/proc/kcore";
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	image->file->elf = elf_begin(fd, ELF_C_READ, NULL);
	err = add_memory(image, "_stext", "_etext", true);
	if (!err) {
		/* Not the gaps between, which the kernel frees: they have other data then. */
		image->has_data = !add_memory(image, "__start_rodata", "__end_rodata", false) &&
				  !add_memory(image, "_sdata", "_edata", false);
		image->path = strdup(path);
	}
	close(fd);
	return err;
}

static bool is_of(const struct plumb_image *file, const struct plumb_image *running)
{
	if (file->build_id_size && running->build_id_size)
		return file->build_id_size == running->build_id_size &&
		       !memcmp(file->build_id, running->build_id, file->build_id_size);
	return file->release && !strcmp(file->release, running->release);
}

/* Read the file of the running kernel IMAGE, and move its spans to where they are in that. */
static int open_file(const struct plumb_image *image, struct plumb_image *file)
{
	static const char *const places[] = {"/boot/vmlinuz-%s", "/lib/modules/%s/vmlinuz",
					     "/boot/vmlinux-%s", "/boot/Image-%s"};
	uint64_t slide = 0;
	char path[256];
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), places[i], image->release);
		if (!access(path, R_OK))
			break;
	}
	if (i == sizeof(places) / sizeof(places[0]))
		return -ENOENT;
	if (plumb_image_open(path, file))
		return -ENOEXEC;
	if (!is_of(file, image) || !file->n_spans) {
		plumb_image_close(file);
		return -ESTALE;
	}
	if (plumb_image_address(image, "_stext"))
		slide = plumb_image_address(image, "_stext") - plumb_image_address(file, "_stext");
	for (i = 0; i < file->n_spans; i++) {
		file->spans[i].address += slide;
		file->spans[i].slide = slide;
	}
	return 0;
}

/* Use the kernel's file instead of its memory. */
static int read_file(struct plumb_image *image)
{
	struct plumb_image file;
	int err = open_file(image, &file);

	if (err)
		return err;
	if (plumb_image_address(image, "_stext")) {
		free(file.symbols);
		file.symbols = image->symbols;
		image->symbols = NULL;
	}
	plumb_image_close(image);
	*image = file;
	return 0;
}

/* Memory does not have init code any more.  Without the file, the image has none. */
static void add_init(struct plumb_image *image)
{
	struct plumb_image *file = calloc(1, sizeof(*file));

	if (!file || open_file(image, file)) {
		free(file);
		return;
	}
	image->boot = file;
	for (size_t i = 0; i < file->n_spans; i++)
		if (file->spans[i].is_init && plumb_image_add(image, file->spans[i]))
			return;
}

static void say_why(char *text, size_t size, const struct plumb_image *image, int core, int file)
{
	snprintf(text, size, "/proc/kcore cannot be read (%s), and %s for %s",
		 core == -EPERM || core == -EACCES
			 ? "not permitted: root is needed, and no lockdown"
		 : !plumb_image_address(image, "_stext") ? "addresses are hidden"
							 : strerror(-core),
		 file == -ESTALE   ? "what is in /boot is another kernel"
		 : file == -ENOENT ? "no file is in /boot"
				   : "the file in /boot cannot be read",
		 image->release);
}

int plumb_image_open_running(struct plumb_image *image, char *why_no_code, size_t size)
{
	struct utsname name;
	int core, file;

	*image = (struct plumb_image){.file = calloc(1, sizeof(*image->file))};
	*why_no_code = 0;
	image->release = uname(&name) ? NULL : strdup(name.release);
	image->symbols = read_all("/proc/kallsyms", &(size_t){0});
	if (!image->file || !image->release || !image->symbols) {
		int err = plumb_error(errno,
				      "cannot read the running kernel: "
				      "/proc/kallsyms: %s",
				      strerror(errno));

		plumb_image_close(image);
		return err;
	}
	image->machine = !strcmp(name.machine, "aarch64") ? EM_AARCH64 : EM_X86_64;
	image->btf = plumb_kernel_btf_get();
	take_notes(image);
	core = read_core(image);
	file = core ? read_file(image) : 0;
	if (!core)
		add_init(image);
	if (file)
		say_why(why_no_code, size, image, core, file);
	return 0;
}
