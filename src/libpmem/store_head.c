/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store_head.c - the header while there is no file.
 */
#include "libpmem/store.h"

static struct format_first_block without_file;

struct format_first_block *store_first = &without_file;
