// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <plumb/symbols/debugfile.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <plumb/symbols/elffile.h>

/* Maximum size of a debug file without a build id, which is read as a whole for its CRC. */
#define CHECKED (256 << 20)

/* Maximum size of .gnu_debugdata; a sparse file can claim to have a larger one. */
#define SECTION (256UL << 20)

/* Maximum size of .gnu_debugdata when decoded, and of the memory for decoding it. */
#define MINIDEBUG (128UL << 20)

/* --- checking a debug file --- */

static bool has_crc(int fd, uint32_t wanted)
{
	unsigned char buffer[1 << 13];
	uLong crc = crc32(0, NULL, 0);
	ssize_t n;

	for (off_t at = 0; (n = pread(fd, buffer, sizeof(buffer), at)) > 0; at += n)
		crc = crc32(crc, buffer, n);
	return !n && crc == wanted;
}

struct wanted {
	unsigned char id[PLUMB_BUILD_ID_MAX];
	size_t id_size;
	uint32_t crc; /* without an id */
	uid_t owner;
	bool is_anyones;
};

static bool is_wanted(int fd, const struct wanted *w)
{
	unsigned char id[PLUMB_BUILD_ID_MAX];
	struct stat st;
	bool is = false;
	Elf *elf;

	if (fstat(fd, &st) ||
	    (st.st_uid && st.st_uid != w->owner && st.st_uid != geteuid() && !w->is_anyones))
		return false;
	if (!w->id_size)
		return st.st_size <= CHECKED && has_crc(fd, w->crc);
	elf = plumb_elf_begin(fd, ELF_C_READ);
	if (elf_kind(elf) == ELF_K_ELF)
		is = plumb_elf_build_id(elf, id) == w->id_size && !memcmp(id, w->id, w->id_size);
	elf_end(elf);
	return is;
}

/* Tries PATH below the root of the process, then below the tool's own. */
static int try(int root, int host, const char *path, const struct wanted *w)
{
	int roots[] = {root, host}, fd = -ENOENT, err = -ENOENT;

	for (size_t i = 0; fd < 0 && i < 2; i++) {
		fd = roots[i] < 0 ? -ENOENT : plumb_open_in_root(roots[i], path, true);
		if (fd >= 0 && !is_wanted(fd, w)) {
			close(fd);
			fd = err = -ESTALE;
		}
	}
	return fd < 0 ? err : fd;
}

/* --- paths of debug files --- */

#define DEBUG ".debug"

static int try_build_id(int root, int host, const struct wanted *w, const char *suffix)
{
	char path[64 + 2 * PLUMB_BUILD_ID_MAX];
	int n = snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%02x/", w->id[0]);

	for (size_t i = 1; i < w->id_size; i++)
		n += snprintf(path + n, sizeof(path) - n, "%02x", w->id[i]);
	snprintf(path + n, sizeof(path) - n, "%s", suffix);
	return try(root, host, path, w);
}

/* Where debuginfod-find(1) puts files, its manual page; false: nowhere. */
static bool debuginfod_cache(char *path, size_t size)
{
	static const struct {
		const char *variable, *below;
	} places[] = {
		{"DEBUGINFOD_CACHE_PATH", ""},
		{"XDG_CACHE_HOME", "/debuginfod_client"},
		{"HOME", "/.cache/debuginfod_client"},
	};
	const char *value;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		value = getenv(places[i].variable);
		if (value && *value == '/')
			return (size_t)snprintf(path, size, "%s%s", value, places[i].below) < size;
	}
	return false;
}

/* What has been fetched already: no tool asks a server. */
static int try_debuginfod(int host, const struct wanted *w, const char *name)
{
	char path[PATH_MAX];
	size_t n;

	if (!debuginfod_cache(path, sizeof(path) - 2 * sizeof(w->id) - sizeof("//executable")))
		return -ENOENT;
	n = strlen(path);
	path[n++] = '/';
	for (size_t i = 0; i < w->id_size; i++)
		n += snprintf(path + n, sizeof(path) - n, "%02x", w->id[i]);
	snprintf(path + n, sizeof(path) - n, "/%s", name);
	return try(-1, host, path, w);
}

/* Reads .gnu_debuglink: a file's name, and its CRC at the next multiple of 4; NULL: none. */
static const char *read_link(Elf *elf, uint32_t *crc)
{
	GElf_Shdr header;
	Elf_Scn *section = plumb_elf_section(elf, ".gnu_debuglink", &header);
	Elf_Data *data = section && header.sh_size < 4096 ? elf_rawdata(section, NULL) : NULL;
	const char *name = data ? data->d_buf : NULL, *end;
	size_t at;

	end = name ? memchr(name, 0, data->d_size) : NULL;
	if (!end || end == name || memchr(name, '/', end - name))
		return NULL;
	at = (end - name) / 4 * 4 + 4;
	if (at + sizeof(*crc) > data->d_size)
		return NULL;
	memcpy(crc, name + at, sizeof(*crc));
	return name;
}

static int try_link(int root, int host, const char *file, const char *name, const struct wanted *w)
{
	static const char *const forms[] = {"%.*s/%s", "%.*s/.debug/%s", "/usr/lib/debug%.*s/%s"};
	const char *slash = strrchr(file, '/');
	char path[8192];
	int fd = -ENOENT, err = -ENOENT;

	for (size_t i = 0; slash && fd < 0 && i < sizeof(forms) / sizeof(forms[0]); i++) {
		snprintf(path, sizeof(path), forms[i], (int)(slash - file), file, name);
		fd = try(root, host, path, w);
		err = fd == -ESTALE ? fd : err;
	}
	return fd < 0 ? err : fd;
}

int plumb_debug_open(Elf *elf, const char *path, int root, uid_t owner)
{
	struct wanted w = {.owner = owner};
	int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -ENOENT, err, found;
	const char *name = read_link(elf, &w.crc);

	w.id_size = plumb_elf_build_id(elf, w.id);
	if (w.id_size)
		fd = try_build_id(root, host, &w, DEBUG);
	err = fd;
	if (fd < 0 && name)
		fd = try_link(root, host, path, name, &w);
	if (fd == -ENOENT)
		fd = err;
	if (fd < 0 && w.id_size && (found = try_debuginfod(host, &w, "debuginfo")) >= 0)
		fd = found;
	if (host >= 0)
		close(host);
	return fd;
}

int plumb_debug_open_build(const char *path, const void *id, size_t size)
{
	struct wanted w = {.id_size = size, .is_anyones = true};
	int host, fd;

	if (!size || size > sizeof(w.id))
		return -ENOENT;
	memcpy(w.id, id, size);
	host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = path ? try(-1, host, path, &w) : try_build_id(-1, host, &w, DEBUG);
	if (host >= 0)
		close(host);
	return fd;
}

int plumb_debug_find_build(int root, const void *id, size_t size)
{
	struct wanted w = {.id_size = size};
	int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	memcpy(w.id, id, size);
	fd = try_build_id(root, host, &w, "");
	if (fd < 0)
		fd = try_debuginfod(host, &w, "executable");
	if (fd < 0)
		fd = try_build_id(root, host, &w, DEBUG);
	if (fd < 0)
		fd = try_debuginfod(host, &w, "debuginfo");
	if (host >= 0)
		close(host);
	return fd;
}

/* --- .gnu_debugdata --- */

/* Decompresses SOURCE; malloc'd, or NULL. */
static char *decode(const void *source, size_t n, size_t *size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	char *text = NULL, *more;
	size_t room = 0;
	lzma_ret result = lzma_stream_decoder(&stream, MINIDEBUG, 0);

	stream.next_in = source;
	stream.avail_in = n;
	while (result == LZMA_OK) {
		if (!stream.avail_out) {
			room = room ? 2 * room : 1 << 20;
			more = room <= MINIDEBUG ? realloc(text, room) : NULL;
			if (!more)
				break;
			text = more;
			stream.next_out = (void *)(text + stream.total_out);
			stream.avail_out = room - stream.total_out;
		}
		result = lzma_code(&stream, LZMA_FINISH);
	}
	*size = stream.total_out;
	lzma_end(&stream);
	if (result == LZMA_STREAM_END)
		return text;
	free(text);
	return NULL;
}

char *plumb_debug_mini(Elf *elf, size_t *size, bool *damaged)
{
	GElf_Shdr header;
	Elf_Scn *section = plumb_elf_section(elf, ".gnu_debugdata", &header);
	Elf_Data *data = section && header.sh_size <= SECTION ? elf_rawdata(section, NULL) : NULL;
	char *image = data && data->d_buf ? decode(data->d_buf, data->d_size, size) : NULL;

	*damaged = section && !image;
	return image;
}
