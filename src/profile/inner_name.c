/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inner_name.c - see inner_name.h.
 *
 * A file of its own, so that what prints names needs nothing of those that look them up.
 */
#include "profile/inner_name.h"

#include "symbol/short_name.h"

const char *inner_name(const char *function)
{
	return short_name_inner(function);
}
