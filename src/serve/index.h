/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * index.h - the list of what is served, as a page.
 */
#ifndef PMEM_SERVE_INDEX_H
#define PMEM_SERVE_INDEX_H
#include <stdio.h>

#include "serve/subjects.h"

/* Errors of the file are the caller's to see. */
void index_write(struct subjects *subjects, FILE *file);

#endif
