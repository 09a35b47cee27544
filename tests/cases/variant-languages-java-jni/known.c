/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * known.c - the native methods of Known.java: known blocks, some of them freed by another thread than the one that made them.
 */
#include <jni.h>
#include <stdint.h>
#include <stdlib.h>

JNIEXPORT jlong JNICALL Java_Known_keep(JNIEnv *env, jclass class, jlong size)
{
	(void)env, (void)class;
	return (jlong)(uintptr_t)malloc((size_t)size);
}

JNIEXPORT void JNICALL Java_Known_release(JNIEnv *env, jclass class, jlong block)
{
	(void)env, (void)class;
	free((void *)(uintptr_t)block);
}
