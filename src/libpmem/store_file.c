/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store_file.c - see store_file.h.
 *
 * Blocks that were mapped ahead of need wait in a pool of numbers.  A thread that finds the pool empty grows the
 * file by an extent of its own, so nobody waits for anybody, nor does a signal handler for what it interrupted.
 * The program may have closed our descriptor or reused its number: it is checked before each use and the file
 * opened again under its name.
 */
#include "libpmem/store_file.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "libpmem/kept.h"
#include "libpmem/lazy.h"
#include "libpmem/loss.h"
#include "libpmem/place.h"
#include "libpmem/settings.h"
#include "libpmem/store.h"
#include "libpmem/store_disk.h"
#include "libpmem/store_extents.h"
#include "libpmem/sys.h"

enum {
	PAGE = 4096,
	EXTENT_SMALL = 16,  /* blocks: 256 KiB, while the file is smaller than */
	SMALL_FILE = 64,    /* blocks: 1 MiB */
	EXTENT_LARGE = 64,  /* blocks */
	EXTENT_CROWDED = 2, /* blocks, while other threads are growing the file too */
	RESERVE = 512,	    /* blocks for a sandbox: 8 MiB */
	POOL_SIZE = 2 * RESERVE,
	BACK_OFF = 64,	   /* blocks of memory that are handed out before the file is tried again */
	MEMORY_PART = 256, /* of them, a page */
	MEMORY_PARTS = FORMAT_BLOCKS_MAX / MEMORY_PART,
	MEMORY_MAX = MEMORY_PARTS * MEMORY_PART,
};

/* A block of private memory. */
struct memory_block {
	_Atomic(void *) bytes; /* NULL: not complete yet */
	uint32_t entry;
	uint32_t number; /* owned by who is flushing: where it is copied to; 0 = nowhere yet */
};

static struct kept file = KEPT_NONE_INIT;
static struct place place = {.dir = KEPT_NONE_INIT};
static char name[PLACE_NAME_SIZE];
static char path[PATH_MAX + PLACE_NAME_SIZE];
static _Atomic bool opening; /* a thread is opening the file again */
static bool first_in_memory; /* block 0 is not mapped: flushed like others */

static _Atomic(void *) mapped[FORMAT_BLOCKS_MAX]; /* by number */
static _Atomic uint32_t file_blocks;		  /* numbers are below */
static _Atomic uint32_t pool[POOL_SIZE];	  /* unused numbers; 0 = free place */
static _Atomic uint32_t back_off;
static _Atomic uint32_t growing; /* threads that are growing the file: a hint */

static_assert(sizeof(struct memory_block) * MEMORY_PART == PAGE, "a page");
static _Atomic(void *) memory[MEMORY_PARTS];
static _Atomic uint32_t memory_count;
static _Atomic bool flushing; /* by a thread, which owns: */
static uint32_t flush_next;
static uint64_t flush_ns; /* when the round began */

/* --- the descriptor -------------------------------------------------------------------------- */

static void note_error(int error)
{
	uint32_t none = 0;

	atomic_compare_exchange_strong_explicit(&store_head()->file_error, &none, (uint32_t)-error,
						memory_order_relaxed, memory_order_relaxed);
}

static int open_again(void)
{
	int dir = place_dir(&place), fd;

	if (dir < 0)
		return dir;
	fd = sys_openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	return fd < 0 ? fd : kept_retake(&file, fd);
}

/* The file's descriptor, or -errno. */
static int file_fd(void)
{
	int fd = kept_fd(&file), error;

	if (fd >= 0)
		return fd;
	if (!file.known || sys_sandboxed())
		return -EBADF;
	if (atomic_exchange_explicit(&opening, true, memory_order_acquire))
		return -EAGAIN;
	error = open_again();
	atomic_store_explicit(&opening, false, memory_order_release);
	return error < 0 ? error : file.fd;
}

/* --- growing --------------------------------------------------------------------------------- */

/* Fills count blocks from number on with zeros and maps them.  Returns 0 or -errno. */
static int map_extent(uint32_t number, uint32_t count, char **bytes)
{
	uint64_t end = (uint64_t)(number + count) * FORMAT_BLOCK_SIZE;
	int fd = file_fd();
	long map = fd < 0 ? fd : sys_check_file_end(end);

	if (map < 0)
		return (int)map;
	if (store_disk_moves(fd))
		return -ENODEV;
	map = store_disk_fill(fd, number, count);
	if (map == 0)
		map = arch_syscall6(SYS_mmap, 0, (long)count * FORMAT_BLOCK_SIZE,
				    PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				    (long)number * FORMAT_BLOCK_SIZE);
	if (map < 0 && map > -PAGE) {
		store_disk_punch(fd, number, count);
		return (int)map;
	}
	*bytes = (char *)map;
	return 0;
}

static void pool_give(uint32_t number)
{
	for (int i = 0; i < POOL_SIZE; i++) {
		uint32_t none = 0;

		/* Release: mapped[number]; pairs with pool_take(). */
		if (!atomic_load_explicit(&pool[i], memory_order_relaxed) &&
		    atomic_compare_exchange_strong_explicit(
			    &pool[i], &none, number, memory_order_release, memory_order_relaxed))
			return;
	}
}

static uint32_t pool_take(void)
{
	for (int i = 0; i < POOL_SIZE; i++) {
		uint32_t number = 0;

		if (atomic_load_explicit(&pool[i], memory_order_relaxed))
			number = atomic_exchange_explicit(&pool[i], 0, memory_order_acquire);
		if (number)
			return number;
	}
	return 0;
}

/* Makes count more blocks, the first of them the caller's, the others in the pool.  Returns 0 or -errno. */
static int grow(uint32_t count, uint32_t *number)
{
	uint32_t first = atomic_fetch_add_explicit(&file_blocks, count, memory_order_relaxed);
	uint32_t after = first + count;
	char *bytes;
	int error = after <= FORMAT_BLOCKS_MAX ? map_extent(first, count, &bytes) : -EFBIG;

	if (error < 0) {
		/* The numbers go back unless others came after them. */
		atomic_compare_exchange_strong_explicit(&file_blocks, &after, first,
							memory_order_relaxed, memory_order_relaxed);
		return error;
	}
	store_extents_keep(bytes, count);
	for (uint32_t i = 0; i < count; i++)
		atomic_store_explicit(&mapped[first + i], bytes + (size_t)i * FORMAT_BLOCK_SIZE,
				      memory_order_relaxed);
	for (uint32_t i = 1; i < count; i++)
		pool_give(first + i);
	*number = first;
	return 0;
}

/* False for a while after the file could not grow. */
static bool may_grow(void)
{
	uint32_t left = atomic_load_explicit(&back_off, memory_order_relaxed);

	if (!file.known || sys_sandboxed())
		return false;
	if (!left)
		return true;
	atomic_store_explicit(&back_off, left - 1, memory_order_relaxed);
	return false;
}

/* A thousand threads that find the pool empty at once must not take a thousand large extents. */
static uint32_t extent_size(uint32_t others)
{
	if (others)
		return EXTENT_CROWDED;
	return atomic_load_explicit(&file_blocks, memory_order_relaxed) < SMALL_FILE ? EXTENT_SMALL
										     : EXTENT_LARGE;
}

static uint32_t take_number(void)
{
	uint32_t number = pool_take(), others;
	int error;

	if (number || !may_grow())
		return number;
	others = atomic_fetch_add_explicit(&growing, 1, memory_order_relaxed);
	error = grow(extent_size(others), &number);
	atomic_fetch_sub_explicit(&growing, 1, memory_order_relaxed);
	if (error == 0)
		return number;
	note_error(error);
	atomic_store_explicit(&back_off, BACK_OFF, memory_order_relaxed);
	return 0;
}

bool store_file_take(struct store_file_block *block)
{
	block->number = take_number();
	block->bytes = block->number
			       ? atomic_load_explicit(&mapped[block->number], memory_order_relaxed)
			       : sys_map(FORMAT_BLOCK_SIZE);
	return block->bytes != NULL;
}

void store_file_give_back(const struct store_file_block *block)
{
	if (block->number)
		pool_give(block->number);
	else
		sys_unmap(block->bytes, FORMAT_BLOCK_SIZE);
}

/* --- the directory --------------------------------------------------------------------------- */

static bool enter(uint32_t number, uint32_t entry);

/* The directory's further block that has number's entry, made if need be; NULL: no memory. */
static _Atomic uint32_t *further_entries(uint32_t part)
{
	struct format_header *head = store_head();
	uint32_t there = atomic_load_explicit(&head->directories[part], memory_order_acquire);
	uint32_t made;

	if (!there) {
		made = take_number();
		if (!made)
			return NULL;
		if (atomic_compare_exchange_strong_explicit(&head->directories[part], &there, made,
							    memory_order_acq_rel,
							    memory_order_acquire)) {
			there = made;
			enter(made, (uint32_t)FORMAT_DIRECTORY << FORMAT_INDEX_BITS | part);
		} else {
			pool_give(made);
		}
	}
	return atomic_load_explicit(&mapped[there], memory_order_relaxed);
}

/* False: no room for the entry. */
static bool enter(uint32_t number, uint32_t entry)
{
	_Atomic uint32_t *entries = store_first->blocks;

	if (number >= FORMAT_FIRST_ENTRIES) {
		number -= FORMAT_FIRST_ENTRIES;
		entries = further_entries(number / FORMAT_ENTRIES);
		number %= FORMAT_ENTRIES;
	}
	if (!entries)
		return false;
	/* Release: the zeros; a reader takes the block for what it says. */
	atomic_store_explicit(&entries[number], entry, memory_order_release);
	return true;
}

/* Entry index of the list, or NULL: there is no memory for it. */
static struct memory_block *memory_at(uint32_t index)
{
	struct memory_block *part = index < MEMORY_MAX
					    ? lazy_part(&memory[index / MEMORY_PART], PAGE)
					    : NULL;

	return part ? &part[index % MEMORY_PART] : NULL;
}

static void remember(void *bytes, uint32_t entry)
{
	struct memory_block *block;
	uint32_t index = atomic_fetch_add_explicit(&memory_count, 1, memory_order_relaxed);

	atomic_fetch_add_explicit(&store_head()->memory_blocks, 1, memory_order_relaxed);
	loss_add(FORMAT_LOSS_PROFILE_BYTES, FORMAT_BLOCK_SIZE);
	block = memory_at(index);
	if (!block)
		return;
	block->entry = entry;
	/* Release: the entry; pairs with the acquire in flush_block(). */
	atomic_store_explicit(&block->bytes, bytes, memory_order_release);
}

void store_file_name(const struct store_file_block *block, uint32_t entry)
{
	if (block->number && enter(block->number, entry))
		return;
	/* No reader would find it: it will be copied to where one does. */
	if (settings.profile)
		remember(block->bytes, entry);
}

static uint32_t pool_count(void)
{
	uint32_t count = 0;

	for (int i = 0; i < POOL_SIZE; i++)
		count += atomic_load_explicit(&pool[i], memory_order_relaxed) != 0;
	return count;
}

/* A program may enter many sandboxes that are refused. */
void store_file_reserve(void)
{
	uint32_t number;
	int error;

	while (pool_count() < RESERVE && may_grow()) {
		error = grow(EXTENT_LARGE, &number);
		if (error < 0) {
			note_error(error);
			return;
		}
		pool_give(number);
	}
}

/* --- blocks in memory ------------------------------------------------------------------------ */

static int copy_block(int fd, const void *bytes, uint32_t number)
{
	uint64_t at = (uint64_t)number * FORMAT_BLOCK_SIZE;
	size_t done = 0;
	int error = sys_check_file_end(at + FORMAT_BLOCK_SIZE);

	while (error == 0 && done < FORMAT_BLOCK_SIZE) {
		long count = arch_syscall6(SYS_pwrite64, fd, (long)bytes + (long)done,
					   (long)(FORMAT_BLOCK_SIZE - done), (long)(at + done), 0,
					   0);

		if (count > 0)
			done += (size_t)count;
		else if (count != -EINTR)
			error = count < 0 ? (int)count : -ENOSPC;
	}
	return error;
}

/* The block's first copy, behind all others.  Returns 0 or -errno. */
static int place_block(int fd, struct memory_block *block, const void *bytes)
{
	uint32_t number = atomic_fetch_add_explicit(&file_blocks, 1, memory_order_relaxed);
	uint32_t after = number + 1;
	int error = number < FORMAT_BLOCKS_MAX ? copy_block(fd, bytes, number) : -EFBIG;

	if (error == 0 && !enter(number, block->entry))
		error = -ENOSPC;
	if (error < 0) {
		atomic_compare_exchange_strong_explicit(&file_blocks, &after, number,
							memory_order_relaxed, memory_order_relaxed);
		return error;
	}
	block->number = number;
	atomic_fetch_sub_explicit(&store_head()->losses[FORMAT_LOSS_PROFILE_BYTES],
				  FORMAT_BLOCK_SIZE, memory_order_relaxed);
	return 0;
}

/* Returns 0 or -errno. */
static int flush_block(int fd, struct memory_block *block)
{
	void *bytes = block ? atomic_load_explicit(&block->bytes, memory_order_acquire) : NULL;

	if (!bytes)
		return 0;
	return block->number ? copy_block(fd, bytes, block->number) : place_block(fd, block, bytes);
}

/* A round ends with the last block: what the file has then is nowhere older than its beginning. */
static void flush(int fd, uint32_t max)
{
	uint32_t count = atomic_load_explicit(&memory_count, memory_order_relaxed);
	int error = 0;

	count = count < MEMORY_MAX ? count : MEMORY_MAX;
	if (max >= count)
		flush_next = 0;
	for (uint32_t i = 0; i < max && i < count && error == 0; i++) {
		if (flush_next == 0)
			flush_ns = store_time();
		error = flush_block(fd, memory_at(flush_next));
		flush_next = error == 0 && flush_next + 1 < count ? flush_next + 1 : 0;
		if (error == 0 && flush_next == 0)
			atomic_store_explicit(&store_head()->flushed_ns, flush_ns,
					      memory_order_relaxed);
	}
	if (first_in_memory)
		copy_block(fd, store_first, 0);
}

void store_file_flush(uint32_t max)
{
	int fd;

	if ((!atomic_load_explicit(&memory_count, memory_order_relaxed) && !first_in_memory) ||
	    sys_sandboxed() || atomic_exchange_explicit(&flushing, true, memory_order_acquire))
		return;
	fd = file_fd();
	if (fd >= 0)
		flush(fd, max);
	atomic_store_explicit(&flushing, false, memory_order_release);
}

/* --- begin and fork -------------------------------------------------------------------------- */

/* Makes the file in a directory under the first free name.  Returns 0 or -errno. */
static int make_file(const struct place *in)
{
	enum { FLAGS = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY };
	pid_t maker = sys_getpid();
	unsigned suffix;
	int error, dir, fd;

	place = *in;
	dir = error = place_dir(&place);
	for (suffix = 1; dir >= 0 && suffix <= PLACE_SUFFIX_MAX; suffix++) {
		place_name(suffix, ".prof", name);
		error = sys_openat(dir, name, FLAGS, 0600);
		if (error != -EEXIST)
			break;
	}
	fd = error;
	if (fd >= 0)
		error = kept_take(&file, fd);
	if (error < 0) {
		/* Not in a child that a handler forked meanwhile: the file is its parent's. */
		if (fd >= 0 && sys_getpid() == maker)
			sys_call(SYS_unlinkat, dir, (long)name, 0, 0);
		return error;
	}
	place_set_suffix(suffix);
	place_path(&place, name, path);
	if (!path[0])
		memcpy(path, name, sizeof(name));
	return 0;
}

void store_file_abandon(void)
{
	if (!file.known)
		return;
	sys_call(SYS_unlinkat, place_dir(&place), (long)name, 0, 0);
	kept_close(&file);
	path[0] = '\0';
	place_set_suffix(1);
	atomic_store_explicit(&file_blocks, 0, memory_order_relaxed);
}

/* Returns block 0, or NULL: not even it could be written. */
static struct format_first_block *make_first(const struct format_first_block *without_file)
{
	struct format_first_block *first;
	uint32_t number;
	int error = grow(EXTENT_SMALL, &number);

	if (error == 0) {
		first = atomic_load_explicit(&mapped[0], memory_order_relaxed);
		memcpy(&first->header, &without_file->header, sizeof(first->header));
		atomic_store_explicit(&first->blocks[0],
				      (uint32_t)FORMAT_HEADER << FORMAT_INDEX_BITS,
				      memory_order_relaxed);
		return first;
	}
	note_error(error);
	/* A file system without shared maps still takes writes. */
	if (error != -ENODEV && error != -EINVAL && error != -EACCES && error != -EPERM)
		return NULL;
	first = store_first;
	atomic_store_explicit(&first->blocks[0], (uint32_t)FORMAT_HEADER << FORMAT_INDEX_BITS,
			      memory_order_relaxed);
	if (copy_block(file.fd, first, 0) < 0)
		return NULL;
	atomic_store_explicit(&file_blocks, 1, memory_order_relaxed);
	first_in_memory = true;
	return first;
}

struct format_first_block *store_file_begin(const struct format_first_block *without_file)
{
	const struct place *const places[] = {&place_out, &place_tmp};
	struct format_first_block *first = NULL;
	int error;

	for (size_t i = 0; settings.profile && !first && i < 2; i++) {
		if (i > 0 && !places[i]->path[0])
			break;
		error = make_file(places[i]);
		if (error < 0) {
			note_error(error);
			continue;
		}
		first = make_first(without_file);
		if (!first)
			store_file_abandon();
	}
	return first;
}

void store_file_trim(void)
{
	uint32_t count = atomic_load_explicit(&file_blocks, memory_order_relaxed), number;
	struct store_trim trim = {.fd = file_fd()};

	/* The numbers of blocks that were copied may have been those of mapped ones, in an ancestor of this process. */
	if (trim.fd < 0 || count > SMALL_FILE ||
	    atomic_load_explicit(&memory_count, memory_order_relaxed))
		return;
	for (number = 0; number < count; number++)
		store_disk_trim(&trim, number,
				atomic_load_explicit(&mapped[number], memory_order_relaxed));
	store_disk_trim_end(&trim);
}

const char *store_file_path(void)
{
	return path;
}

void store_file_before_fork(void)
{
	store_extents_copy();
}

void store_file_after_fork(void)
{
	store_extents_drop_copies();
}

/* The event may have been writing to the file, at places where the parent goes on to write: its copy of the descriptor
 * becomes an error. */
void store_file_detach(void)
{
	store_extents_detach();
	kept_close(&file);
}

void store_file_fork_child(void)
{
	uint32_t count = atomic_load_explicit(&memory_count, memory_order_relaxed);

	kept_close(&file);
	path[0] = '\0';
	first_in_memory = false;
	for (int i = 0; i < POOL_SIZE; i++)
		atomic_store_explicit(&pool[i], 0, memory_order_relaxed);
	for (uint32_t i = 0; i < count && memory_at(i); i++)
		*memory_at(i) = (struct memory_block){.entry = 0};
	store_extents_forget();
	atomic_store_explicit(&memory_count, 0, memory_order_relaxed);
	atomic_store_explicit(&file_blocks, 0, memory_order_relaxed);
	atomic_store_explicit(&back_off, 0, memory_order_relaxed);
	atomic_store_explicit(&growing, 0, memory_order_relaxed);
	atomic_store_explicit(&opening, false, memory_order_relaxed);
	atomic_store_explicit(&flushing, false, memory_order_relaxed);
	flush_next = 0;
}
