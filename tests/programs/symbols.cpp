// SPDX-License-Identifier: BSD-2-Clause
//
// symbols - functions of all kinds that C++ has names for; it does nothing.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace shop
{
struct Item {
	int price;
	explicit operator std::string() const;
	operator bool() const;
	bool operator<(const Item &other) const;
	Item &operator<<(int more);
	int operator()(int amount) const;
	int operator[](std::size_t i) const;
	Item *operator->();
	static void *operator new(std::size_t size);
	static void operator delete(void *item);
};

Item::operator std::string() const
{
	return std::string(40, 'x');
}
Item::operator bool() const
{
	return price > 0;
}
bool Item::operator<(const Item &other) const
{
	return price < other.price;
}
Item &Item::operator<<(int more)
{
	price += more;
	return *this;
}
int Item::operator()(int amount) const
{
	return price * amount;
}
int Item::operator[](std::size_t i) const
{
	return price + int(i);
}
Item *Item::operator->()
{
	return this;
}
void *Item::operator new(std::size_t size)
{
	return ::operator new(size);
}
void Item::operator delete(void *item)
{
	::operator delete(item);
}

template <class T> std::vector<T> repeat(const T &what, int count)
{
	std::vector<T> all;

	for (int i = 0; i < count; i++)
		all.push_back(what);
	return all;
}

template <class F> int apply(F f)
{
	return f(3);
}
} // namespace shop

namespace
{
struct Hidden {
	int value;
};

int reveal(Hidden *hidden)
{
	return hidden->value;
}
} // namespace

int main(int argc, char **)
{
	shop::Item *item = new shop::Item{argc};
	Hidden hidden{argc};
	auto twice = [argc](int x) { return x * argc; };
	int sum = shop::apply(twice) + reveal(&hidden);

	sum += int(shop::repeat(std::string("x"), 3).size() + shop::repeat(1, 2).size());
	sum += int(std::string(*item).size()) + bool(*item) + (*item < *item);
	sum += (*item << 3)(2) + (*item)[1] + (*item)->price;
	delete item;
	return sum == 0;
}
