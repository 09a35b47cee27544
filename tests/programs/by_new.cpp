// SPDX-License-Identifier: BSD-2-Clause
// by_new.cpp - keeps 1,000 blocks of 100 bytes by new, and one of 77 by malloc().
#include <cstdlib>
#include <new>

static char *kept[1000];
static void *volatile one;

int main()
{
	std::set_new_handler(nullptr); // of libstdc++
	for (char *&block : kept)
		block = new char[100];
	one = std::malloc(77);
	return one == nullptr;
}
