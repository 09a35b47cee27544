/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cases.cpp - leaks, and what looks like one, in C++: see cases.h.
 */
#include "cases.h"

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{
struct Partner {
	std::shared_ptr<Partner> other;
	char bytes[100];
};

struct First {
	virtual ~First()
	{
	}
	long first[4];
};

struct Second {
	virtual ~Second()
	{
	}
	long second[4];
};

struct Both : First, Second {
};

struct Counted {
	~Counted()
	{
		count++;
	}
	static int count;
	char bytes[24];
};

int Counted::count;

/* Never destroyed, unlike a global of such a type: they are in use at the program's end. */
template <class T> T &kept()
{
	alignas(T) static char bytes[sizeof(T)];
	static T *made = new (bytes) T();

	return *made;
}

void *kept_pointer;

const char text[] = "a text that is much too long to lie in the string itself";

void lost_vector()
{
	opaque(new std::vector<int>(1000));
}

void kept_vector()
{
	kept<std::vector<std::string> >().assign(10, text);
}

void lost_string()
{
	opaque(new std::string(text));
}

void kept_string()
{
	kept<std::string>() = text;
}

void shared_cycle()
{
	auto one = std::make_shared<Partner>(), two = std::make_shared<Partner>();

	one->other = two;
	two->other = one;
}

void shared_kept()
{
	kept<std::shared_ptr<Partner> >() = std::make_shared<Partner>();
}

void released()
{
	opaque(std::unique_ptr<Partner>(new Partner()).release());
}

void lost_map()
{
	auto *map = new std::map<int, std::string>();

	for (int i = 0; i < 50; i++)
		(*map)[i] = text;
	opaque(map);
}

void kept_list()
{
	for (int i = 0; i < 50; i++)
		kept<std::list<std::string> >().push_back(text);
}

void kept_table()
{
	for (int i = 0; i < 50; i++)
		kept<std::unordered_map<int, std::string> >()[i] = text;
}

void kept_function()
{
	char bytes[64] = "";

	kept<std::function<int()> >() = [bytes]() { return (int)bytes[0]; };
}

void second_base()
{
	kept_pointer = static_cast<Second *>(new Both());
}

void array_with_cookie()
{
	kept_pointer = new Counted[10];
}

void empty_array()
{
	kept_pointer = new Counted[(size_t)opaque(nullptr)];
}

void lost_array()
{
	opaque(new Counted[10]);
}

void vector_of_pointers()
{
	auto *vector = new std::vector<std::unique_ptr<Partner> >();

	for (int i = 0; i < 10; i++)
		vector->push_back(std::make_unique<Partner>());
	opaque(vector);
}

void cleared()
{
	for (int i = 0; i < 10; i++)
		kept<std::vector<Partner *> >().push_back(new Partner());
	kept<std::vector<Partner *> >().resize(4);
	kept<std::vector<Partner *> >().shrink_to_fit();
}
} // namespace

#define CASE(name)          \
	{                   \
#name, name \
	}

static const struct one_case cases[] = {
	CASE(lost_vector),	 CASE(kept_vector), CASE(lost_string),	 CASE(kept_string),
	CASE(shared_cycle),	 CASE(shared_kept), CASE(released),	 CASE(lost_map),
	CASE(kept_list),	 CASE(kept_table),  CASE(kept_function), CASE(second_base),
	CASE(array_with_cookie), CASE(empty_array), CASE(lost_array),	 CASE(vector_of_pointers),
	CASE(cleared),
};

int main(int argc, char **argv)
{
	return run_case(cases, sizeof(cases) / sizeof(*cases), argc, argv);
}
