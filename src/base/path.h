/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path.h - parts of paths.
 */
#ifndef PMEM_BASE_PATH_H
#define PMEM_BASE_PATH_H
#include <string.h>

/* What follows the last slash: "" of a path that ends with one. */
static inline const char *path_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

#endif
