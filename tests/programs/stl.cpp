// SPDX-License-Identifier: BSD-2-Clause
//
// stl - a heap of C++ containers, through templates and inlined functions, part of which stays.
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shop
{
struct Item {
	std::string name;
	std::vector<int> prices;
};

template <typename Key> class Store
{
public:
	void add(const Key &key, int count)
	{
		auto item = std::make_shared<Item>();
		item->name = std::string(static_cast<std::size_t>(30 + count), 'n');
		item->prices.assign(static_cast<std::size_t>(count), count);
		items_[key] = item;
	}
	void shrink(std::size_t left)
	{
		while (items_.size() > left)
			items_.erase(items_.begin());
	}

private:
	std::map<Key, std::shared_ptr<Item> > items_;
};
}

int main()
{
	auto *numbers = new shop::Store<int>;
	auto *names = new shop::Store<std::string>;

	for (int i = 1; i <= 300; i++) {
		numbers->add(i, i % 50 + 1);
		names->add(std::string(20, 'k') + std::to_string(i), i % 7 + 1);
	}
	numbers->shrink(10);
	names->shrink(20);
	return 0;
}
