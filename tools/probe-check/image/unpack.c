/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* unpack: open a kernel's file, and decompress the kernel in it. */
#include "image/file.h"
#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <plumb/core/log.h>

/* A kernel with debugging checks has about 200 MB; a bad file of some kB may unpack to any size. */
#define MOST (512UL << 20)

struct bytes {
	unsigned char *data;
	size_t n, room;
};

/* Make room for SIZE more bytes, or for at least one if SIZE is 0.  0, -EFBIG or -ENOMEM. */
static int make_room(struct bytes *out, size_t size)
{
	size_t room = out->room ?: 16 << 20;
	unsigned char *more;

	while (room < out->n + (size ?: 1))
		room *= 2;
	if (room > MOST)
		return -EFBIG;
	if (room == out->room)
		return 0;
	more = realloc(out->data, room);
	if (!more)
		return -ENOMEM;
	out->data = more;
	out->room = room;
	return 0;
}

static int unpack_gzip(const unsigned char *in, size_t n, struct bytes *out)
{
	z_stream z = {.next_in = (unsigned char *)in, .avail_in = n};
	int got = inflateInit2(&z, 16 + MAX_WBITS), err = got == Z_OK ? 0 : -ENOMEM;

	while (!err && got == Z_OK) {
		err = make_room(out, 0);
		if (err)
			break;
		z.next_out = out->data + out->n;
		z.avail_out = out->room - out->n;
		got = inflate(&z, Z_NO_FLUSH);
		out->n = out->room - z.avail_out;
		if (got != Z_OK && got != Z_STREAM_END)
			err = -EBADMSG;
	}
	inflateEnd(&z);
	return err;
}

/* xz, and the older lzma. */
static int unpack_xz(const unsigned char *in, size_t n, struct bytes *out)
{
	lzma_stream z = LZMA_STREAM_INIT;
	lzma_ret got = lzma_auto_decoder(&z, MOST, 0);
	int err = got == LZMA_OK ? 0 : -ENOMEM;

	z.next_in = in;
	z.avail_in = n;
	while (!err && got == LZMA_OK) {
		err = make_room(out, 0);
		if (err)
			break;
		z.next_out = out->data + out->n;
		z.avail_out = out->room - out->n;
		got = lzma_code(&z, LZMA_RUN);
		out->n = out->room - z.avail_out;
		if (got != LZMA_OK && got != LZMA_STREAM_END)
			err = -EBADMSG;
	}
	lzma_end(&z);
	return err;
}

static int unpack_zstd(const unsigned char *in, size_t n, struct bytes *out)
{
	ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_inBuffer from = {in, n, 0};
	ZSTD_outBuffer to;
	size_t left = 1, before;
	int err = z ? 0 : -ENOMEM;

	while (!err && left) {
		err = make_room(out, 0);
		if (err)
			break;
		to = (ZSTD_outBuffer){out->data, out->room, out->n};
		before = from.pos;
		left = ZSTD_decompressStream(z, &to, &from);
		if (ZSTD_isError(left) || (left && from.pos == before && to.pos == out->n))
			err = -EBADMSG;
		out->n = to.pos;
	}
	ZSTD_freeDStream(z);
	return err;
}

static uint32_t read_u32(const unsigned char *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The format of "lz4 -l", which kernels use: blocks of 8 MB, each after its size; no end mark. */
static int unpack_lz4(const unsigned char *in, size_t n, struct bytes *out)
{
	const unsigned char *end = in + n;
	int got, err = 0;

	for (in += 4; !err && end - in > 4; in += n) {
		n = read_u32(in);
		in += 4;
		if (!n || n > (size_t)(end - in))
			return -EBADMSG;
		err = make_room(out, 8 << 20);
		got = err ? 0
			  : LZ4_decompress_safe((char *)in, (char *)out->data + out->n, n, 8 << 20);
		if (got < 0)
			err = -EBADMSG;
		else
			out->n += got;
	}
	return err;
}

static int unpack_unknown(const unsigned char *in, size_t n, struct bytes *out)
{
	return -ENOTSUP;
}

static const struct format {
	const char *name, *magic;
	size_t length;
	int (*unpack)(const unsigned char *in, size_t n, struct bytes *out);
} formats[] = {
	{"gzip", "\x1f\x8b\x08", 3, unpack_gzip},   {"xz", "\3757zXZ", 5, unpack_xz},
	{"lzma", "\x5d\0\0", 3, unpack_xz},         {"zstd", "\x28\xb5\x2f\xfd", 4, unpack_zstd},
	{"lz4", "\x02\x21\x4c\x18", 4, unpack_lz4}, {"bzip2", "BZh", 3, unpack_unknown},
	{"lzo", "\x89LZO", 4, unpack_unknown},
};

/* Replace the file's bytes by those that are compressed at FROM. */
static int unpack(const char *path, struct plumb_image_file *file, size_t from, size_t size)
{
	const unsigned char *in = file->bytes + from;
	const struct format *f, *end = formats + sizeof(formats) / sizeof(formats[0]);
	struct bytes out = {};
	int err;

	if (from > file->size || size > file->size - from)
		return plumb_error(EBADMSG, "%s is cut off", path);
	for (f = formats; f < end; f++)
		if (size >= f->length && !memcmp(in, f->magic, f->length))
			break;
	if (f == end)
		return plumb_error(ENOTSUP, "%s is compressed in a way that is not known", path);
	err = f->unpack(in, size, &out);
	if (err) {
		free(out.data);
		if (err == -ENOTSUP)
			return plumb_error(ENOTSUP, "%s is compressed by %s, which is not read",
					   path, f->name);
		return plumb_error(err, "%s cannot be unpacked (%s): %s", path, f->name,
				   err == -EFBIG     ? "it is too large"
				   : err == -EBADMSG ? "it is damaged"
						     : strerror(-err));
	}
	file->bytes = out.data;
	file->size = out.n;
	file->is_packed = true;
	return 0;
}

static bool has(const struct plumb_image_file *file, size_t at, const char *text)
{
	size_t n = strlen(text);

	return at + n <= file->size && !memcmp(file->bytes + at, text, n);
}

static bool is_arm64(const struct plumb_image_file *file)
{
	return has(file, 56, "ARM\x64");
}

static bool is_elf(const struct plumb_image_file *file)
{
	return has(file, 0, ELFMAG);
}

/* The formats are in the kernel's Documentation: arch/x86/boot.rst, arch/arm64/booting.rst. */
static int unwrap(const char *path, struct plumb_image_file *file)
{
	const unsigned char *p = file->bytes;
	size_t setup;
	int err = 0;

	if (has(file, 0x202, "HdrS") && file->size >= 0x250) {
		if (p[0x207] < 2 || (p[0x207] == 2 && p[0x206] < 8))
			return plumb_error(ENOTSUP, "%s is of a kernel before 2.6.26", path);
		setup = ((p[0x1f1] ?: 4) + 1) * 512;
		err = unpack(path, file, setup + read_u32(p + 0x248), read_u32(p + 0x24c));
	} else if (has(file, 0, "MZ") && has(file, 4, "zimg") && file->size >= 16)
		err = unpack(path, file, read_u32(p + 8), read_u32(p + 12));
	else if (has(file, 0, "\x1f\x8b"))
		err = unpack(path, file, 0, file->size);
	if (!err && !is_elf(file) && !is_arm64(file))
		err = plumb_error(ENOEXEC,
				  "%s is not a kernel that can be read (bzImage, Image, vmlinux)",
				  path);
	return err;
}

static int map(const char *path, struct plumb_image_file *file)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	struct stat st;

	if (fd < 0)
		return plumb_error(errno, "cannot open %s: %s", path, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		err = plumb_error(EINVAL, "%s is not a file, or empty", path);
	/* Writable and private: libelf may convert the byte order in place. */
	else if ((file->map = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0)) ==
		 MAP_FAILED) {
		file->map = NULL;
		err = plumb_error(errno, "cannot read %s: %s", path, strerror(errno));
	} else {
		file->bytes = file->map;
		file->size = file->map_size = st.st_size;
	}
	close(fd);
	return err;
}

int plumb_image_file_open(const char *path, struct plumb_image_file *file)
{
	int err;

	*file = (struct plumb_image_file){};
	err = map(path, file) ?: unwrap(path, file);
	if (!err && is_elf(file)) {
		elf_version(EV_CURRENT);
		file->elf = elf_memory((char *)file->bytes, file->size);
		if (!file->elf)
			err = plumb_error(ENOEXEC, "%s: %s", path, elf_errmsg(-1));
	}
	if (err)
		plumb_image_file_close(file);
	return err;
}

void plumb_image_file_close(struct plumb_image_file *file)
{
	elf_end(file->elf);
	if (file->is_packed)
		free(file->bytes);
	if (file->map)
		munmap(file->map, file->map_size);
	*file = (struct plumb_image_file){};
}
