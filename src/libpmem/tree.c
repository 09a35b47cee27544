/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree.c - the calling-context tree, see tree.h.
 *
 * The list of node i (its children and call-stack records) begins at node i + 1, which is written
 * together with i and always belongs to it.  Only the last entry of a list ever changes: its link,
 * from the tagged parent to the next sibling, with release, after the sibling is complete.  Readers
 * load links with acquire.  All insertion is under one lock; it is rare once the call stacks of a
 * program are known.
 *
 * A list longer than TREE_LIST_LIMIT goes on in a hash of (parent, child), so that lookup stays
 * bounded.  A hash that has grown replaces the old one with release; old ones stay readable.
 */
#include "libpmem/tree.h"

#include "libpmem/lock.h"
#include "libpmem/loss.h"
#include "libpmem/modules.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"

enum {
	NODES_PER_BLOCK = FORMAT_BLOCK_SIZE / sizeof(struct format_node),
	TREE_LIST_LIMIT = 12, /* entries of a list that are looked at before the hash */
	HASH_START = 1024,
};

/* Side hash: entries parent << 32 | child; the child's pc32 is compared in the node.  STACK_FLAG on
 * the parent: the child is a call-stack record, and its hook is compared.  TAIL_FLAG: the child is
 * the last entry of the parent's list.  UP_FLAG: the entry leads from a child to its parent + 1. */
struct hash {
	uint64_t mask;
	_Atomic uint64_t entries[];
};

#define TAIL_FLAG 0x80000000u
#define STACK_FLAG 0x40000000u
#define UP_FLAG 0xc0000000u

static struct lock tree_lock = {.rank = LOCK_TREE};
static _Atomic(struct format_node *) node_blocks[FORMAT_BLOCKS_MAX];
_Atomic(struct format_stack *) tree_stack_blocks[FORMAT_BLOCKS_MAX];
static _Atomic(struct hash *) hash_now;
static uint64_t hash_used;		/* under lock */
static uint32_t nodes_max;		/* immutable after tree_init() */
static uint32_t truncated_node;		/* immutable after tree_init() */
static _Atomic uint32_t not_taken_node; /* 0 = not made yet */

/* Of a block that is not there.  Happens in the child of a raw clone(2) inside an event: it still sees what its
 * parent adds to the tree. */
static struct format_node no_node = {.pc32 = UINT32_MAX, .link = FORMAT_LINK_PARENT};

static struct format_node *node_at(uint32_t index)
{
	struct format_node *block = atomic_load_explicit(&node_blocks[index / NODES_PER_BLOCK],
							 memory_order_relaxed);

	return __builtin_expect(block != NULL, 1) ? block + index % NODES_PER_BLOCK : &no_node;
}

static uint32_t link_of(uint32_t index)
{
	/* Acquire: pairs with the release in list_append(). */
	return atomic_load_explicit(&node_at(index)->link, memory_order_acquire);
}

static uint64_t hash_of(uint32_t parent, uint32_t pc32)
{
	uint64_t x = ((uint64_t)parent << 32 | pc32) * 0x9e3779b97f4a7c15u;

	return x ^ x >> 29;
}

/* What a hash entry is found by, besides its parent. */
static uint32_t hash_key(uint64_t entry)
{
	uint32_t parent = (uint32_t)(entry >> 32), pc32;

	if (parent & TAIL_FLAG)
		return 0; /* also UP_FLAG: there is one entry */
	pc32 = node_at((uint32_t)entry)->pc32;
	return parent & STACK_FLAG ? tree_stack_hook(pc32) : pc32;
}

/* The entry of parent, with flags, and key; 0 = none. */
static uint32_t hash_find(uint32_t parent, uint32_t key)
{
	/* Acquire: pairs with the release in hash_grow(). */
	struct hash *hash = atomic_load_explicit(&hash_now, memory_order_acquire);
	uint64_t i, entry;

	if (!hash)
		return 0;
	for (i = hash_of(parent, key);; i++) {
		entry = atomic_load_explicit(&hash->entries[i & hash->mask], memory_order_acquire);
		if (!entry)
			return 0;
		if (entry >> 32 == parent && hash_key(entry) == key)
			return (uint32_t)entry;
	}
}

static void hash_add(struct hash *hash, uint64_t entry)
{
	uint32_t parent = (uint32_t)(entry >> 32);
	uint64_t i = hash_of(parent, hash_key(entry));
	uint64_t old;

	for (;; i++) {
		old = atomic_load_explicit(&hash->entries[i & hash->mask], memory_order_relaxed);
		if (!old || ((parent & TAIL_FLAG) && old >> 32 == parent))
			break;
	}
	hash_used += !old;
	/* Release: the node is complete before a reader can find it; pairs with hash_find(). */
	atomic_store_explicit(&hash->entries[i & hash->mask], entry, memory_order_release);
}

/* Under lock.  The old hash stays mapped for readers that are inside it. */
static bool hash_grow(void)
{
	struct hash *old = atomic_load_explicit(&hash_now, memory_order_relaxed);
	uint64_t size = old ? (old->mask + 1) * 2 : HASH_START;
	struct hash *hash = sys_map(sizeof(*hash) + size * sizeof(uint64_t));
	uint64_t i, entry;

	if (!hash) {
		loss_add(FORMAT_LOSS_MEMORY, 1);
		return false;
	}
	hash->mask = size - 1;
	hash_used = 0;
	for (i = 0; old && i <= old->mask; i++) {
		entry = atomic_load_explicit(&old->entries[i], memory_order_relaxed);
		if (entry)
			hash_add(hash, entry);
	}
	atomic_store_explicit(&hash_now, hash, memory_order_release);
	return true;
}

/* Room for the entries of one more node.  Under lock. */
static bool hash_reserve(void)
{
	struct hash *hash = atomic_load_explicit(&hash_now, memory_order_relaxed);

	return (hash && (hash_used + 3) * 2 <= hash->mask) || hash_grow();
}

uint32_t tree_find(uint32_t parent, uint32_t pc32)
{
	uint32_t node = parent + 1, link;
	const struct format_node *at;
	unsigned steps;

	for (steps = 0; steps < TREE_LIST_LIMIT; steps++) {
		at = node_at(node);
		/* Acquire: as link_of(). */
		link = atomic_load_explicit(&at->link, memory_order_acquire);
		if (at->pc32 == pc32 && !(link & FORMAT_LINK_STACK))
			return node;
		if (link & FORMAT_LINK_PARENT)
			return 0;
		node = link & FORMAT_LINK_INDEX;
	}
	return hash_find(parent, pc32);
}

/* Last entry of parent's list, and through *length how many were passed (TREE_LIST_LIMIT: or more). Under lock. */
static uint32_t list_tail(uint32_t parent, unsigned *length)
{
	uint32_t node = parent + 1, link;

	for (*length = 1; *length < TREE_LIST_LIMIT; ++*length) {
		link = link_of(node);
		if (link & FORMAT_LINK_PARENT)
			return node;
		node = link & FORMAT_LINK_INDEX;
	}
	if (link_of(node) & FORMAT_LINK_PARENT)
		return node;
	return hash_find(parent | TAIL_FLAG, 0);
}

/* Makes the finished entry first the last one of parent's list.  Under lock, after hash_reserve(). */
static void list_append(uint32_t parent, uint32_t first)
{
	unsigned length;
	uint32_t tail = list_tail(parent, &length);
	uint32_t flag = link_of(first) & FORMAT_LINK_STACK ? STACK_FLAG : 0;
	struct hash *hash;

	if (length >= TREE_LIST_LIMIT) {
		hash = atomic_load_explicit(&hash_now, memory_order_relaxed);
		hash_add(hash, (uint64_t)(parent | flag) << 32 | first);
		hash_add(hash, (uint64_t)(parent | TAIL_FLAG) << 32 | first);
		hash_add(hash, (uint64_t)(first | UP_FLAG) << 32 | (parent + 1));
	}
	flag = link_of(tail) & FORMAT_LINK_STACK;
	/* Release: everything written to the new entries; pairs with link_of(). */
	atomic_store_explicit(&node_at(tail)->link, flag | first, memory_order_release);
}

static bool nodes_reserve(uint32_t count)
{
	uint32_t used = atomic_load_explicit(&store_head()->node_count, memory_order_relaxed);
	uint32_t block, last = (used + count) / NODES_PER_BLOCK;

	for (block = used / NODES_PER_BLOCK; block <= last; block++) {
		if (atomic_load_explicit(&node_blocks[block], memory_order_relaxed))
			continue;
		/* Relaxed: an index in the block is published by link_of()'s partner. */
		atomic_store_explicit(&node_blocks[block], store_block(FORMAT_NODES, block),
				      memory_order_relaxed);
		if (!atomic_load_explicit(&node_blocks[block], memory_order_relaxed))
			return false;
	}
	return true;
}

static void node_write(uint32_t index, uint32_t pc32, uint32_t link)
{
	struct format_node *node = node_at(index);

	node->pc32 = pc32;
	atomic_store_explicit(&node->link, link, memory_order_relaxed);
}

/* A fresh call-stack id for node, or 0; stack_publish() goes with it.  Under lock. */
static uint32_t stack_make(uint32_t node, uint32_t hook)
{
	uint32_t id = atomic_load_explicit(&store_head()->stack_limit, memory_order_relaxed);
	uint32_t block = id / TREE_STACKS_PER_BLOCK;
	struct format_stack *stack;

	if (id > TREE_STACK_MAX || block >= FORMAT_BLOCKS_MAX)
		return 0;
	if (!atomic_load_explicit(&tree_stack_blocks[block], memory_order_relaxed))
		atomic_store_explicit(&tree_stack_blocks[block], store_block(FORMAT_STACKS, block),
				      memory_order_relaxed);
	stack = atomic_load_explicit(&tree_stack_blocks[block], memory_order_relaxed);
	if (!stack)
		return 0;
	stack += id % TREE_STACKS_PER_BLOCK;
	stack->node = node;
	atomic_store_explicit(&stack->flags, hook << FORMAT_HOOK_SHIFT, memory_order_relaxed);
	return id;
}

/* The call stack and all nodes below count can be read from now on. */
static void publish(uint32_t id, uint32_t count)
{
	struct format_header *head = store_head();

	/* Release: the nodes, before the call stack that leads to them; pairs with tree_stack_limit(). */
	atomic_store_explicit(&head->node_count, count, memory_order_release);
	atomic_store_explicit(&head->stack_limit, id + 1, memory_order_release);
}

/* Writes the frames pc32[0..count) as a chain, with a stack record, below parent.  Under lock. */
static uint32_t chain_write(const struct tree_path *path)
{
	uint32_t first = tree_node_count();
	uint32_t i, id;

	if (!nodes_reserve(path->count + 1))
		return 0;
	id = stack_make(first + path->count - 1, path->hook);
	if (!id)
		return 0;
	for (i = 0; i < path->count; i++)
		node_write(first + i, path->pc32[i],
			   FORMAT_LINK_PARENT | (i ? first + i - 1 : path->parent));
	node_write(first + i, id, FORMAT_LINK_PARENT | FORMAT_LINK_STACK | (first + i - 1));
	publish(id, first + path->count + 1);
	return first;
}

static bool has_room(uint32_t count, uint32_t limit)
{
	return atomic_load_explicit(&store_head()->node_count, memory_order_relaxed) + count + 1 <=
	       limit;
}

/* tree_insert() under lock, up to limit nodes. */
static bool insert_locked(const struct tree_path *path, uint32_t limit, uint32_t *nodes)
{
	struct tree_path rest = *path;
	uint32_t i, first, child = 0;

	while (rest.count && (child = tree_find(rest.parent, *rest.pc32)) != 0) {
		*nodes++ = child;
		rest.parent = child;
		rest.pc32++;
		rest.count--;
	}
	if (!rest.count)
		return true;
	if (!has_room(rest.count, limit) || !hash_reserve())
		return false;
	first = chain_write(&rest);
	if (!first)
		return false;
	list_append(rest.parent, first);
	for (i = 0; i < rest.count; i++)
		nodes[i] = first + i;
	return true;
}

bool tree_insert(const struct tree_path *path, uint32_t *nodes)
{
	bool done;

	if (!lock_take(&tree_lock))
		return false;
	done = insert_locked(path, nodes_max, nodes);
	lock_drop(&tree_lock);
	return done;
}

/* The id in node's list, or 0. */
static uint32_t stack_find(uint32_t node, uint32_t hook)
{
	uint32_t entry = node + 1, link;
	const struct format_node *at;
	unsigned steps;

	for (steps = 0; steps < TREE_LIST_LIMIT; steps++) {
		at = node_at(entry);
		/* Acquire: as link_of(). */
		link = atomic_load_explicit(&at->link, memory_order_acquire);
		if ((link & FORMAT_LINK_STACK) && tree_stack_hook(at->pc32) == hook)
			return at->pc32;
		if (link & FORMAT_LINK_PARENT)
			return 0;
		entry = link & FORMAT_LINK_INDEX;
	}
	entry = hash_find(node | STACK_FLAG, hook);
	return entry ? node_at(entry)->pc32 : 0;
}

static uint32_t stack_id_locked(uint32_t node, uint32_t hook, uint32_t limit)
{
	uint32_t id = stack_find(node, hook);
	uint32_t entry = atomic_load_explicit(&store_head()->node_count, memory_order_relaxed);

	if (id || !has_room(0, limit) || !nodes_reserve(1) || !hash_reserve())
		return id;
	id = stack_make(node, hook);
	if (!id)
		return 0;
	node_write(entry, id, FORMAT_LINK_PARENT | FORMAT_LINK_STACK | node);
	publish(id, entry + 1);
	list_append(node, entry);
	return id;
}

static __attribute__((noinline)) uint32_t stack_id_slow(uint32_t node, uint32_t hook)
{
	uint32_t id = stack_find(node, hook);

	if (id || !lock_take(&tree_lock))
		return id;
	id = stack_id_locked(node, hook, nodes_max);
	lock_drop(&tree_lock);
	return id;
}

uint32_t tree_stack_id(uint32_t node, uint32_t hook)
{
	const struct format_node *first = node_at(node + 1);
	uint32_t link = atomic_load_explicit(&first->link, memory_order_acquire);

	/* Most often nothing else was ever called from there. */
	if ((link & FORMAT_LINK_STACK) && tree_stack_hook(first->pc32) == hook)
		return first->pc32;
	return stack_id_slow(node, hook);
}

uint32_t tree_truncated_id(const struct tree_path *path)
{
	struct tree_path below = *path;
	uint32_t nodes[TREE_TRUNCATED_DEPTH], id = 0;
	uint32_t limit = nodes_max + nodes_max / 10;

	loss_add(FORMAT_LOSS_SHORT_STACKS, 1);
	if (!lock_take(&tree_lock))
		return TREE_STACK_SIGNAL;
	below.parent = truncated_node;
	if (insert_locked(&below, limit, nodes))
		id = stack_id_locked(nodes[path->count - 1], path->hook, limit);
	lock_drop(&tree_lock);
	return id ? id : TREE_STACK_BEYOND_BUDGET;
}

uint32_t tree_not_taken_id(uint32_t pc32, uint32_t hook)
{
	uint32_t both[] = {FORMAT_SPECIAL_NOT_TAKEN, pc32}, nodes[2], id = 0;
	uint32_t parent = atomic_load_explicit(&not_taken_node, memory_order_relaxed);
	uint32_t node = parent ? tree_find(parent, pc32) : 0;
	struct tree_path path = {.parent = TREE_ROOT, .count = 2, .pc32 = both, .hook = hook};

	loss_add(FORMAT_LOSS_NOT_TAKEN, 1);
	if (!node && tree_insert(&path, nodes)) {
		atomic_store_explicit(&not_taken_node, nodes[0], memory_order_relaxed);
		node = nodes[1];
	}
	if (node)
		id = tree_stack_id(node, hook);
	return id ? id : TREE_STACK_BEYOND_BUDGET;
}

uint32_t tree_truncated_node(void)
{
	return truncated_node;
}

uint32_t tree_parent(uint32_t node)
{
	uint32_t link = link_of(node);
	unsigned steps;

	for (steps = 0; !(link & FORMAT_LINK_PARENT); steps++) {
		node = link & FORMAT_LINK_INDEX;
		if (steps == TREE_LIST_LIMIT)
			return hash_find(node | UP_FLAG, 0) - 1;
		link = link_of(node);
	}
	return link & FORMAT_LINK_INDEX;
}

uint32_t tree_pc32(uint32_t node)
{
	return node_at(node)->pc32;
}

uint32_t tree_stack_limit(void)
{
	return atomic_load_explicit(&store_head()->stack_limit, memory_order_acquire);
}

uint32_t tree_node_count(void)
{
	return atomic_load_explicit(&store_head()->node_count, memory_order_relaxed);
}

uint32_t tree_stack_hook(uint32_t id)
{
	uint32_t flags = atomic_load_explicit(&tree_stack(id)->flags, memory_order_relaxed);

	return flags >> FORMAT_HOOK_SHIFT & 0xff;
}

bool tree_init(uint32_t max_nodes)
{
	const uint32_t names[] = {FORMAT_SPECIAL_SIGNAL, FORMAT_SPECIAL_BEYOND_BUDGET,
				  FORMAT_SPECIAL_TRUNCATED};
	struct tree_path path = {.parent = TREE_ROOT, .count = 1, .hook = FORMAT_NO_HOOK};
	uint32_t i, node;

	nodes_max = max_nodes;
	atomic_store_explicit(&not_taken_node, 0, memory_order_relaxed);
	atomic_store_explicit(&store_head()->node_count, 1, memory_order_relaxed);
	atomic_store_explicit(&store_head()->stack_limit, TREE_STACK_SIGNAL, memory_order_relaxed);
	if (!nodes_reserve(16))
		return false;
	node_write(TREE_ROOT, 0, FORMAT_LINK_PARENT | TREE_ROOT);
	for (i = 0; i < 3; i++) {
		path.pc32 = &names[i];
		node = chain_write(&path);
		if (!node)
			return false;
		if (i)
			list_append(TREE_ROOT, node);
		truncated_node = node;
	}
	return true;
}

static void forget_blocks(void)
{
	uint32_t i;

	for (i = 0;
	     i < FORMAT_BLOCKS_MAX && atomic_load_explicit(&node_blocks[i], memory_order_relaxed);
	     i++)
		atomic_store_explicit(&node_blocks[i], NULL, memory_order_relaxed);
	for (i = 0; i < FORMAT_BLOCKS_MAX &&
		    atomic_load_explicit(&tree_stack_blocks[i], memory_order_relaxed);
	     i++)
		atomic_store_explicit(&tree_stack_blocks[i], NULL, memory_order_relaxed);
}

bool tree_fork_child(void)
{
	lock_reset(&tree_lock);
	forget_blocks();
	atomic_store_explicit(&hash_now, NULL, memory_order_relaxed);
	hash_used = 0;
	return tree_init(nodes_max);
}
