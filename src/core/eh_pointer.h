/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eh_pointer.h - reads the encoded pointers of .eh_frame and .eh_frame_hdr (LSB 5.0 core, 10.5).
 */
#ifndef PMEM_CORE_EH_POINTER_H
#define PMEM_CORE_EH_POINTER_H
#include <stdint.h>

#include "core/cursor.h"

/* An encoding: the format in the low four bits, the base in the next three. */
enum {
	EH_POINTER_ABSPTR = 0x00,
	EH_POINTER_ULEB = 0x01,
	EH_POINTER_UDATA2 = 0x02,
	EH_POINTER_UDATA4 = 0x03,
	EH_POINTER_UDATA8 = 0x04,
	EH_POINTER_SLEB = 0x09,
	EH_POINTER_SDATA2 = 0x0a,
	EH_POINTER_SDATA4 = 0x0b,
	EH_POINTER_SDATA8 = 0x0c,
	EH_POINTER_FORMAT = 0x0f,
	EH_POINTER_PCREL = 0x10,
	EH_POINTER_DATAREL = 0x30,
	EH_POINTER_BASE = 0x70,
	EH_POINTER_ALIGNED = 0x50,
	EH_POINTER_INDIRECT = 0x80,
};

/* The value alone, in the format of encoding's low bits.  A format that does not exist makes c fail. */
uint64_t eh_pointer_value(struct cursor *c, uint8_t encoding);

/* An address: the value plus its base.  data_base is what EH_POINTER_DATAREL counts from, 0 = it is
 * not allowed here.  Bases that need the loader's help, and indirect pointers, make c fail. */
uintptr_t eh_pointer_address(struct cursor *c, uint8_t encoding, uintptr_t data_base);

#endif
