/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spool.c - see spool.h.
 *
 * The order in which files come and go makes a pusher that is killed lose and repeat nothing: first the new base, then the
 * profile, then the old base goes.  Two bases of a process, and no profile of the newer one's number: that profile was never
 * complete, and the older base counts.  A profile is sent only after all that.
 */
#include "push/spool.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/new_file.h"

enum { DIGITS = 20 /* of a number in a file's name */, BASE_DAYS = 30 };

static const char head_begin[] = "pmem-push 1";
static const char bases_end[] = ".base";

/* --- names ----------------------------------------------------------------------------------- */

static bool parse_number(const char *text, uint64_t *number)
{
	size_t i;

	for (i = 0; i < DIGITS; i++)
		if (!isdigit((unsigned char)text[i]))
			return false;
	errno = 0;
	*number = strtoull(text, NULL, 10);
	return errno == 0 && *number > 0 && *number < UINT64_MAX;
}

/* NUMBER.PROTOCOL; rest is what follows the protocol's name: "", or what new_file adds while a file is not complete. */
static bool parse_item(const char *name, uint64_t *number, enum target_protocol *protocol,
		       const char **rest)
{
	size_t length;
	unsigned i;

	if (!parse_number(name, number) || name[DIGITS] != '.')
		return false;
	name += DIGITS + 1;
	length = strcspn(name, ".");
	for (i = 0; i < TARGET_PROTOCOLS; i++) {
		const char *known = target_protocol_name((enum target_protocol)i);

		if (strlen(known) != length || strncmp(known, name, length) != 0)
			continue;
		*protocol = (enum target_protocol)i;
		*rest = name + length;
		return true;
	}
	return false;
}

/* KEY.NUMBER.base; key has SPOOL_KEY_SIZE bytes. */
static bool parse_base(const char *name, char *key, uint64_t *number, const char **rest)
{
	size_t length = strcspn(name, ".");

	if (length == 0 || length >= SPOOL_KEY_SIZE || name[length] != '.' ||
	    !parse_number(name + length + 1, number) ||
	    strncmp(name + length + 1 + DIGITS, bases_end, strlen(bases_end)) != 0)
		return false;
	memcpy(key, name, length);
	key[length] = '\0';
	*rest = name + length + 1 + DIGITS + strlen(bases_end);
	return true;
}

/* To be freed; NULL: no memory. */
static char *item_path(const struct spool *spool, uint64_t number)
{
	char *path;

	return asprintf(&path, "%s/%0*" PRIu64 ".%s", spool->folder, DIGITS, number,
			target_protocol_name(spool->protocol)) < 0
		       ? NULL
		       : path;
}

static char *base_path(const struct spool *spool, const char *key, uint64_t number)
{
	char *path;

	return asprintf(&path, "%s/%s.%0*" PRIu64 "%s", spool->folder, key, DIGITS, number,
			bases_end) < 0
		       ? NULL
		       : path;
}

/* --- what is there --------------------------------------------------------------------------- */

static bool add_item(struct spool *spool, uint64_t number, uint64_t size)
{
	if (spool->count == spool->capacity) {
		uint32_t capacity = spool->capacity ? spool->capacity * 2 : 16;
		struct spool_item *items = realloc(spool->items, capacity * sizeof(*items));

		if (!items)
			return false;
		spool->items = items;
		spool->capacity = capacity;
	}
	spool->items[spool->count++] = (struct spool_item){.number = number, .size = size};
	spool->bytes += size;
	return true;
}

static int compare(const void *left, const void *right)
{
	const struct spool_item *a = left, *b = right;

	return a->number < b->number ? -1 : a->number > b->number;
}

static bool find_item(const struct spool *spool, uint64_t number)
{
	struct spool_item key = {.number = number};

	return spool->count > 0 &&
	       bsearch(&key, spool->items, spool->count, sizeof(key), compare) != NULL;
}

/* Of a process that nobody has pushed for so long nothing more is expected. */
static bool is_old(int folder, const char *name)
{
	struct stat status;

	return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       status.st_mtim.tv_sec < time(NULL) - BASE_DAYS * 24 * 3600;
}

/* One name in the folder.  What a killed pusher had not completed goes. */
static bool take_over(struct spool *spool, int folder, const char *name, struct error *err)
{
	enum target_protocol protocol;
	char key[SPOOL_KEY_SIZE];
	struct stat status;
	uint64_t number;
	const char *rest;
	bool is_item = parse_item(name, &number, &protocol, &rest);

	if (!is_item && !parse_base(name, key, &number, &rest))
		return true;
	if (rest[0] || (!is_item && is_old(folder, name))) {
		unlinkat(folder, name, 0);
		return true;
	}
	if (number >= spool->next)
		spool->next = number + 1;
	if (!is_item || fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISREG(status.st_mode))
		return true;
	if (protocol != spool->protocol)
		return error_set(err, "%s: has profiles for %s; push them first, with --drain",
				 spool->folder, target_protocol_name(protocol));
	return add_item(spool, number, (uint64_t)status.st_size) ||
	       error_set(err, "%s: no memory", spool->folder);
}

static bool read_folder(struct spool *spool, struct error *err)
{
	DIR *dir = opendir(spool->folder);
	struct dirent *entry;
	bool ok = true;

	if (!dir)
		return error_set_errno(err, "%s", spool->folder);
	while (ok && (entry = readdir(dir)) != NULL)
		ok = take_over(spool, dirfd(dir), entry->d_name, err);
	closedir(dir);
	if (ok && spool->count > 0)
		qsort(spool->items, spool->count, sizeof(*spool->items), compare);
	return ok;
}

/* --- bases ----------------------------------------------------------------------------------- */

struct newest {
	uint64_t number; /* of the one that counts; 0 = there is none */
	uint64_t other;	 /* an older one */
};

static void look_at_base(struct newest *newest, uint64_t number)
{
	uint64_t older = number < newest->number ? number : newest->number;

	if (number > newest->number)
		newest->number = number;
	if (older > newest->other)
		newest->other = older;
}

static void find_bases(const struct spool *spool, const char *key, struct newest *newest)
{
	DIR *dir = opendir(spool->folder);
	char found[SPOOL_KEY_SIZE];
	struct dirent *entry;
	const char *rest;
	uint64_t number;

	while (dir && (entry = readdir(dir)) != NULL)
		if (parse_base(entry->d_name, found, &number, &rest) && !rest[0] &&
		    strcmp(found, key) == 0)
			look_at_base(newest, number);
	if (dir)
		closedir(dir);
}

static void remove_base(const struct spool *spool, const char *key, uint64_t number)
{
	char *path = number ? base_path(spool, key, number) : NULL;

	if (path)
		unlink(path);
	free(path);
}

/* Of two bases of a process one goes.  Before anything is sent. */
static void settle_base(const struct spool *spool, const char *key)
{
	struct newest newest = {0};

	find_bases(spool, key, &newest);
	if (newest.other)
		remove_base(spool, key,
			    find_item(spool, newest.number) ? newest.other : newest.number);
}

static void settle_bases(const struct spool *spool)
{
	DIR *dir = opendir(spool->folder);
	char key[SPOOL_KEY_SIZE];
	struct dirent *entry;
	const char *rest;
	uint64_t number;

	while (dir && (entry = readdir(dir)) != NULL)
		if (parse_base(entry->d_name, key, &number, &rest))
			settle_base(spool, key);
	if (dir)
		closedir(dir);
}

bool spool_base(const struct spool *spool, const char *key, struct base *base, struct error *err)
{
	struct newest newest = {0};
	char *path;
	bool ok;

	*base = (struct base){0};
	find_bases(spool, key, &newest);
	if (newest.number == 0)
		return true;
	path = base_path(spool, key, newest.number);
	ok = path ? base_read(base, path, err) : error_set(err, "%s: no memory", spool->folder);
	free(path);
	return ok;
}

void spool_forget(const struct spool *spool, bool (*keep)(const char *key, void *context),
		  void *context)
{
	DIR *dir = opendir(spool->folder);
	char key[SPOOL_KEY_SIZE];
	struct dirent *entry;
	const char *rest;
	uint64_t number;

	while (dir && (entry = readdir(dir)) != NULL)
		if (parse_base(entry->d_name, key, &number, &rest) && !keep(key, context))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
}

void spool_remove(struct spool *spool, uint64_t number)
{
	char *path = item_path(spool, number);
	uint32_t i;

	if (path)
		unlink(path);
	free(path);
	for (i = 0; i < spool->count && spool->items[i].number != number; i++)
		;
	if (i == spool->count)
		return;
	spool->bytes -= spool->items[i].size;
	spool->count--;
	memmove(&spool->items[i], &spool->items[i + 1], (spool->count - i) * sizeof(*spool->items));
}

/* --- opening --------------------------------------------------------------------------------- */

static bool make_folder(struct spool *spool, const char *folder, struct error *err)
{
	const char *temporary = getenv("TMPDIR");

	spool->is_temporary = !folder;
	if (folder) {
		spool->folder = strdup(folder);
		if (!spool->folder)
			return error_set(err, "%s: no memory", folder);
		return mkdir(folder, 0700) == 0 || errno == EEXIST ||
		       error_set_errno(err, "%s", folder);
	}
	if (asprintf(&spool->folder, "%s/pmem-push-XXXXXX",
		     temporary && temporary[0] ? temporary : "/tmp") < 0) {
		spool->folder = NULL;
		return error_set(err, "no memory for the spool");
	}
	return mkdtemp(spool->folder) != NULL || error_set_errno(err, "%s", spool->folder);
}

/* The lock's file has the time when the folder became a spool as its own, and the pusher's pid in it. */
static bool lock(struct spool *spool, struct error *err)
{
	char pid[16] = "";
	struct stat status;
	char *path;

	if (asprintf(&path, "%s/lock", spool->folder) < 0)
		return error_set(err, "%s: no memory", spool->folder);
	spool->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	free(path);
	if (spool->lock < 0 || fstat(spool->lock, &status) != 0)
		return error_set_errno(err, "%s/lock", spool->folder);
	if (flock(spool->lock, LOCK_EX | LOCK_NB) != 0) {
		ssize_t size = pread(spool->lock, pid, sizeof(pid) - 1, 0);

		pid[size > 0 ? strspn(pid, "0123456789") : 0] = '\0';
		return error_set(err, "%s: another pmem push (process %s) uses this spool",
				 spool->folder, pid[0] ? pid : "?");
	}
	spool->since_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000 +
			  (uint64_t)status.st_mtim.tv_nsec;
	snprintf(pid, sizeof(pid), "%-10d", (int)getpid());
	if (pwrite(spool->lock, pid, strlen(pid), 0) != (ssize_t)strlen(pid))
		return error_set_errno(err, "%s/lock", spool->folder);
	futimens(spool->lock, (struct timespec[2]){status.st_atim, status.st_mtim});
	return true;
}

bool spool_open(struct spool *spool, const char *folder, enum target_protocol protocol,
		struct error *err)
{
	*spool = (struct spool){.protocol = protocol, .lock = -1, .next = 1};
	if (!make_folder(spool, folder, err) || !lock(spool, err) || !read_folder(spool, err)) {
		spool_close(spool, false);
		return false;
	}
	settle_bases(spool);
	return true;
}

static bool no_base(const char *key, void *context)
{
	(void)key;
	(void)context;
	return false;
}

static void remove_folder(struct spool *spool)
{
	char *path;

	while (spool->count > 0)
		spool_remove(spool, spool->items[0].number);
	spool_forget(spool, no_base, NULL);
	if (asprintf(&path, "%s/lock", spool->folder) >= 0) {
		unlink(path);
		free(path);
	}
	rmdir(spool->folder);
}

void spool_close(struct spool *spool, bool remove)
{
	if (remove && spool->is_temporary && spool->lock >= 0)
		remove_folder(spool);
	if (spool->lock >= 0)
		close(spool->lock);
	free(spool->folder);
	free(spool->items);
	*spool = (struct spool){.lock = -1};
}

/* --- profiles -------------------------------------------------------------------------------- */

/* The oldest go until size more bytes fit; but not what is being sent. */
static void make_room(struct spool *spool, uint64_t size)
{
	uint32_t i = 0;

	while (i < spool->count && spool->bytes + size > spool->bytes_max) {
		struct spool_item item = spool->items[i];

		if (item.number == spool->busy) {
			i++;
			continue;
		}
		spool_remove(spool, item.number);
		spool->lost_count++;
		spool->lost_bytes += item.size;
	}
}

static bool write_item(struct spool *spool, const struct spool_entry *entry, uint64_t *bytes,
		       struct error *err)
{
	char *path = item_path(spool, spool->next);
	struct new_file file;
	bool ok;
	long size;

	if (!path)
		return error_set(err, "%s: no memory", spool->folder);
	ok = new_file_open(&file, path, 0600, err);
	if (ok) {
		ok = entry->write(file.file, entry->context, err);
		size = ok ? ftell(file.file) : 0;
		*bytes = size > 0 ? (uint64_t)size : 0;
		if (ok) {
			make_room(spool, *bytes);
			ok = new_file_keep(&file, err);
		} else {
			new_file_drop(&file);
		}
	}
	free(path);
	return ok;
}

bool spool_add(struct spool *spool, const struct spool_entry *entry, uint64_t *bytes,
	       struct error *err)
{
	struct newest newest = {0};
	char *base = base_path(spool, entry->key, spool->next);
	bool ok = base || error_set(err, "%s: no memory", spool->folder);

	find_bases(spool, entry->key, &newest);
	ok = ok && base_write(entry->base, base, err);
	if (ok && !write_item(spool, entry, bytes, err)) {
		unlink(base);
		ok = false;
	}
	free(base);
	if (!ok)
		return false;
	remove_base(spool, entry->key, newest.number);
	if (!add_item(spool, spool->next, *bytes))
		return error_set(err, "%s: no memory", spool->folder);
	spool->next++;
	make_room(spool, 0); /* it can be larger than the spool itself */
	return true;
}

FILE *spool_oldest(struct spool *spool, struct spool_item *item, struct error *err)
{
	char *path;
	FILE *file;

	if (spool->count == 0)
		return NULL;
	*item = spool->items[0];
	path = item_path(spool, item->number);
	file = path ? fopen(path, "re") : NULL;
	if (!file)
		error_set_errno(err, "%s", path ? path : spool->folder);
	free(path);
	return file;
}

bool spool_head_write(FILE *file, const struct spool_head *head)
{
	return fprintf(file, "%s\t%s\t%s\t%s\n", head_begin, head->type, head->encoding,
		       head->query) > 0;
}

/* The text up to the next tab or the end, which is cut off there. */
static const char *field(char **text)
{
	char *begin = *text;

	*text += strcspn(begin, "\t");
	if (**text)
		*(*text)++ = '\0';
	return begin;
}

size_t spool_head_parse(char *text, size_t size, struct spool_head *head)
{
	char *end = memchr(text, '\n', size < SPOOL_HEAD_MAX ? size : SPOOL_HEAD_MAX);
	char *at = text;
	unsigned tabs = 0;

	if (!end)
		return 0;
	for (at = text; at < end; at++) {
		if (*at != '\t' && (*at < ' ' || *at > '~'))
			return 0;
		tabs += *at == '\t';
	}
	*end = '\0';
	at = text;
	if (strcmp(field(&at), head_begin) != 0)
		return 0;
	head->type = field(&at);
	head->encoding = field(&at);
	head->query = field(&at);
	return tabs == 3 && head->type[0] ? (size_t)(end - text) + 1 : 0;
}
