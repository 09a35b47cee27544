/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spark.h - a series of numbers as a line of small bars.
 */
#ifndef PMEM_TOP_SPARK_H
#define PMEM_TOP_SPARK_H
#include <stdint.h>
#include <stdio.h>

enum spark_form { SPARK_ASCII, SPARK_UTF8 };

#define SPARK_UNKNOWN UINT64_MAX

/* One character for each value; a blank for one that is not known.  The lowest value has the smallest bar, but a change of less than an
 * eighth of the highest one does not fill the height. */
void spark_put(const uint64_t *values, unsigned count, enum spark_form form, FILE *file);

#endif
