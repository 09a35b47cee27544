# SPDX-License-Identifier: BSD-2-Clause
"""pmem_profile - writes profiles; the layout is read from doc/FORMAT.md (a test proves that to be right).

    profile = Profile()
    profile.header(pid=4711, state=2)
    program = profile.module("/usr/bin/server", b"build-id")
    stack = profile.stack([(program, 0x1234)], hook=0)
    profile.count(thread=0, stack=stack, alloc_count=1, alloc_bytes=100)
    profile.save(path)
"""
import pathlib
import re

DOCUMENT = pathlib.Path(__file__).resolve().parent.parent / "doc" / "FORMAT.md"


def read_layout(text):
    """({structure: (size, {field: (offset, size)})}, {name: value})"""
    structs, values, current = {}, {}, None
    for line in text.splitlines():
        heading = re.match(r"#+ struct (\w+), (\d+) bytes", line)
        if heading:
            current = {}
            structs[heading.group(1)] = (int(heading.group(2)), current)
        field = re.match(r"\| (\d+) \| (\d+) \| `(\w+)` \|", line)
        if field:
            current[field.group(3)] = (int(field.group(1)), int(field.group(2)))
        value = re.match(r"\| (\d+) \| `FORMAT_(\w+)` \|", line)
        if value:
            values[value.group(2)] = int(value.group(1))
    return structs, values


STRUCTS, F = read_layout(DOCUMENT.read_text())
HEADER_SIZE = STRUCTS["format_header"][0]


class Profile:
    def __init__(self):
        self.first = bytearray(HEADER_SIZE)
        self.blocks = {}  # (kind, index) -> bytes, in the order of the file
        self.counts = dict(node=1, stack=F["STACK_FIRST"], chunk=0, wide=0, histogram=1, region=1, module=1, thread=0,
                           point=0, series=0, mark=0, mapping=0, failure=0)
        self.text = bytearray()
        self.regions, self.chunks = {}, {}
        self.put("NODES", "format_node", 0, link=F["LINK_PARENT"])
        self.put("STACKS", "format_stack", F["STACK_FIRST"] - 1)
        self.put("MODULES", "format_module", 0)
        self.header(magic=b"pmemprof", version=F["VERSION"], byte_order=F["BYTE_ORDER"], header_size=F["HEADER_SIZE"],
                    block_size=F["BLOCK_SIZE"], blocks_max=F["BLOCKS_MAX"], recorder=b"0.0.test", image=1, peak_epoch=1,
                    state=F["STATE_ENDED"])

    def header(self, **fields):
        """Numbers, bytes, or text (str) for fields of struct format_text."""
        for name, value in fields.items():
            if isinstance(value, str):
                value = self.add_text(value.encode())
            self.write(self.first, 0, "format_header", name, value)

    def loss(self, kind, count):
        at = STRUCTS["format_header"][1]["losses"][0] + 8 * F["LOSS_" + kind]
        self.first[at:at + 8] = count.to_bytes(8, "little")

    @staticmethod
    def write(where, at, struct, field, value):
        offset, size = STRUCTS[struct][1][field]
        if isinstance(value, int):
            value = (value % (1 << 8 * size)).to_bytes(size, "little")
        where[at + offset:at + offset + len(value)] = value

    def put(self, kind, struct, index, **fields):
        size = STRUCTS[struct][0]
        per_block = F["BLOCK_SIZE"] // size
        block = self.blocks.setdefault((F[kind], index // per_block), bytearray(F["BLOCK_SIZE"]))
        for name, value in fields.items():
            self.write(block, index % per_block * size, struct, name, value)

    def take(self, count):
        self.counts[count] += 1
        return self.counts[count] - 1

    def add_text(self, content):
        at = len(self.text)
        self.text += content + b"\0"
        return at.to_bytes(4, "little") + len(content).to_bytes(4, "little")

    def module(self, path, build_id=b"", **fields):
        index = self.take("module")
        self.put("MODULES", "format_module", index, path=self.add_text(path.encode()), build_id=build_id,
                 build_id_size=len(build_id), **fields)
        return index

    def pc32(self, module, return_address):
        """Of a module whose first_vaddr is 0, or of module 0."""
        key = module, return_address - 1 >> 20
        if key not in self.regions:
            self.regions[key] = self.take("region")
            self.put("REGIONS", "format_region", self.regions[key], module_id=key[0], chunk=key[1])
        return self.regions[key] << 20 | return_address - 1 & 0xfffff

    def stack(self, frames, hook=0, **fields):
        """A new call stack of frames, the outermost first: (module, return address) or the number of a special name."""
        pcs = [frame if isinstance(frame, int) else self.pc32(*frame) for frame in frames]
        node, previous = 0, getattr(self, "last_child", 0)
        for number, pc in enumerate(pcs):
            index = self.take("node")
            self.put("NODES", "format_node", index, pc32=pc, link=F["LINK_PARENT"] | node)
            if number == 0:
                if previous:
                    self.put("NODES", "format_node", previous, link=index)
                self.last_child = index
            node = index
        stack = self.take("stack")
        self.put("NODES", "format_node", self.take("node"), pc32=stack, link=F["LINK_PARENT"] | F["LINK_STACK"] | node)
        self.put("STACKS", "format_stack", stack, node=node, flags=hook << F["HOOK_SHIFT"], **fields)
        return stack

    def counter(self, thread, stack):
        slot = stack // F["CHUNK"]
        if (thread, slot) not in self.chunks:
            self.chunks[thread, slot] = self.take("chunk")
            self.put("CHUNKS", "format_chunk", self.chunks[thread, slot], owner=thread + 1 << 32 | slot)
        if thread >= self.counts["thread"]:
            self.counts["thread"] = thread + 1
            self.put("THREADS", "format_thread", thread, tid=100 + thread, owners=1)
        return self.chunks[thread, slot] * F["CHUNK"] + stack % F["CHUNK"]

    def count(self, thread, stack, **fields):
        self.put("COUNTERS", "format_counter", self.counter(thread, stack), **fields)

    def count_wide(self, thread, stack, **fields):
        index = self.take("wide")
        self.count(thread, stack, epoch=F["EPOCH_WIDE"], peak_bytes=index)
        self.put("WIDE", "format_counter_wide", index, **fields)

    def mapping(self, stack, **fields):
        self.put("MAPPINGS", "format_mapping", self.take("mapping"), stack_id=stack, **fields)

    def finish(self):
        """Texts and counts into blocks and header."""
        for index in range(0, len(self.text), F["BLOCK_SIZE"]):
            block = bytearray(F["BLOCK_SIZE"])
            block[:len(self.text[index:index + F["BLOCK_SIZE"]])] = self.text[index:index + F["BLOCK_SIZE"]]
            self.blocks[F["TEXT"], index // F["BLOCK_SIZE"]] = block
        for name, value in self.counts.items():
            self.header(**{name + ("_limit" if name == "stack" else "_count"): value})
        self.header(text_size=len(self.text))

    def image(self):
        self.finish()
        first = self.first + bytes(F["HEADER_SIZE"] - len(self.first))
        first += (F["HEADER"] << F["INDEX_BITS"]).to_bytes(4, "little")
        for kind, index in self.blocks:
            first += (kind << F["INDEX_BITS"] | index).to_bytes(4, "little")
        assert len(first) <= F["BLOCK_SIZE"]
        return bytes(first).ljust(F["BLOCK_SIZE"], b"\0") + b"".join(self.blocks.values())

    def save(self, path):
        pathlib.Path(path).write_bytes(self.image())
