// SPDX-License-Identifier: BSD-2-Clause
// inlined.cpp - templates and lambdas that an optimizer inlines; allocates in the functions that test_first_screen.py names.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace app {

struct Session {
	std::vector<std::string> entries;

	inline void remember(int number)
	{
		entries.push_back(std::string(4000 + number, 'a')); // LINE remember
	}
};

template <typename Key, typename Value> class Cache {
	std::map<Key, std::unique_ptr<Value>> values;

public:
	Value &at(const Key &key)
	{
		auto &value = values[key];
		if (!value)
			value = std::make_unique<Value>(); // LINE at
		return *value;
	}

	size_t size() const
	{
		return values.size();
	}
};

static Session session;
static Cache<std::string, std::vector<int>> cache;
static std::vector<char *> blocks;

__attribute__((noinline)) void handle_rare_request(int number)
{
	session.remember(number); // LINE handle_rare_request
}

__attribute__((noinline)) int index_words(const std::vector<std::string> &words)
{
	int sum = 0;

	for (const auto &word : words)
		cache.at(word).push_back(static_cast<int>(word.size()));
	std::for_each(words.begin(), words.end(), [&](const std::string &word) { sum += word[0]; });
	return sum + static_cast<int>(cache.size());
}

__attribute__((noinline)) long sorted_sum(int count)
{
	std::vector<long> numbers(count);

	std::iota(numbers.begin(), numbers.end(), 1);
	std::sort(numbers.begin(), numbers.end(), [](long a, long b) { return a % 7 < b % 7 || (a % 7 == b % 7 && a > b); });
	std::function<long(long)> twice = [](long n) { return 2 * n; };
	return std::accumulate(numbers.begin(), numbers.end(), 0L, [&](long sum, long n) { return sum + twice(n); });
}

}

int main()
{
	std::vector<std::string> words;
	long sum = 0;

	for (int i = 0; i < 200; i++)
		words.push_back("word " + std::to_string(i * 7919 % 100));
	sum += app::index_words(words);
	sum += app::sorted_sum(1000);
	for (int i = 0; i < 1000; i++)
		app::handle_rare_request(i % 7);
	std::thread worker([] {
		for (int i = 0; i < 100; i++)
			app::blocks.push_back(new char[9000]); // LINE thread
	});
	worker.join();
	printf("%ld\n", sum);
	fflush(stdout);
	_exit(0);
}
