/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base.c - see base.h.
 */
#include "push/base.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/new_file.h"

static const char magic[8] = "pmembas1";

/* The file: this, and the entries. */
struct head {
	char magic[8];
	uint64_t time_ns;
	uint32_t is_final;
	uint32_t count;
};

void base_free(struct base *base)
{
	free(base->entries);
	*base = (struct base){0};
}

static int compare(const void *left, const void *right)
{
	const struct base_entry *a = left, *b = right;

	return a->number < b->number ? -1 : a->number > b->number;
}

bool base_of(struct base *base, const struct profile *profile, bool with_entries)
{
	uint32_t i;

	*base = (struct base){0};
	if (!with_entries)
		return true;
	base->entries = calloc((size_t)profile->stack_count + 1, sizeof(*base->entries));
	if (!base->entries)
		return false;
	for (i = 0; i < profile->stack_count; i++) {
		const struct profile_stack *stack = &profile->stacks[i];

		base->entries[i] = (struct base_entry){.number = stack->number,
						       .alloc_bytes = stack->counts.alloc_bytes,
						       .alloc_count = stack->counts.alloc_count};
	}
	base->count = profile->stack_count;
	qsort(base->entries, base->count, sizeof(*base->entries), compare);
	return true;
}

const struct base_entry *base_find(const struct base *base, uint32_t number)
{
	struct base_entry key = {.number = number};

	return base->count == 0 ? NULL
				: bsearch(&key, base->entries, base->count, sizeof(key), compare);
}

bool base_write(const struct base *base, const char *path, struct error *err)
{
	struct head head = {
		.time_ns = base->time_ns, .is_final = base->is_final, .count = base->count};
	struct new_file file;

	memcpy(head.magic, magic, sizeof(magic));
	if (!new_file_open(&file, path, 0600, err))
		return false;
	fwrite(&head, sizeof(head), 1, file.file);
	if (base->count > 0)
		fwrite(base->entries, sizeof(*base->entries), base->count, file.file);
	return new_file_keep(&file, err);
}

bool base_parse(struct base *base, const void *bytes, size_t size)
{
	struct head head;
	uint32_t i;

	*base = (struct base){0};
	if (size < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	if (memcmp(head.magic, magic, sizeof(magic)) != 0 || head.is_final > 1 ||
	    (size - sizeof(head)) / sizeof(*base->entries) != head.count ||
	    (size - sizeof(head)) % sizeof(*base->entries) != 0)
		return false;
	base->entries = malloc((size_t)head.count * sizeof(*base->entries) + 1);
	if (!base->entries)
		return false;
	memcpy(base->entries, (const char *)bytes + sizeof(head), size - sizeof(head));
	for (i = 1; i < head.count; i++)
		if (base->entries[i].number <= base->entries[i - 1].number) {
			base_free(base);
			return false;
		}
	base->time_ns = head.time_ns;
	base->is_final = head.is_final;
	base->count = head.count;
	return true;
}

bool base_read(struct base *base, const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	void *bytes = MAP_FAILED;
	struct stat status;
	bool ok = false;

	*base = (struct base){0};
	if (fd < 0 || fstat(fd, &status) != 0) {
		error_set_errno(err, "%s", path);
		if (fd >= 0)
			close(fd);
		return false;
	}
	if (S_ISREG(status.st_mode) && status.st_size > 0)
		bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes != MAP_FAILED) {
		ok = base_parse(base, bytes, (size_t)status.st_size);
		munmap(bytes, (size_t)status.st_size);
	}
	return ok || error_set(err, "%s: damaged", path);
}
