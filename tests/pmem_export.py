# SPDX-License-Identifier: BSD-2-Clause
"""pmem_export - readers of what `pmem export` writes, made from the formats' descriptions, not from the code that writes them.

Each gives Rows: {value: {call stack: sum}}, a call stack being the names of its functions, the innermost first.  The first
thing that is not as the format wants it raises.
"""
import gzip
import json
import re
from collections import Counter

UNKNOWN = "[unknown]"
SUMS = ("alloc_blocks", "alloc_bytes", "live_blocks", "live_bytes")


def clean(name, reserved=""):
    """What an exported name is: no control characters, no broken UTF-8 (in JSON: U+FFFD), ':' for reserved ones."""
    name = re.sub("[\x00-\x1f\x7f-\x9f\ufffd]", "?", name)
    return re.sub("[%s]" % re.escape(reserved), ":", name) if reserved else name


def frame_name(frame, reserved=""):
    if frame["function"]:
        return clean(frame["function"], reserved)
    module = frame["module"]
    return "%s+0x%x" % (clean(module.rpartition("/")[2], reserved) if module else "[anonymous]", frame["offset"])


def expected(document, value, reserved=""):
    """The same from `pmem report --json`, or from its "mappings"."""
    rows = Counter()
    for stack in document["stacks"]:
        amount = max(stack[value], 0)
        if amount:
            rows[tuple(frame_name(f, reserved) for f in stack["frames"]) or (UNKNOWN,)] += amount
    return rows


def without_zeros(rows):
    return Counter({stack: amount for stack, amount in rows.items() if amount})


def read_collapsed(text):
    rows = Counter()
    for line in text.decode().splitlines():
        stack, _, amount = line.rpartition(" ")
        assert re.fullmatch(r"[1-9]\d*", amount), line
        frames = stack.split(";")
        assert all(frames), line
        rows[tuple(reversed(frames))] += int(amount)
    return rows


# -- Protocol Buffers ---------------------------------------------------------------------------------
def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            assert shift <= 70 and value < 1 << 64
            return value, at


def fields(data):
    """(number, value) of each field: an int, or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        assert number > 0 and wire in (0, 2), (number, wire)
        value, at = varint(data, at)
        if wire == 2:
            assert at + value <= len(data)
            value, at = data[at:at + value], at + value
        yield number, value


def message(data):
    """{number: [values]}"""
    found = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def packed(values):
    numbers = []
    for data in values:
        at = 0
        while at < len(data):
            value, at = varint(data, at)
            numbers.append(value)
    return numbers


class Pprof:
    """profile.proto: 1 sample_type, 2 sample, 3 mapping, 4 location, 5 function, 6 string_table, 9 time, 10 duration, 11 and 12 period,
    13 comment, 14 default_sample_type."""

    def __init__(self, data):
        top = message(gzip.decompress(data))
        self.strings = [s.decode() for s in top[6]]
        assert self.strings[0] == "" and len(set(self.strings)) == len(self.strings)
        self.types = [tuple(self.strings[message(t)[n][0]] for n in (1, 2)) for t in top[1]]
        self.time, self.duration, self.period = (top[n][0] for n in (9, 10, 12))
        self.comments = [self.strings[n] for n in top.get(13, [])]
        self.default = self.strings[top[14][0]]
        self.functions = {f[1][0]: [self.strings[f[n][0]] for n in (2, 3, 4)] for f in map(message, top.get(5, []))}
        self.mappings = {m[1][0]: m for m in map(message, top.get(3, []))}
        self.locations = {l[1][0]: l for l in map(message, top[4])}
        assert len(self.locations) == len(top[4]) and 0 not in self.locations
        assert len(self.functions) == len(top.get(5, [])) and len(self.mappings) == len(top.get(3, []))
        for field in (3, 4, 5):  # Parca takes nothing else
            assert [message(m)[1][0] for m in top.get(field, [])] == list(range(1, len(top.get(field, [])) + 1)), field
        self.samples = list(map(message, top.get(2, [])))

    def lines(self, location):
        """[(function, line)], the innermost first."""
        found = [message(line) for line in location.get(4, [])]
        return [(self.functions[f[1][0]], f.get(2, [0])[0]) for f in found]

    def names(self, location, nameless):
        lines = self.lines(location)
        if lines:
            return [name for (name, _, _), _ in lines]
        return [nameless(location, self.mappings[location[2][0]])]

    def rows(self, nameless):
        """nameless: names a location that has no function, from its fields and those of its mapping."""
        names = {i: self.names(l, nameless) for i, l in self.locations.items()}
        rows = {kind: Counter() for kind, _ in self.types}
        for sample in self.samples:
            values = packed(sample[2])
            assert len(values) == len(self.types)
            stack = tuple(name for location in packed(sample[1]) for name in names[location])
            for (kind, _), value in zip(self.types, values):
                rows[kind][stack] += value
        return {kind: without_zeros(found) for kind, found in rows.items()}

    def labels(self):
        found = Counter()
        for sample in self.samples:
            for label in map(message, sample.get(3, [])):
                found[self.strings[label[1][0]], self.strings[label[2][0]]] += 1
        return found


# -- JSON formats -------------------------------------------------------------------------------------
def read_speedscope(text):
    """Per profile, by its name."""
    document = json.loads(text)
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = document["shared"]["frames"]
    assert all(set(f) <= {"name", "file"} for f in frames)
    assert len({(f["name"], f.get("file")) for f in frames}) == len(frames)
    found = {}
    for profile in document["profiles"]:
        assert (profile["type"], profile["unit"], profile["startValue"]) == ("sampled", "bytes", 0)
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] == sum(profile["weights"])
        rows = found[profile["name"]] = Counter()
        for sample, weight in zip(profile["samples"], profile["weights"]):
            rows[tuple(frames[i]["name"] for i in reversed(sample))] += weight
    return found


DHAT = {"alloc_bytes": "tb", "alloc_blocks": "tbk", "peak_bytes": "gb", "peak_blocks": "gbk", "live_bytes": "eb", "live_blocks": "ebk"}


def read_dhat(text):
    """By the names of JSON."""
    document = json.loads(text)
    assert (document["dhatFileVersion"], document["bklt"], document["bkacc"]) == (2, True, False)
    table = document["ftbl"]
    assert table[0] == "[root]"
    names = [re.sub(r"^0x[0-9A-F]+: (.*) \((?:in .*|[^()]*:\d+)\)$", r"\1", entry) for entry in table]
    rows = {value: Counter() for value in DHAT}
    assert len({tuple(p["fs"]) for p in document["pps"]}) == len(document["pps"]), "a call stack twice"
    for point in document["pps"]:
        assert point["mb"] >= max(point["gb"], point["eb"]) and point["tb"] >= point["eb"]
        for value, key in DHAT.items():
            rows[value][tuple(names[i] for i in point["fs"])] += point[key]
    return document, {value: without_zeros(found) for value, found in rows.items()}


def check_columns(table):
    """Every column of a table has its length."""
    columns = {name: len(column) for name, column in table.items() if isinstance(column, list)}
    assert set(columns.values()) <= {table["length"]}, columns


class Firefox:
    def __init__(self, text):
        self.document = json.loads(text)
        self.thread, = self.document["threads"]
        for table in self.thread.values():
            if isinstance(table, dict):
                check_columns(table)
        self.stacks = self._stacks()

    def _stacks(self):
        """The names of each entry of the table of stacks."""
        thread, found = self.thread, []
        names = [thread["stringArray"][i] for i in thread["funcTable"]["name"]]
        for number, (frame, prefix) in enumerate(zip(thread["stackTable"]["frame"], thread["stackTable"]["prefix"])):
            assert prefix is None or prefix < number
            name = names[thread["frameTable"]["func"][frame]]
            found.append((name,) + (found[prefix] if prefix is not None else ()))
        return found

    def live(self):
        samples, rows = self.thread["samples"], Counter()
        assert samples["weightType"] == "bytes" and samples["time"] == sorted(samples["time"])
        for stack, weight in zip(samples["stack"], samples["weight"]):
            rows[self.stacks[stack]] += weight
        return rows

    def allocations(self):
        """What was allocated, and what of it was not freed: matched by address, as the viewer does."""
        table, rows, retained, open_at = self.thread["nativeAllocations"], Counter(), Counter(), {}
        assert table["weightType"] == "bytes" and table["time"] == sorted(table["time"])
        for stack, weight, address in zip(table["stack"], table["weight"], table["memoryAddress"]):
            if weight > 0:
                assert address not in open_at
                open_at[address] = stack, weight
                rows[self.stacks[stack]] += weight
            else:
                assert open_at.pop(address) == (stack, -weight)
        for stack, weight in open_at.values():
            retained[self.stacks[stack]] += weight
        return rows, retained


# -- Massif and heaptrack -----------------------------------------------------------------------------
def read_massif(text):
    """[(time, bytes, kind, tree)] of the snapshots; a tree is (bytes, text, [trees])."""
    lines = [line for line in re.sub(r"#.*", "", text.decode()).splitlines() if line.strip()]
    head = [lines.pop(0).partition(":")[0] for _ in range(3)]
    assert head == ["desc", "cmd", "time_unit"]
    snapshots = []
    while lines:
        found = dict(lines.pop(0).split("=", 1) for _ in range(6))
        assert int(found["snapshot"]) == len(snapshots) and found["mem_heap_extra_B"] == found["mem_stacks_B"] == "0"
        tree = None if found["heap_tree"] == "empty" else read_massif_tree(lines, 0)
        snapshots.append((int(found["time"]), int(found["mem_heap_B"]), found["heap_tree"], tree))
    return snapshots


def read_massif_tree(lines, depth):
    indent, count, size, text = re.fullmatch(r"( *)n(\d+): (\d+) (.*)", lines.pop(0)).groups()
    assert len(indent) == depth
    children = [read_massif_tree(lines, depth + 1) for _ in range(int(count))]
    assert sum(child[0] for child in children) <= int(size)
    return int(size), text, children


class Heaptrack:
    """The sums of a data file of version 2: numbers are hexadecimal."""

    def __init__(self, text):
        self.strings, self.ips, self.traces, self.infos = [None], [None], [None], []
        self.allocations = self.leaked = self.peak = self.temporary = 0
        last = None
        for line in text.decode().splitlines():
            mode, _, rest = line.partition(" ")
            numbers = [int(word, 16) for word in rest.split()] if mode not in "sX" else None
            if mode == "s":
                self.strings.append(rest)
            elif mode == "i":
                assert len(numbers) % 3 == 2
                self.ips.append(numbers)
            elif mode == "t":
                assert 0 < numbers[0] < len(self.ips) and numbers[1] < len(self.traces)
                self.traces.append(numbers)
            elif mode == "a":
                assert 0 < numbers[1] < len(self.traces)
                self.infos.append(numbers)
            elif mode == "+":
                last = numbers[0]
                self.allocations += 1
                self.leaked += self.infos[last][0]
                self.peak = max(self.peak, self.leaked)
            elif mode == "-":
                self.leaked -= self.infos[numbers[0]][0]
                self.temporary += last == numbers[0]
                last = None
                assert self.leaked >= 0
            else:
                assert mode in "vXIcR", line
