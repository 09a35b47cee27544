/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * units.h - numbers as people read them.  Every function writes into text and returns it.
 */
#ifndef PMEM_BASE_UNITS_H
#define PMEM_BASE_UNITS_H
#include <stdbool.h>
#include <stdint.h>

enum { UNITS_SIZE = 40 };

/* Binary units, one decimal from KiB on: "0 B", "812 B", "1.0 KiB", "412.3 MiB". */
const char *units_bytes(uint64_t bytes, char text[UNITS_SIZE]);

/* The same with a sign, "+33.9 MiB", "-12 B"; "0" for 0. */
const char *units_bytes_change(int64_t bytes, char text[UNITS_SIZE]);

/* "7", "18,220", from a million on "1.18 M", "31.2 M", "2.10 G". */
const char *units_count(uint64_t count, char text[UNITS_SIZE]);

/* "0 %", "<1 %", "61 %", ">99 %": 0 and 100 only if they are exact; "-" if whole is 0. */
const char *units_share(uint64_t part, uint64_t whole, char text[UNITS_SIZE]);

/* "0 s", "850 us", "3.2 ms", "7.1 s", "42 s", "12 min 4 s", "3 h 7 min", "2 d 4 h". */
const char *units_duration(uint64_t duration_ns, char text[UNITS_SIZE]);

/* Local time of day and date of a CLOCK_REALTIME: "10:42:13", "29 Nov 10:31:02". */
const char *units_time(uint64_t realtime_ns, char text[UNITS_SIZE]);
const char *units_date(uint64_t realtime_ns, char text[UNITS_SIZE]);

/* A size given by a person: "512", "64k", "1.5g", "8MiB".  False: malformed or more than 2^63. */
bool units_parse_bytes(const char *text, uint64_t *bytes);

/* A duration given by a person: "90", "90s", "10m", "1h30m", "250ms"; a bare number is seconds.  False: malformed. */
bool units_parse_duration(const char *text, uint64_t *duration_ns);

#endif
