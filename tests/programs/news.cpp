/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * news.cpp - random sequences over all forms of operator new and delete; two runs of one seed must print the same.
 *
 *   news SEED OPERATIONS
 *
 * Prints a digest of what came back: block or null or std::bad_alloc, errno, alignment, usable size, calls of the new handler.  At the end: the
 * bytes and blocks that each function got from malloc() and that were freed of them, as libstdc++ asks for them: at least 1
 * byte, multiples of an extended alignment, 8 bytes more for an array whose elements have destructors.
 */
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <stdexcept>

namespace
{

enum site { BY_NEW, BY_NEW_NOTHROW, BY_NEW_ALIGNED, BY_NEW_ALIGNED_NOTHROW, BY_NEW_ARRAY, BY_NEW_THROWING, SITES };
const char *const site_names[SITES] = {"by_new",       "by_new_nothrow", "by_new_aligned", "by_new_aligned_nothrow",
				       "by_new_array", "by_new_throwing"};

int destroyed;

struct element {
	char bytes[24];
	~element()
	{
		destroyed++;
	}
};

struct refusing {
	char bytes[40];
	__attribute__((noinline)) refusing()
	{
		__asm__ volatile("" : : "r"(this) : "memory");
		throw std::runtime_error("refused");
	}
};

struct block {
	unsigned char *at;
	size_t size, asked, alignment;
	enum site site;
};

enum { SLOTS = 300 };
block slots[SLOTS];
uint64_t sums[SITES][4], state, digest;
int handled;

uint64_t below(uint64_t limit)
{
	uint64_t x = state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (x ^ x >> 31) % limit;
}

void mix(uint64_t value)
{
	digest = (digest ^ value) * 0x100000001b3u;
	digest ^= digest >> 29;
}

/* Gives up at the third call: then operator new throws. */
void handler()
{
	if (++handled % 3 == 0)
		std::set_new_handler(nullptr);
}

#define NOINLINE __attribute__((noinline))

NOINLINE void *by_new(size_t size, size_t)
{
	return below(2) ? ::operator new(size) : ::operator new[](size);
}

NOINLINE void *by_new_nothrow(size_t size, size_t)
{
	return below(2) ? ::operator new(size, std::nothrow) : ::operator new[](size, std::nothrow);
}

NOINLINE void *by_new_aligned(size_t size, size_t alignment)
{
	std::align_val_t align{alignment};

	return below(2) ? ::operator new(size, align) : ::operator new[](size, align);
}

NOINLINE void *by_new_aligned_nothrow(size_t size, size_t alignment)
{
	std::align_val_t align{alignment};

	return below(2) ? ::operator new(size, align, std::nothrow) : ::operator new[](size, align, std::nothrow);
}

NOINLINE void *by_new_array(size_t count, size_t)
{
	return new element[count];
}

NOINLINE void *by_new_throwing(size_t, size_t)
{
	return new refusing;
}

void *(*const makers[SITES])(size_t, size_t) = {by_new,	      by_new_nothrow, by_new_aligned, by_new_aligned_nothrow,
						by_new_array, by_new_throwing};

/* Any of the forms that fit. */
void release(block &b)
{
	std::align_val_t align{b.alignment};
	uint64_t form = below(3);

	if (b.site == BY_NEW_ARRAY)
		delete[] reinterpret_cast<element *>(b.at);
	else if (b.alignment && form == 0)
		::operator delete(b.at, align);
	else if (b.alignment && form == 1)
		::operator delete[](b.at, b.size, align);
	else if (b.alignment)
		::operator delete(b.at, align, std::nothrow);
	else if (form == 0)
		::operator delete(b.at);
	else if (form == 1)
		::operator delete[](b.at, b.size);
	else
		::operator delete(b.at, std::nothrow);
	sums[b.site][2] += b.asked;
	sums[b.site][3]++;
	b.at = nullptr;
}

size_t asked_for(const block &b)
{
	size_t size = b.size ? b.size : 1;

	if (b.site == BY_NEW_ARRAY)
		return b.size * sizeof(element) + 8;
	return b.alignment ? (size + b.alignment - 1) & ~(b.alignment - 1) : size;
}

void got(block &b)
{
	unsigned char *start = b.at - (b.site == BY_NEW_ARRAY ? 8 : 0);

	b.asked = asked_for(b);
	sums[b.site][0] += b.asked;
	sums[b.site][1]++;
	if (malloc_usable_size(start) < b.asked || (b.alignment && (uintptr_t)b.at % b.alignment)) {
		printf("WRONG: %s %zu %zu\n", site_names[b.site], b.size, b.alignment);
		exit(3);
	}
	mix(malloc_usable_size(start));
	memset(b.at, 0x5a, b.site == BY_NEW_ARRAY ? b.size * sizeof(element) : b.size);
}

void choose(block &b)
{
	b.site = (enum site)below(SITES);
	b.alignment = b.site == BY_NEW_ALIGNED || b.site == BY_NEW_ALIGNED_NOTHROW ? (size_t)8 << below(10) : 0;
	b.size = below(b.site == BY_NEW_ARRAY ? 20 : below(20) ? 200 : 5000);
	if (below(100) == 0 && b.site != BY_NEW_THROWING)
		b.size = b.site == BY_NEW_ARRAY ? PTRDIFF_MAX / 30 : PTRDIFF_MAX - below(5000);
	if (below(2) && b.size > 10000)
		std::set_new_handler(handler);
}

void operate()
{
	block &b = slots[below(SLOTS)];
	int thrown = 0;

	if (b.at)
		release(b);
	choose(b);
	errno = (int)below(200);
	try {
		b.at = static_cast<unsigned char *>(makers[b.site](b.size, b.alignment));
	} catch (const std::bad_alloc &) {
		thrown = 1;
	} catch (const std::runtime_error &) {
		/* The constructor threw: its block is freed again. */
		thrown = 2;
		sums[b.site][0] += sizeof(refusing);
		sums[b.site][2] += sizeof(refusing);
		sums[b.site][1]++;
		sums[b.site][3]++;
	}
	mix(errno);
	mix(thrown);
	mix(b.at != nullptr);
	if (b.at)
		got(b);
}

} // namespace

int main(int argc, char **argv)
{
	static char buffer[4096];
	long operations = argc > 2 ? atol(argv[2]) : 1000;

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	state = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1;
	for (long i = 1; i <= operations; i++) {
		operate();
		if (i % (operations / 50 + 1) == 0)
			printf("after %ld: %016llx\n", i, (unsigned long long)digest);
	}
	for (int i = 0; i < SLOTS; i += 2)
		if (slots[i].at)
			release(slots[i]);
	printf("%016llx handled %d destroyed %d\n", (unsigned long long)digest, handled, destroyed);
	for (int i = 0; i < SITES; i++)
		printf("site %s %llu %llu %llu %llu\n", site_names[i], (unsigned long long)sums[i][0], (unsigned long long)sums[i][1],
		       (unsigned long long)sums[i][2], (unsigned long long)sums[i][3]);
	return 0;
}
