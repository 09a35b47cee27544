// SPDX-License-Identifier: BSD-2-Clause
// small.cpp - keeps one block of 1,000 bytes by new.
#include <new>

static char *volatile kept;

int main()
{
	std::set_new_handler(nullptr); // of libstdc++
	kept = new char[1000];
	return kept == nullptr;
}
