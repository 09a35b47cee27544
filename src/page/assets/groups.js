// SPDX-License-Identifier: BSD-2-Clause
// groups.js - the rows of the table: call stacks grouped by allocation site, file or module, functions with all they call, threads.
const Groups = (() => {
	"use strict";
	const KINDS = [["site", "Sites"], ["function", "Functions"], ["file", "Files"], ["module", "Modules"], ["thread", "Threads"]];
	const NOTES = {
		site: "By the innermost function of your own code: every byte counts at one site.",
		function: "With everything a function calls; \u201citself\u201d is what its own sites have. Sums overlap.",
		file: "By the source file of the allocation site.",
		module: "By the program or library that the allocation site is in.",
		thread: "What each thread allocated and freed over the whole time. Blocks may be freed by another thread: a net figure is not what it holds."
	};
	const SUMS = [...Measures.SUMS, "before", "after"];

	// Arrays of sums of each measure by of[stack].
	function sumBy(measures, of, count) {
		const sums = {};
		for (const key of SUMS) {
			const values = measures[key];
			if (!values)
				continue;
			const into = sums[key] = new Float64Array(count);
			for (let i = 0; i < of.length; i++)
				into[of[i]] += values[i];
		}
		return sums;
	}

	// Rows of the groups that are used (all if it is not given), each with what describe() says of it.
	function rowsOf(sums, count, describe, used) {
		const rows = [], value = (key, g) => sums[key] ? sums[key][g] : null;
		for (let g = 0; g < count; g++) {
			if (used && !used[g])
				continue;
			const {name, full, where, self = null} = describe(g);
			rows.push({group: g, name, full, where, self, live: value("live", g), blocks: value("blocks", g), growth: value("growth", g),
				peak: value("peak", g), alloc: value("alloc", g), calls: value("calls", g), temporary: value("temporary", g), resident: value("resident", g),
				before: value("before", g), after: value("after", g)});
		}
		return rows;
	}

	const place = (frames, i) => frames.file[i] ? Model.baseName(frames.texts[frames.file[i]]) + (frames.line[i] ? ":" + frames.line[i] : "") :
		Model.baseName(frames.texts[frames.module[i]]);

	// Numbers of what key() gives for each frame.
	function number(frames, key) {
		const numbers = new Map(), of = new Uint32Array(frames.count), first = [];
		for (let i = 0; i < frames.count; i++) {
			const text = key(i);
			if (!numbers.has(text)) {
				numbers.set(text, first.length);
				first.push(i);
			}
			of[i] = numbers.get(text);
		}
		return {of, first};
	}

	function bySite(model, numbers, measures, describe) {
		const {site, node} = model.stacks, of = new Uint32Array(site.length);
		for (let i = 0; i < site.length; i++)
			of[i] = numbers.of[site[i]];
		const used = new Uint8Array(numbers.first.length);
		for (let i = 0; i < of.length; i++)
			if (!measures.standIns || measures.standIns[node[i]] === i)
				used[of[i]] = 1;
		return {of, rows: rowsOf(sumBy(measures, of, numbers.first.length), numbers.first.length, describe, used)};
	}

	function frameKinds(model) {
		const {frames} = model, text = i => frames.texts[i];
		const module = i => Model.baseName(text(frames.module[i]));
		return {
			site: {key: i => i, row: i => ({name: text(frames.name[i]), full: text(frames.full[i]), where: place(frames, i)})},
			file: {key: i => frames.file[i] ? "f" + frames.file[i] : "m" + frames.module[i],
				row: i => ({name: frames.file[i] ? Model.baseName(text(frames.file[i])) : "(no source file known)",
					full: text(frames.file[i]), where: frames.file[i] ? text(frames.file[i]) : module(i)})},
			module: {key: i => frames.module[i], row: i => ({name: module(i) || "(none)", full: text(frames.module[i]), where: text(frames.module[i])})}
		};
	}

	// True for nodes that no node with the same function is above: each call stack counts once for a function.
	function outermost(model) {
		const {parent, func, count} = model.tree, result = new Uint8Array(count), seen = new Uint32Array(model.functions.count);
		const child = new Int32Array(count).fill(-1), next = new Int32Array(count).fill(-1);
		for (let n = count - 1; n > 0; n--) {
			next[n] = child[parent[n]];
			child[parent[n]] = n;
		}
		for (let n = child[0]; n > 0;) {
			result[n] = seen[func[n]]++ === 0 ? 1 : 0;
			if (child[n] >= 0) {
				n = child[n];
				continue;
			}
			for (; n > 0; n = parent[n]) {
				seen[func[n]]--;
				if (next[n] >= 0) {
					n = next[n];
					break;
				}
			}
		}
		return result;
	}

	function byFunction(model, measures, isOutermost) {
		const {functions, tree} = model, whole = {of: null, parent: tree.parent, count: tree.count}, sums = {};
		const scratch = new Float64Array(tree.count);
		for (const key of SUMS) {
			if (!measures[key])
				continue;
			const into = sums[key] = new Float64Array(functions.count);
			if (!measures[key].some(value => value))
				continue;
			Trees.sums(model, whole, measures[key], null, scratch);
			for (let n = 1; n < tree.count; n++)
				if (isOutermost[n])
					into[tree.func[n]] += scratch[n];
		}
		const self = new Float64Array(functions.count), {site} = model.stacks, values = measures[State.state.key];
		for (let i = 0; i < site.length; i++)
			self[functions.of[site[i]]] += values[i];
		return {of: null, rows: rowsOf(sums, functions.count, f => ({name: functions.name[f], full: functions.full[f],
			where: functions.file[f] ? Model.baseName(functions.file[f]) : functions.module[f], self: self[f]}))};
	}

	function byThread(model) {
		const rows = [];
		for (const side of model.sides)
			for (const t of side.threads)
				rows.push({group: rows.length, name: t.name || "(no name)", full: t.name, where: (side.label ? side.label + ", " : "") + "tid " + t.tid +
					(t.level ? ", signal handlers" : t.owners > 1 ? ", " + t.owners + " threads" : ""), alloc: t.alloc_bytes, calls: t.alloc_blocks,
				freed: t.free_bytes, net: t.alloc_bytes - t.free_bytes, temporary: t.temporary_blocks});
		return {of: null, rows};
	}

	// Makes tables of a model; what does not depend on measures is made once.
	function maker(model) {
		return model.maker = model.maker || newMaker(model);
	}

	function newMaker(model) {
		const kinds = frameKinds(model), numbers = {};
		let isOutermost = null;
		return (kind, measures) => {
			if (kind === "thread")
				return byThread(model);
			if (kind === "function")
				return byFunction(model, measures, isOutermost = isOutermost || outermost(model));
			const made = numbers[kind] = numbers[kind] || number(model.frames, kinds[kind].key);
			made.rows = made.rows || [];
			return bySite(model, made, measures, g => made.rows[g] = made.rows[g] || kinds[kind].row(made.first[g]));
		};
	}

	// Which kinds of rows a kind of memory has: threads are not asked what they map.
	const kindsOf = model => KINDS.map(([kind]) => kind).filter(kind => model.kind !== "mapped" || kind !== "thread");

	return {KINDS, NOTES, kindsOf, maker};
})();
