/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf.c - see dwarf.h.
 *
 * One session of libdwfl for each file, which reports just that file, at the addresses in its headers: it finds the separate debug file, the
 * one for what dwz shared out, and split ones.  Which unit an address is in says .debug_aranges; compilers may leave
 * that out, so what it does not know is looked for in the units' own ranges.
 */
#include "symbol/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/dwarf_name.h"
#include "symbol/dwarf_unit.h"
#include "symbol/mini_debug.h"

#define NS_PER_S UINT64_C(1000000000)

/* One address that takes longer, or a file that takes longer in all, is hostile or broken. */
enum { ADDRESS_S = 10, FILE_S = 300, UNITS_MAX = 1 << 20, RANGES_MAX = 1 << 16 };

/* libdw keeps about 50 bytes for each row of the line tables that it has read, and frees them with all the rest only. */
enum { ROWS_MAX = 2000000 };

/* Some of a unit's addresses. */
struct range {
	uint64_t low;
	uint64_t high;
	Dwarf_Die die;
};

struct dwarf {
	int fd;
	char *path;
	char *search;
	int debug_fd;	    /* the separate debug file; -1 = none found so far */
	char *missing_file; /* its name, if it was not found; NULL: not known */
	Dwfl_Callbacks callbacks;
	Dwfl *dwfl;
	Dwfl_Module *module;
	uint64_t bias;	     /* from the main file's addresses to libdwfl's */
	bool is_asked;	     /* for the DWARF */
	Dwarf *debug;	     /* NULL: none */
	uint64_t debug_bias; /* from the debug file's addresses to libdwfl's */
	void *units;	     /* tsearch() of struct dwarf_unit by the address of its entry */
	bool is_ranged;
	struct range *ranges; /* of all units, by low */
	size_t range_count;
	size_t row_count; /* of lines that libdw keeps */
	uint64_t spent_ns;
	struct dwarf_chain chain; /* of the question at hand */
	struct dwarf_names names;
};

/* Keeps what libdwfl finds.  The file that dwz shared out is looked for without a main file's name. */
static int find_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			   const char *file, const char *link, GElf_Word crc, char **found)
{
	int fd = dwfl_standard_find_debuginfo(module, data, name, base, file, link, crc, found);
	struct dwarf *dwarf = *data;

	if (fd >= 0 && file && dwarf->debug_fd < 0)
		dwarf->debug_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0 && file && link && link[0] && !dwarf->missing_file)
		dwarf->missing_file = strndup(link, NAME_MAX);
	return fd;
}

static void free_unit(void *unit)
{
	dwarf_unit_free(unit);
	free(unit);
}

/* Lets all go that begin() and questions made. */
static void end(struct dwarf *dwarf)
{
	tdestroy(dwarf->units, free_unit);
	dwarf->units = NULL;
	if (dwarf->dwfl)
		dwfl_end(dwarf->dwfl);
	dwarf->dwfl = NULL;
	dwarf->module = NULL;
	dwarf->debug = NULL;
	dwarf->is_asked = false;
	dwarf_names_free(&dwarf->names);
	free(dwarf->ranges);
	dwarf->ranges = NULL;
	dwarf->range_count = dwarf->row_count = 0;
	dwarf->is_ranged = false;
}

/* Opens the session.  False: the file cannot be read. */
static bool begin(struct dwarf *dwarf)
{
	int fd = fcntl(dwarf->fd, F_DUPFD_CLOEXEC, 0);
	GElf_Addr bias = 0;
	void **data;

	if (fd < 0)
		return false;
	dwarf->dwfl = dwfl_begin(&dwarf->callbacks);
	if (dwarf->dwfl)
		dwarf->module = dwfl_report_elf(dwarf->dwfl, dwarf->path, dwarf->path, fd, 0, true);
	if (!dwarf->module) {
		close(fd);
		return false;
	}
	dwfl_module_info(dwarf->module, &data, NULL, NULL, NULL, NULL, NULL, NULL);
	*data = dwarf;
	dwfl_report_end(dwarf->dwfl, NULL, NULL);
	if (!dwfl_module_getelf(dwarf->module, &bias))
		return false;
	dwarf->bias = bias;
	return true;
}

struct dwarf *dwarf_open(const struct dwarf_source *source)
{
	struct dwarf *dwarf = calloc(1, sizeof(*dwarf));

	if (!dwarf)
		return NULL;
	dwarf->debug_fd = -1;
	dwarf->fd = fcntl(source->fd, F_DUPFD_CLOEXEC, 0);
	dwarf->path = strdup(source->path);
	dwarf->search = strdup(source->search);
	dwarf->callbacks = (Dwfl_Callbacks){.find_elf = dwfl_build_id_find_elf,
					    .find_debuginfo = find_debug_file,
					    .section_address = dwfl_offline_section_address,
					    .debuginfo_path = &dwarf->search};
	if (!dwarf->path || !dwarf->search || !begin(dwarf)) {
		dwarf_close(dwarf);
		return NULL;
	}
	return dwarf;
}

void dwarf_close(struct dwarf *dwarf)
{
	if (!dwarf)
		return;
	end(dwarf);
	if (dwarf->fd >= 0)
		close(dwarf->fd);
	if (dwarf->debug_fd >= 0)
		close(dwarf->debug_fd);
	free(dwarf->missing_file);
	free(dwarf->path);
	free(dwarf->search);
	free(dwarf);
}

bool dwarf_has_any(struct dwarf *dwarf)
{
	Dwarf_Addr bias = 0;

	if (!dwarf->is_asked && dwarf->module) {
		dwarf->is_asked = true;
		dwarf->debug = dwfl_module_getdwarf(dwarf->module, &bias);
		dwarf->debug_bias = bias;
	}
	return dwarf->debug != NULL;
}

int dwarf_debug_file(struct dwarf *dwarf)
{
	/* Looks for the file, but does not read the DWARF yet; but would unpack .gnu_debugdata, however large that is. */
	if (dwarf->module && !mini_debug_is_in(dwarf->fd))
		dwfl_module_getsymtab(dwarf->module);
	else
		dwarf_has_any(dwarf);
	return dwarf->debug_fd;
}

const char *dwarf_missing_file(const struct dwarf *dwarf)
{
	return dwarf->debug_fd < 0 ? dwarf->missing_file : NULL;
}

/* --- units ----------------------------------------------------------------------------------- */

static int by_low(const void *a, const void *b)
{
	const struct range *left = a;
	const struct range *right = b;

	return (left->low > right->low) - (left->low < right->low);
}

/* Adds a unit's ranges.  False: no memory. */
static bool add_ranges(struct dwarf *dwarf, Dwarf_Die *die, size_t *room)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;

	for (unsigned i = 0; i < RANGES_MAX; i++) {
		offset = dwarf_ranges(die, offset, &base, &low, &high);
		if (offset <= 0)
			break;
		if (low == 0 || high <= low)
			continue;
		if (dwarf->range_count == *room) {
			size_t more = *room ? *room * 2 : 256;
			struct range *grown = realloc(dwarf->ranges, more * sizeof(*grown));

			if (!grown)
				return false;
			dwarf->ranges = grown;
			*room = more;
		}
		dwarf->ranges[dwarf->range_count++] = (struct range){low, high, *die};
	}
	return true;
}

static void list_ranges(struct dwarf *dwarf, const struct dwarf_limit *limit)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	size_t room = 0;
	bool ok = true;

	dwarf->is_ranged = true;
	for (unsigned i = 0; ok && i < UNITS_MAX && dwarf_now() < limit->end_ns; i++) {
		if (dwarf_get_units(dwarf->debug, unit, &unit, NULL, NULL, &die, NULL) != 0)
			break;
		ok = add_ranges(dwarf, &die, &room);
	}
	if (dwarf->range_count > 0)
		qsort(dwarf->ranges, dwarf->range_count, sizeof(*dwarf->ranges), by_low);
}

static bool search_ranges(const struct dwarf *dwarf, uint64_t address, Dwarf_Die *die)
{
	size_t low = 0, high = dwarf->range_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (dwarf->ranges[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address >= dwarf->ranges[low - 1].high)
		return false;
	*die = dwarf->ranges[low - 1].die;
	return true;
}

/* The split file's path comes from the DWARF: it may name a pipe, which would be waited for. */
static bool may_open_split(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(dwarf_attr(die, DW_AT_dwo_name, &attribute));
	const char *folder;
	struct stat status;
	char *path;
	bool ok;

	if (!name)
		name = dwarf_formstring(dwarf_attr(die, DW_AT_GNU_dwo_name, &attribute));
	if (!name)
		return true;
	folder = dwarf_formstring(dwarf_attr(die, DW_AT_comp_dir, &attribute));
	if (name[0] == '/' || !folder)
		folder = "";
	if (asprintf(&path, "%s%s%s", folder, folder[0] ? "/" : "", name) < 0)
		return false;
	ok = stat(path, &status) != 0 || S_ISREG(status.st_mode);
	free(path);
	return ok;
}

static int by_entry(const void *a, const void *b)
{
	const char *left = ((const struct dwarf_unit *)a)->die.addr;
	const char *right = ((const struct dwarf_unit *)b)->die.addr;

	return (left > right) - (left < right);
}

static struct dwarf_unit *unit_of(struct dwarf *dwarf, Dwarf_Die *die)
{
	struct dwarf_unit key = {.die = *die};
	struct dwarf_unit **known = tfind(&key, &dwarf->units, by_entry);
	struct dwarf_unit *unit;
	Dwarf_Die split;

	if (known)
		return *known;
	unit = calloc(1, sizeof(*unit));
	if (!unit)
		return NULL;
	unit->die = unit->body = *die;
	if (may_open_split(die) &&
	    dwarf_cu_info(die->cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 && split.addr)
		unit->body = split;
	if (!tsearch(unit, &dwarf->units, by_entry)) {
		free(unit);
		return NULL;
	}
	return unit;
}

static struct dwarf_unit *find_unit(struct dwarf *dwarf, uint64_t address,
				    const struct dwarf_limit *limit)
{
	Dwarf_Die die;

	if (dwarf_addrdie(dwarf->debug, address, &die))
		return unit_of(dwarf, &die);
	if (!dwarf->is_ranged)
		list_ranges(dwarf, limit);
	return search_ranges(dwarf, address, &die) ? unit_of(dwarf, &die) : NULL;
}

/* --- frames ---------------------------------------------------------------------------------- */

static void put_file(struct dwarf_unit *unit, const char *file, struct dwarf_frame *frame)
{
	Dwarf_Attribute attribute;

	frame->file = file;
	if (file && file[0] != '/')
		frame->directory = dwarf_formstring(
			dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute));
}

static void count_rows(struct dwarf *dwarf, struct dwarf_unit *unit)
{
	Dwarf_Lines *lines;
	size_t count;

	if (!unit->has_lines && dwarf_getsrclines(&unit->die, &lines, &count) == 0)
		dwarf->row_count += count;
	unit->has_lines = true;
}

/* Where the code at address itself is from. */
static void put_line(struct dwarf_unit *unit, uint64_t address, struct dwarf_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->die, address);
	int number = 0;

	if (!line || dwarf_lineno(line, &number) != 0 || number <= 0)
		return;
	frame->line = (uint32_t)number;
	put_file(unit, dwarf_linesrc(line, NULL, NULL), frame);
}

/* Where the inlined call was. */
static void put_call(struct dwarf_unit *unit, Dwarf_Die *call, struct dwarf_frame *frame)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number = 0, line = 0;
	Dwarf_Files *files;
	size_t count;

	if (dwarf_formudata(dwarf_attr(call, DW_AT_call_line, &attribute), &line) != 0 ||
	    line == 0 || line > UINT32_MAX)
		return;
	frame->line = (uint32_t)line;
	if (dwarf_formudata(dwarf_attr(call, DW_AT_call_file, &attribute), &number) != 0 ||
	    dwarf_getsrcfiles(&unit->body, &files, &count) != 0 || number >= count)
		return;
	put_file(unit, dwarf_filesrc(files, number, NULL, NULL), frame);
}

/* Names and places of a chain that was found; the first frame has its line. */
static void put_chain(struct dwarf *dwarf, struct dwarf_unit *unit, struct dwarf_limit *limit,
		      struct dwarf_found *found)
{
	struct dwarf_chain *chain = &dwarf->chain;

	for (size_t i = 0; i < chain->count; i++) {
		Dwarf_Die *die = &chain->dies[chain->count - 1 - i];

		found->frames[i].name = dwarf_name(die, &dwarf->names, limit);
		if (i + 1 < chain->count)
			put_call(unit, die, &found->frames[i + 1]);
	}
}

/* address is in the terms of the debug file. */
static void look_up(struct dwarf *dwarf, uint64_t address, struct dwarf_limit *limit,
		    struct dwarf_found *found)
{
	struct dwarf_unit *unit = find_unit(dwarf, address, limit);

	if (!unit)
		return;
	dwarf_unit_find(unit, address, limit, &dwarf->chain);
	found->count = dwarf->chain.count > 0 ? dwarf->chain.count : 1;
	memset(found->frames, 0, found->count * sizeof(found->frames[0]));
	count_rows(dwarf, unit);
	put_line(unit, address, &found->frames[0]);
	put_chain(dwarf, unit, limit, found);
	if (dwarf->chain.count > 0)
		found->start = dwarf->chain.start - (dwarf->bias - dwarf->debug_bias);
	else if (!found->frames[0].line)
		found->count = 0;
}

void dwarf_find(struct dwarf *dwarf, uint64_t address, struct dwarf_found *found)
{
	uint64_t begin_ns = dwarf_now();
	struct dwarf_limit limit = {.end_ns = begin_ns + ADDRESS_S * NS_PER_S};

	found->count = 0;
	found->start = 0;
	if (dwarf->row_count > ROWS_MAX) {
		end(dwarf);
		/* Without a session every question is answered with nothing. */
		if (!begin(dwarf))
			end(dwarf);
	}
	if (dwarf->spent_ns > FILE_S * NS_PER_S || !dwarf_has_any(dwarf))
		return;
	look_up(dwarf, address + (dwarf->bias - dwarf->debug_bias), &limit, found);
	dwarf->spent_ns += limit.is_over ? FILE_S * NS_PER_S : dwarf_now() - begin_ns;
}

int dwarf_fetch(const uint8_t *build_id, size_t size, char **path)
{
	static char nowhere[] = "";
	static char *search = nowhere;
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
						 .find_debuginfo = dwfl_standard_find_debuginfo,
						 .section_address = dwfl_offline_section_address,
						 .debuginfo_path = &search};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module = dwfl ? dwfl_report_module(dwfl, "wanted", 1, 2) : NULL;
	Elf *elf = NULL;
	int fd = -1;

	*path = NULL;
	if (module && dwfl_module_report_build_id(module, build_id, size, 0) == 0)
		fd = dwfl_build_id_find_elf(module, NULL, "wanted", 1, path, &elf);
	if (elf)
		elf_end(elf);
	if (dwfl)
		dwfl_end(dwfl);
	return fd;
}
