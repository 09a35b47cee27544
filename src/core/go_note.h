/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * go_note.h - the ELF note with which Go's linker marks its programs.
 */
#ifndef PMEM_CORE_GO_NOTE_H
#define PMEM_CORE_GO_NOTE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if one of the notes (gABI 4.1, chapter 5) in these bytes is Go's: its owner is "Go".  What
 * follows a note that does not end within them is not looked at; any alignment will do. */
bool go_note_is_in(const uint8_t *bytes, size_t size);

#endif
