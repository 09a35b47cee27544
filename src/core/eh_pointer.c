/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eh_pointer.c - see eh_pointer.h.  Part of libpmem and of the tool: calls nothing, keeps no state.
 */
#include "core/eh_pointer.h"

uint64_t eh_pointer_value(struct cursor *c, uint8_t encoding)
{
	switch (encoding & EH_POINTER_FORMAT) {
	case EH_POINTER_ULEB:
		return cursor_uleb(c);
	case EH_POINTER_UDATA2:
		return cursor_u16(c);
	case EH_POINTER_UDATA4:
		return cursor_u32(c);
	case EH_POINTER_SLEB:
		return (uint64_t)cursor_sleb(c);
	case EH_POINTER_SDATA2:
		return (uint64_t)(int16_t)cursor_u16(c);
	case EH_POINTER_SDATA4:
		return (uint64_t)(int32_t)cursor_u32(c);
	case EH_POINTER_ABSPTR:
	case EH_POINTER_UDATA8:
	case EH_POINTER_SDATA8:
		return cursor_u64(c);
	default:
		c->failed = true;
		return 0;
	}
}

uintptr_t eh_pointer_address(struct cursor *c, uint8_t encoding, uintptr_t data_base)
{
	uint8_t kind = encoding & (EH_POINTER_BASE | EH_POINTER_INDIRECT);
	uintptr_t base = 0;

	if (kind == EH_POINTER_PCREL)
		base = (uintptr_t)c->at;
	else if (kind == EH_POINTER_DATAREL && data_base)
		base = data_base;
	else if (kind)
		c->failed = true;
	return base + eh_pointer_value(c, encoding);
}
