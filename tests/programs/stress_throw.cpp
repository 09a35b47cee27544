// SPDX-License-Identifier: BSD-2-Clause
//
// stress_throw.cpp - exceptions through many frames, each of which holds a block.
#include <stdexcept>
#include <string>

#include "stress.h"

namespace
{

struct Held {
	void *block;
	explicit Held(size_t size) : block(stress_alloc(AT_THROW, size))
	{
	}
	~Held()
	{
		stress_free(block);
	}
	Held(const Held &) = delete;
	Held &operator=(const Held &) = delete;
};

__attribute__((noinline)) int descend(int depth)
{
	Held held(static_cast<size_t>(20 + depth));

	if (depth == 0)
		throw std::runtime_error(
			"an exception whose text is too long for the string itself");
	return descend(depth - 1) + 1;
}

} // namespace

extern "C" void stress_throw(int depth)
{
	try {
		descend(depth);
		stress_fail("no exception");
	} catch (const std::runtime_error &error) {
		if (std::string(error.what()).size() < 20)
			stress_fail("another exception");
	}
}
