// SPDX-License-Identifier: BSD-2-Clause
// model.js - the profile as the page works with it: frames, functions, and the tree of functions that call each other.
//
// A function is a name in a module.  The file's nodes are lines; the tree here is of functions: nodes with the same function
// below the same node are one.  Of a node the parent has a smaller number, so that one pass backwards sums up.
const Model = (() => {
	"use strict";

	const baseName = path => path.slice(path.lastIndexOf("/") + 1);

	function readFrames(columns) {
		const texts = new TextDecoder().decode(columns.get("texts")).split("\n");
		return {
			texts, name: columns.get("frame_name"), full: columns.get("frame_full"), file: columns.get("frame_file"),
			line: columns.get("frame_line"), module: columns.get("frame_module"), own: columns.get("frame_own"),
			count: columns.get("frame_name").length
		};
	}

	// The functions, and which one each frame is of.  A module counts by the last part of its path.
	function readFunctions(frames, compared) {
		const numbers = new Map(), of = new Uint32Array(frames.count), moduleNames = new Map();
		const functions = {of, name: [], full: [], file: [], module: [], own: [], count: 0};
		for (let i = 0; i < frames.count; i++) {
			const module = frames.module[i];
			if (!moduleNames.has(module))
				moduleNames.set(module, baseName(frames.texts[module]));
			// Of two profiles names alone are compared, as by `pmem diff`.
			const key = compared ? frames.full[i] : frames.full[i] + " " + moduleNames.get(module);
			let number = numbers.get(key);
			if (number === undefined) {
				number = functions.count++;
				numbers.set(key, number);
				functions.name.push(frames.texts[frames.name[i]]);
				functions.full.push(frames.texts[frames.full[i]]);
				functions.file.push(frames.texts[frames.file[i]]);
				functions.module.push(moduleNames.get(module));
				functions.own.push(frames.own[i]);
			}
			of[i] = number;
		}
		return functions;
	}

	// Open addressing: (parent, function) -> node + 1.
	function makeFinder(room) {
		let size = 1024;
		while (size < room * 2)
			size *= 2;
		return {slots: new Uint32Array(size), mask: size - 1};
	}

	// The child of a node in tree ({parent, func, count}) with that function; what is new gets the next number.
	function findNode({slots, mask}, tree, above, f) {
		let at = (Math.imul(above, 0x9e3779b1) ^ Math.imul(f + 3, 0x85ebca6b)) >>> 7 & mask;
		while (slots[at] && (tree.parent[slots[at] - 1] !== above || tree.func[slots[at] - 1] !== f))
			at = at + 1 & mask;
		if (!slots[at]) {
			tree.parent[tree.count] = above;
			tree.func[tree.count] = f;
			slots[at] = ++tree.count;
		}
		return slots[at] - 1;
	}

	// The tree of functions; of[node of the file] is its node.
	function mergeNodes(columns, functions) {
		const depths = columns.get("node_depth"), frames = columns.get("node_frame"), count = depths.length;
		const of = new Uint32Array(count), finder = makeFinder(count), path = [0];
		const tree = {parent: new Int32Array(count), func: new Int32Array(count), count: 1};
		tree.parent[0] = tree.func[0] = -1;
		for (let i = 1; i < count; i++)
			path[depths[i]] = of[i] = findNode(finder, tree, path[depths[i] - 1], functions.of[frames[i]]);
		tree.parent = tree.parent.slice(0, tree.count);
		tree.func = tree.func.slice(0, tree.count);
		return {of, tree};
	}

	function fileParents(depths) {
		const parents = new Uint32Array(depths.length), path = [0];
		for (let i = 1; i < depths.length; i++) {
			parents[i] = path[depths[i] - 1];
			path[depths[i]] = i;
		}
		return parents;
	}

	const COUNTS = ["live_bytes", "live_blocks", "alloc_bytes", "alloc_blocks", "temporary_blocks", "peak_bytes", "inexact", "resident_bytes"];
	const NONE = [];

	// A column of a side; of the kind of memory that a side does not have there is none.
	const columnOf = (columns, s, kind, name) => columns.get(s + (kind === "mapped" ? "m." : ".") + name) || NONE;

	// All sides' call stacks in one row of arrays: those of side 1 follow those of side 0.
	function readStacks(head, columns, kind, nodeOf) {
		const get = (s, name) => columnOf(columns, s, kind, name), sizes = head.sides.map((_, s) => get(s, "node").length);
		const count = sizes.reduce((a, b) => a + b, 0);
		const stacks = {count, side: new Uint8Array(count), file: new Uint32Array(count), node: new Uint32Array(count),
			site: new Uint32Array(count), first: []};
		for (const name of COUNTS)
			stacks[name] = new Float64Array(count);
		let at = 0;
		head.sides.forEach((_, s) => {
			stacks.first.push(at);
			stacks.side.fill(s, at, at + sizes[s]);
			stacks.file.set(get(s, "node"), at);
			stacks.site.set(get(s, "site"), at);
			for (const name of COUNTS)
				stacks[name].set(get(s, name), at);
			at += sizes[s];
		});
		for (let i = 0; i < count; i++)
			stacks.node[i] = nodeOf[stacks.file[i]];
		return stacks;
	}

	// What a side says of memory that its program does not map.
	const NOTHING = {totals: {live_bytes: 0, alloc_bytes: 0, alloc_blocks: 0, peak_bytes: 0, peak_ns: null}, is_measured: true,
		growth: {kind: "unknown", since_ns: 0, until_ns: 0}, verdicts: [], verdict_sites: []};

	function readPoints(columns, s, kind) {
		const heap = name => columnOf(columns, s, "heap", name), get = name => columnOf(columns, s, kind, name);
		const none = get("point_time").length ? null : new Float64Array(heap("point_time").length);
		return {time: heap("point_time"), live: none || get("point_live"), alloc: none || get("point_alloc"), count: none || get("point_count"),
			rss: heap("point_rss")};
	}

	function readSide(head, columns, s, kind, first) {
		const side = {...head.sides[s], ...(kind === "mapped" ? head.sides[s].mapped || NOTHING : {}), number: s, kind};
		const get = name => columnOf(columns, s, kind, name);
		side.points = readPoints(columns, s, kind);
		side.verdicts = side.verdicts.map((verdict, i) => ({...verdict, ...side.verdict_sites[i]}));
		side.series = {end: get("series_end"), stack: get("series_stack"), first, time: get("sample_time"),
			live: get("sample_live"), alloc: get("sample_alloc"), gap: get("sample_gap")};
		return side;
	}

	// The model of one kind of memory: what is shared is the same in both.
	function makeKind({head, columns}, kind, nodeOf, shared) {
		const stacks = readStacks(head, columns, kind, nodeOf);
		const model = {...shared, kind, stacks, sides: head.sides.map((_, s) => readSide(head, columns, s, kind, stacks.first[s]))};
		model.moments = model.sides.every(side => side.moment); /* less than the whole time was asked for */
		return model;
	}

	// {heap, mapped}: the models of both kinds of memory, on the same tree; mapped is null if no program maps any itself.
	function make(data) {
		const {head, columns} = data, frames = readFrames(columns), functions = readFunctions(frames, head.sides.length > 1);
		const {of, tree} = mergeNodes(columns, functions);
		const shared = {
			key: head.key, frames, functions, tree,
			source: {text: columns.get("source_text"), file: columns.get("source_file"), first: columns.get("source_first"), count: columns.get("source_count")},
			fileNodes: {parent: fileParents(columns.get("node_depth")), frame: columns.get("node_frame")},
			one: head.one /* both sides are moments of one profile */
		};
		return {heap: makeKind(data, "heap", of, shared), mapped: head.sides.some(side => side.mapped) ? makeKind(data, "mapped", of, shared) : null};
	}

	// What a side's live and allocated bytes are called.
	const words = ({kind}) => kind === "mapped" ? {live: "mapped", alloc: "mapped anew"} : {live: "live", alloc: "allocated"};

	return {make, makeFinder, findNode, baseName, words};
})();
