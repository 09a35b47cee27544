// SPDX-License-Identifier: BSD-2-Clause
// threads.cpp - C++ with threads, exceptions through allocating frames, containers, shared pointers and streams.
// Output is the same in every run.
#include <atomic>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct Failure : std::runtime_error {
	std::vector<int> payload;
	explicit Failure(int n)
	    : std::runtime_error("failure " + std::to_string(n)), payload(100, n)
	{
	}
};

struct Node {
	std::map<std::string, std::shared_ptr<Node> > children;
	std::string text;
};

static int deep(int n, int left)
{
	std::string local(50 + n % 50, 'x');

	if (left == 0) {
		if (n % 3 == 0)
			throw Failure(n);
		return static_cast<int>(local.size());
	}
	try {
		return deep(n, left - 1) + 1;
	} catch (const Failure &) {
		if (left % 7 == 0)
			std::throw_with_nested(std::logic_error("level " + std::to_string(left)));
		throw;
	}
}

static long throwing(int from)
{
	long sum = 0;

	for (int i = from; i < from + 1000; i++) {
		try {
			sum += deep(i, i % 20);
		} catch (const std::exception &e) {
			sum += std::string(e.what()).size();
		}
	}
	return sum;
}

static std::shared_ptr<Node> grow(int depth)
{
	auto node = std::make_shared<Node>();

	for (int i = 0; depth > 0 && i < 3; i++)
		node->children["child number " + std::to_string(i)] = grow(depth - 1);
	node->text = std::string(depth * 40, 'n');
	return node;
}

static size_t count(const Node &node)
{
	size_t sum = node.text.size();

	for (const auto &child : node.children)
		sum += count(*child.second);
	return sum;
}

/* Strings made in one thread and destroyed in another. */
class Channel
{
	std::mutex mutex;
	std::queue<std::string> queue;
	std::atomic<bool> closed{false};

      public:
	void put(std::string text)
	{
		std::lock_guard<std::mutex> guard(mutex);
		queue.push(std::move(text));
	}
	void close()
	{
		closed = true;
	}
	bool take(std::string &text)
	{
		for (;;) {
			bool last = closed;
			{
				std::lock_guard<std::mutex> guard(mutex);
				if (!queue.empty()) {
					text = std::move(queue.front());
					queue.pop();
					return true;
				}
			}
			if (last)
				return false;
			std::this_thread::yield();
		}
	}
};

static size_t exchange()
{
	Channel channel;
	size_t sum = 0;
	std::thread maker([&] {
		for (int i = 0; i < 20000; i++)
			channel.put(std::string(i % 200, 'm'));
		channel.close();
	});
	std::string text;

	while (channel.take(text))
		sum += text.size();
	maker.join();
	return sum;
}

int main()
{
	std::vector<std::future<long> > futures;
	std::unordered_map<int, std::function<int(int)> > table;
	std::ostringstream out;

	for (int i = 0; i < 8; i++)
		futures.push_back(std::async(std::launch::async, throwing, i * 1000));
	for (auto &future : futures)
		out << future.get() << ' ';
	out << exchange() << ' ' << count(*grow(7)) << ' ';
	for (int i = 0; i < 1000; i++)
		table[i] = [i, text = std::string(100, 'c')](int k) {
			return i * k + static_cast<int>(text.size());
		};
	out << table[77](3);
	std::cout << out.str() << std::endl;
	return 0;
}
