/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * state.h - a profile as one push shows it.
 *
 * inuse_* are what is live at that moment.  alloc_* are what was allocated since the last push where the server sums them up.  A
 * server that takes only so many call stacks gets the largest ones, and all others as one without frames, so that the totals stay
 * exact; call stacks that have nothing to show are left out, and so are locations that no call stack leads through.
 */
#ifndef PMEM_PUSH_STATE_H
#define PMEM_PUSH_STATE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/profile.h"
#include "profile/given_names.h"
#include "push/base.h"

struct state_view {
	const struct base *base; /* what was pushed already; NULL = alloc_* are sums since the start */
	uint32_t stacks_max;	 /* 0 = any number */
	uint64_t from_ns;	 /* CLOCK_REALTIME: what alloc_* cover */
	uint64_t until_ns;
};

/* profile is one for export/: its start is until_ns, which formats write as the time of the state, and its duration what was
 * covered; 0 for sums since the start.  It shares texts and modules with the one it was made from, which must outlive it. */
struct state {
	struct profile profile;
	struct given_names given; /* of profile, if it has any: by its locations */
	uint64_t folded;	  /* call stacks that were put together */
};

/* False: no memory. */
bool state_make(struct state *state, const struct profile *profile, const struct state_view *view,
		struct error *err);
void state_free(struct state *state);

#endif
