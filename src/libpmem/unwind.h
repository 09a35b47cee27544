/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind.h - the call stack of a hook's caller, by call frame information.  See unwind.c.
 */
#ifndef PMEM_LIBPMEM_UNWIND_H
#define PMEM_LIBPMEM_UNWIND_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libpmem/stack_check.h"

enum unwind_flag {
	UNWIND_UNCLEAN = 1, /* a step was not proved by CFI, or the end was not marked as the end */
	UNWIND_TRUNCATED = 2, /* ended for lack of information */
	UNWIND_SIGNAL = 4,    /* passes a signal frame */
	UNWIND_OPEN = 8,      /* that it ended where it did does not follow from its frames */
	UNWIND_USES_FP = 16,  /* of one step: it took the CFA from the frame pointer */
	UNWIND_FOREVER_NEW = UNWIND_SIGNAL | UNWIND_OPEN, /* never remembered */
};

/* One frame, with what the step to it read. */
struct unwind_frame {
	uintptr_t slot;	 /* address of the return address */
	uintptr_t ra;	 /* the return address; of interrupted code the address plus one */
	uintptr_t fp;	 /* frame pointer in the caller, that is after this step */
	uintptr_t save;	 /* where it was read from; 0: unchanged by the step */
	uintptr_t deref; /* where the CFA was read from (CFI_FP_DEREF); 0: computed */
	uintptr_t deref_value;
	uint32_t node;	    /* of the path from the outermost frame; 0: the tree had no room */
	uint32_t check_end; /* checks[0 .. check_end) prove the frames from the outermost to this one */
	uint16_t own_flags; /* enum unwind_flag: of the step; of the outermost frame also of the end */
	uint8_t needs_fp; /* what lies further out depends on this frame's fp */
	uint8_t flags;	  /* own_flags of this frame and of all further out */
};

enum {
	UNWIND_CAPACITY_START = 64,
	UNWIND_CAPACITY_MAX = 1 << 20, /* deeper call stacks are truncated */
};

/* Per thread: the last call stack, and room for the next. */
struct unwind {
	struct unwind_frame *frames;	  /* [capacity]: the last call stack, outermost first */
	struct unwind_frame *fresh;	  /* [capacity]: the walk in progress, innermost first */
	struct stack_check_group *checks; /* for 3 * capacity checks, from the outside in */
	uint32_t *pc32;			  /* [capacity]: scratch */
	uint32_t *nodes;		  /* [capacity]: scratch */
	uint32_t capacity;
	uint32_t count;		/* frames; 0: nothing to join */
	uint32_t flags;		/* enum unwind_flag of the call stack captured last */
	uint32_t hook;		/* its enum format_hook */
	uint32_t mappings;	/* unwind_mappings when the pages and frames were proved */
	uintptr_t proved_start; /* pages proved readable around the last walk */
	uintptr_t proved_end;
	uintptr_t kept_start; /* an older such range further out */
	uintptr_t kept_end;
};

/* Grows when the program unmaps or protects memory: proofs of readability end. */
extern _Atomic uint32_t unwind_mappings __attribute__((visibility("hidden")));

/* Returns false when memory is exhausted. */
bool unwind_init(struct unwind *unwind);

/* Captures the call stack whose innermost return address lies at fp[1], fp being the frame address
 * of a hook.  Returns its id for the entry point hook (enum format_hook), never 0. */
uint32_t unwind_capture(struct unwind *unwind, const uintptr_t *fp, uint32_t hook);

/* A plain full walk by the same rules, with no use of the last call stack: writes at most max return
 * addresses, innermost first, and returns how many.  For the verification build. */
size_t unwind_reference(struct unwind *unwind, const uintptr_t *fp, uintptr_t *ra, size_t max);

/* Gives the memory back. */
void unwind_drop(struct unwind *unwind);

/* Forgets the last call stack, and which pages were proved readable. */
void unwind_flush(struct unwind *unwind);

#endif
