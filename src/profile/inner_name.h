/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inner_name.h - names of functions without the scopes that they are in, for who has little room.
 */
#ifndef PMEM_PROFILE_INNER_NAME_H
#define PMEM_PROFILE_INNER_NAME_H

/* Where a name goes on without its outermost scope: "Index::load" of "inventory::Index::load"; NULL: it is in none (short_name_inner()). */
const char *inner_name(const char *function);

#endif
