/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * find_object.h - which object the loader has mapped at an address, without a lock or a search of its symbols.
 */
#ifndef PMEM_LIBPMEM_FIND_OBJECT_H
#define PMEM_LIBPMEM_FIND_OBJECT_H

/* struct dl_find_object of <dlfcn.h> in glibc >= 2.35; declared here so that older headers compile and older libraries load. */
struct found_object {
	unsigned long long flags;
	void *map_start;
	void *map_end;
	void *link_map;
	void *eh_frame;
	unsigned long long reserved[7];
};

/* _dl_find_object(): 0: *result is the object at addr.  NULL in other C libraries.  Under a name of our own, as <dlfcn.h> may or may not declare
 * it. */
extern int find_object_of(void *addr, struct found_object *result) __asm__("_dl_find_object")
	__attribute__((weak));

#endif
