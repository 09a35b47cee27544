# SPDX-License-Identifier: BSD-2-Clause
"""objects.py - makes and drops Python objects of many kinds; run it with PYTHONMALLOC=malloc.

    objects.py [ROUNDS]     default 10"""
import json
import sys


class Node:
    def __init__(self, key, children):
        self.key, self.children = key, children


def tree(depth, key):
    return Node("node %d" % key, [tree(depth - 1, key * 3 + i) for i in range(3)] if depth else [])


def names(node):
    yield node.key
    for child in node.children:
        yield from names(child)


def round_of(number):
    root = tree(7, number)
    counts = {}
    for name in names(root):
        for word in name.split():
            counts[word] = counts.get(word, 0) + 1
    text = json.dumps({name: [value, str(value), {"half": value / 2}] for name, value in counts.items()})
    pairs = sorted(((len(key), key) for key in json.loads(text)), reverse=True)
    return sum(length for length, _ in pairs[:1000]) + len(text)


rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
print(sum(round_of(i) for i in range(rounds)))
