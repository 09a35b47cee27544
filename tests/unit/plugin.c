/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plugin.c - a library of several MiB of code that needs no other, for test_modules.c.
 *
 * Built under several names with another PLUGIN_NUMBER: all of the same layout.
 */
int plugin_call(int (*callback)(void));
extern char plugin_padding[];

__asm__(".text\n.globl plugin_padding\nplugin_padding:\n.skip 3 << 20\n");

__attribute__((visibility("default"))) int plugin_call(int (*callback)(void))
{
	return callback() + PLUGIN_NUMBER;
}
