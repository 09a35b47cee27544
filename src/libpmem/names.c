/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names.c - function names for the log, from ELF symbol tables.
 *
 * Per module one index of its functions, sorted by address, made when the first name is asked for.
 * Which of several symbols of one address wins is decided by the sort order.  All under
 * LOCK_SNAPSHOT.
 *
 * A forked child cannot tell what the parent's threads left unfinished, and module records begin
 * anew there: names_fork_child() only starts a new generation.  What has another generation is
 * remade when it is asked for.  An index gets its generation last and loses it first (fences):
 * one that has any is whole, and can be given back.
 */
#include "libpmem/names.h"

#include <stdatomic.h>
#include <string.h>

#include "core/allocator_names.h"
#include "libpmem/symbols.h"
#include "libpmem/sys.h"

enum {
	DIGIT_BITS = 11, /* of a radix sort's pass */
	DIGITS = 1 << DIGIT_BITS,
	RANK_BITS = 8,
	ADDR_BITS = 48,	      /* symbols beyond are no functions of a 64-bit program */
	LOOK_BACK = 64,	      /* functions before an address that may cover it */
	NAME_MAX_SIZE = 4096, /* longer ones are not printed */
};

struct function {
	uint64_t addr; /* while sorting: address << RANK_BITS | rank */
	uint32_t size;
	uint32_t name; /* offset in the strings */
};

struct name_index {
	struct function *functions;
	size_t count;
	size_t map_size;
	struct symbols symbols; /* the strings */
	const struct module *module;
	uint32_t generation; /* of the rest; 0 = nothing here */
};

static _Atomic uint32_t generation = 1;
static struct name_index indexes[MODULES_MAX];
static uint32_t digit_counts[DIGITS];
static uint32_t allocators; /* what was found in the program */

/* --- making an index ------------------------------------------------------------------------- */

/* Smaller is better: GLOBAL before WEAK before LOCAL, then fewer leading underscores. */
static uint64_t rank_of(const Elf64_Sym *symbol, const char *name)
{
	unsigned binding = ELF64_ST_BIND(symbol->st_info);
	uint64_t underscores = 0;

	while (underscores < 15 && name[underscores] == '_')
		underscores++;
	return (binding == STB_LOCAL ? 2 : binding == STB_WEAK ? 1 : 0) << 4 | underscores;
}

static bool is_function(const Elf64_Sym *symbol)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
	       symbol->st_size > 0 && symbol->st_value >> ADDR_BITS == 0;
}

/* Fills functions with those of table, unsorted.  Returns their number. */
static size_t collect(const struct elf_symbols *table, struct function *functions)
{
	size_t i, count = 0;

	for (i = 0; i < table->count; i++) {
		Elf64_Sym symbol;
		const char *name;

		if (!elf_symbol_at(table, i, &symbol, &name) || !is_function(&symbol) || !*name)
			continue;
		functions[count++] = (struct function){
			.addr = symbol.st_value << RANK_BITS | rank_of(&symbol, name),
			.size = symbol.st_size < UINT32_MAX ? (uint32_t)symbol.st_size : UINT32_MAX,
			.name = (uint32_t)(name - table->strings)};
	}
	return count;
}

static void sort_by_digit(const struct function *from, struct function *to, size_t count,
			  unsigned shift)
{
	uint32_t total = 0;
	size_t i;

	memset(digit_counts, 0, sizeof(digit_counts));
	for (i = 0; i < count; i++)
		digit_counts[from[i].addr >> shift & (DIGITS - 1)]++;
	for (i = 0; i < DIGITS; i++) {
		uint32_t start = total;

		total += digit_counts[i];
		digit_counts[i] = start;
	}
	for (i = 0; i < count; i++)
		to[digit_counts[from[i].addr >> shift & (DIGITS - 1)]++] = from[i];
}

/* Sorts by addr, equal ones in the table's order; other is as large as functions.  Returns
 * the one of the two that holds the result. */
static struct function *sort(struct function *functions, struct function *other, size_t count)
{
	uint64_t bits = 0;
	unsigned shift;
	size_t i;

	for (i = 0; i < count; i++)
		bits |= functions[i].addr;
	for (shift = 0; shift < RANK_BITS + ADDR_BITS && bits >> shift != 0; shift += DIGIT_BITS) {
		struct function *sorted = other;

		sort_by_digit(functions, other, count, shift);
		other = functions;
		functions = sorted;
	}
	return functions;
}

/* The sorted functions of index->symbols; none when memory is exhausted. */
static void make_functions(struct name_index *index)
{
	size_t size = index->symbols.table.count * sizeof(struct function);
	struct function *functions = sys_map(size);
	struct function *other = sys_map(size);
	struct function *sorted = functions;
	size_t i;

	if (functions && other) {
		index->count = collect(&index->symbols.table, functions);
		sorted = sort(functions, other, index->count);
		for (i = 0; i < index->count; i++)
			sorted[i].addr >>= RANK_BITS;
		index->functions = sorted;
		index->map_size = size;
	}
	if (functions && functions != index->functions)
		sys_unmap(functions, size);
	if (other && other != index->functions)
		sys_unmap(other, size);
}

static bool is_program(const struct module *module)
{
	return module->path[0] && strcmp(module->path, modules_program_path()) == 0;
}

static void look_for_allocators(const struct name_index *index)
{
	size_t i;

	for (i = 0; i < index->count; i++)
		allocators |= allocator_names_bit(index->symbols.table.strings +
						  index->functions[i].name);
}

static void make_index(struct name_index *index, const struct module *module)
{
	uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);

	if (index->generation != 0) {
		index->generation = 0;
		if (index->functions)
			sys_unmap(index->functions, index->map_size);
		symbols_drop(&index->symbols);
	}
	atomic_thread_fence(memory_order_release);
	*index = (struct name_index){.module = module};
	if (symbols_copy(module, &index->symbols)) {
		make_functions(index);
		if (is_program(module))
			look_for_allocators(index);
		symbols_drop_entries(&index->symbols);
	}
	atomic_thread_fence(memory_order_release);
	index->generation = now;
}

/* --- looking up ------------------------------------------------------------------------------ */

/* The number of functions that begin at or below addr. */
static size_t count_up_to(const struct name_index *index, uint64_t addr)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->functions[middle].addr <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The function that covers addr: the one that begins last, of those the best. NULL if none does. */
static const struct function *find_function(const struct name_index *index, uint64_t addr)
{
	size_t at = count_up_to(index, addr);
	size_t stop = at > LOOK_BACK ? at - LOOK_BACK : 0;
	const struct function *best = NULL;

	while (at > stop) {
		const struct function *function = &index->functions[--at];

		if (best && function->addr != best->addr)
			break;
		if (addr - function->addr < function->size)
			best = function;
	}
	return best;
}

void names_find(const struct modules_location *location, struct name *name)
{
	struct name_index *index = &indexes[location->module_id % MODULES_MAX];
	const struct function *function;
	const char *symbol;

	if (index->module != location->module ||
	    index->generation != atomic_load_explicit(&generation, memory_order_relaxed))
		make_index(index, location->module);
	*name = (struct name){0};
	function = find_function(index, location->offset - 1);
	if (!function)
		return;
	symbol = index->symbols.table.strings + function->name;
	if (strlen(symbol) >= NAME_MAX_SIZE)
		return;
	*name = (struct name){.symbol = symbol, .offset = location->offset - function->addr};
}

void names_preload(void)
{
	struct modules_location location = {.offset = 1};
	struct name name;

	for (location.module_id = 1; location.module_id < modules_count(); location.module_id++) {
		location.module = modules_get(location.module_id);
		names_find(&location, &name);
	}
}

void names_program(void)
{
	struct modules_location location = {.offset = 1};
	struct name name;

	for (location.module_id = 1; location.module_id < modules_count(); location.module_id++) {
		location.module = modules_get(location.module_id);
		if (is_program(location.module))
			names_find(&location, &name);
	}
}

uint32_t names_allocators(void)
{
	return allocators;
}

void names_fork_child(void)
{
	atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
}
