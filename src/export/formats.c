/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * formats.c - the table of formats, and the numbers that formats with one number choose from.
 */
#include <string.h>

#include "export/export.h"

const struct export_format export_formats[] = {
	{"log", "the text log's format (doc/LOG.md), one snapshot", export_log, false, false,
	 EXPORT_BESIDE},
	{"collapsed", "one line for each call stack: flamegraph.pl, inferno, speedscope",
	 export_collapsed, true, false, EXPORT_ONE},
	{"pprof", "go tool pprof, Pyroscope, Parca (protobuf, gzip)", export_pprof, false, true,
	 EXPORT_BESIDE},
	{"speedscope", "speedscope: live and allocated bytes", export_speedscope, false, false,
	 EXPORT_BESIDE},
	{"massif", "ms_print, massif-visualizer: the timeline, the peak, the end", export_massif,
	 false, false, EXPORT_ONE},
	{"dhat", "DHAT's viewer, dh_view.html", export_dhat, false, false, EXPORT_HEAP},
	{"firefox", "Firefox Profiler: live bytes, allocations, the timeline", export_firefox,
	 false, false, EXPORT_ONE},
	{"heaptrack", "heaptrack_print, heaptrack_gui", export_heaptrack, false, false, EXPORT_HEAP},
	{NULL, NULL, NULL, false, false, EXPORT_HEAP},
};

const struct export_format *export_find(const char *name)
{
	const struct export_format *format;

	for (format = export_formats; format->name; format++)
		if (strcmp(format->name, name) == 0)
			return format;
	return NULL;
}

const char *export_value_name(enum export_value value)
{
	static const char *const names[EXPORT_VALUES] = {
		[EXPORT_LIVE] = "live",	  [EXPORT_LIVE_BLOCKS] = "live_blocks",
		[EXPORT_ALLOC] = "alloc", [EXPORT_ALLOC_BLOCKS] = "alloc_blocks",
		[EXPORT_PEAK] = "peak",	  [EXPORT_TEMPORARY] = "temporary",
	};

	return value < EXPORT_VALUES ? names[value] : NULL;
}

bool export_value_find(const char *name, enum export_value *value)
{
	unsigned i;

	for (i = 0; i < EXPORT_VALUES; i++)
		if (strcmp(export_value_name(i), name) == 0) {
			*value = i;
			return true;
		}
	return false;
}

uint64_t export_value_of(enum export_value value, const struct profile_counts *counts)
{
	switch (value) {
	case EXPORT_LIVE_BLOCKS:
		return profile_live_count(counts);
	case EXPORT_ALLOC:
		return counts->alloc_bytes;
	case EXPORT_ALLOC_BLOCKS:
		return counts->alloc_count;
	case EXPORT_PEAK:
		return counts->peak_bytes > 0 ? (uint64_t)counts->peak_bytes : 0;
	case EXPORT_TEMPORARY:
		return counts->temporary_count;
	default:
		return profile_live_bytes(counts);
	}
}

uint64_t export_header(const _Atomic uint64_t *field)
{
	return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)field, memory_order_relaxed);
}

uint64_t export_peak(const struct profile *profile)
{
	uint64_t live = profile_live_bytes(&profile->totals);
	uint64_t peak = export_header(&profile->header.peak_bytes);

	return peak > live ? peak : live;
}

uint64_t export_peak_ns(const struct profile *profile)
{
	uint64_t time_ns = export_header(&profile->header.peak_ns);

	return time_ns < profile->duration_ns ? time_ns : profile->duration_ns;
}
