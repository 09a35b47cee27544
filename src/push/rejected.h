/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rejected.h - what a collector says that it did not take, in an answer that is otherwise good.
 */
#ifndef PMEM_PUSH_REJECTED_H
#define PMEM_PUSH_REJECTED_H
#include <stddef.h>
#include <stdint.h>

enum { REJECTED_TEXT = 256 };

/* The number of profiles, and why, of an ExportProfilesServiceResponse { ExportProfilesPartialSuccess partial_success = 1 {
 * int64 rejected_profiles = 1; string error_message = 2 } } (opentelemetry-proto, profiles_service.proto).  0: all were taken, or it is
 * no such message. */
uint64_t rejected_profiles(const void *answer, size_t size, char why[REJECTED_TEXT]);

#endif
