/* SPDX-License-Identifier: BSD-2-Clause */
/* symbols - labels of x86-64 code as assemblers leave them: without types, without sizes, nested, overlapping. */
	.text
	.globl first
first:				/* no type, no size: up to second */
	nop
	nop
	nop
	nop
second:
	nop
	nop
	nop
	nop
	.globl big
	.type big, @function
big:				/* 16 bytes with a mere label and a function inside */
	nop
	nop
label_in_big:
	nop
	nop
	.type inner, @function
inner:
	nop
	nop
	.size inner, 2
	nop
	nop
	nop
	nop
	nop
	nop
	nop
	nop
	nop
	nop
	.size big, 16
	nop				/* nobody's: the gap behind big */
	.globl twin
	.weak __twin_weak
	.type twin, @function
	.type __twin_weak, @function
	.type a_twin_local, @function
a_twin_local:
__twin_weak:
twin:
	nop
	.size twin, 1
	.size __twin_weak, 1
	.size a_twin_local, 1
	.globl __under
	.globl under_but_longer
	.type __under, @function
	.type under_but_longer, @function
__under:
under_but_longer:
	nop
	.size __under, 1
	.size under_but_longer, 1
last:				/* up to the section's end */
	nop
	nop
	.section .text.other, "ax", @progbits
	.globl other
other:
	nop
	.data
	.globl datum
datum:
	.quad 1
	.section .note.GNU-stack, "", @progbits
