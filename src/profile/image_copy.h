/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * image_copy.h - the bytes of a profile's file, to be kept.
 */
#ifndef PMEM_PROFILE_IMAGE_COPY_H
#define PMEM_PROFILE_IMAGE_COPY_H
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* The file as it is: of a process that has ended. */
bool image_copy_bytes(const char *path, char **bytes, size_t *size, struct error *err);

/* The state of a process that goes on, as a file that a reader of ended processes finds consistent: in each call stack no more is
 * freed than was allocated, and all that is referred to is there. */
bool image_copy_running(const char *path, char **bytes, size_t *size, struct error *err);

#endif
