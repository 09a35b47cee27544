/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * order.h - call stacks sorted by their frames, so that those that are equal, or equal from the innermost frame on, are neighbours.
 */
#ifndef PMEM_EXPORT_ORDER_H
#define PMEM_EXPORT_ORDER_H
#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

/* Less, equal or greater than 0: compares the locations of two call stacks, the innermost first.  A call stack is less than those
 * that go on after its end. */
int order_compare(const struct profile *profile, uint32_t left, uint32_t right);

/* All call stacks in that order: an array of stack_count indexes, to be freed; NULL: no memory. */
uint32_t *order_stacks(const struct profile *profile);

#endif
