// SPDX-License-Identifier: BSD-2-Clause
// stacks.js - the call stacks of a row of the table, with the lines of their frames.
const Stacks = (() => {
	"use strict";
	const FIRST = 5, MORE = 20;
	const HEAD = 50, TAIL = 20; /* entries of a long call stack that are shown at once */
	const {byId, make} = Dom;
	let model, shown = FIRST, now = null, opened = new Set();

	// Indexes of the call stacks of a row, those with the most of the key first.
	function stacksOf(row, table, values, {standIns}) {
		const {tree, stacks} = model, list = [];
		let under = null;
		if (!table.of) {
			under = new Uint8Array(tree.count);
			for (let n = 1; n < tree.count; n++)
				under[n] = under[tree.parent[n]] || tree.func[n] === row.group ? 1 : 0;
		}
		for (let i = 0; i < stacks.count; i++)
			if ((!standIns || standIns[stacks.node[i]] === i) && (under ? under[stacks.node[i]] : table.of[i] === row.group))
				list.push(i);
		return list.sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]) || stacks.alloc_bytes[b] - stacks.alloc_bytes[a] || a - b);
	}

	// A frame with its line of source, which a click unfolds to those around; at once, if that was asked for when the process was younger.
	function frameItem(frame, key) {
		const {frames} = model, file = frames.texts[frames.file[frame]], module = Model.baseName(frames.texts[frames.module[frame]]);
		const where = file ? Model.baseName(file) + (frames.line[frame] ? ":" + frames.line[frame] : "") : module;
		const item = make("li", {className: frames.own[frame] ? "" : "library"},
			make("span", {textContent: frames.texts[frames.name[frame]], title: frames.texts[frames.full[frame]]}),
			make("span", {className: "where", textContent: where, title: file || frames.texts[frames.module[frame]]}));
		const lines = Source.around(frame);
		if (lines)
			addSource(item, frame, lines, key + " s");
		return item;
	}

	function addSource(item, frame, lines, key) {
		const button = make("button", {type: "button", className: "line-of", textContent: Source.lineOf(frame, lines) || "(an empty line)"});
		let box = null;
		const show = () => {
			const isOpen = opened.has(key);
			button.setAttribute("aria-expanded", isOpen);
			if (isOpen)
				item.append(box = Source.box(frame, lines, now.measures));
			else if (box)
				box.remove();
		};
		button.onclick = () => {
			if (!opened.delete(key))
				opened.add(key);
			show();
		};
		item.append(button);
		show();
	}

	const plural = (value, noun) => Units.count(value) + " " + noun + (value === 1 ? "" : "s");

	// An item with a button that the elements of entries take the place of; at once, if they were asked for when the process was younger.
	function behind(entries, words, key) {
		if (opened.has(key))
			return elements(entries, key);
		const button = make("button", {type: "button", className: "more", textContent: "\u22ef " + words}), item = make("li", {}, button);
		button.onclick = () => {
			opened.add(key);
			item.replaceWith(...elements(entries, key));
		};
		return [item];
	}

	// An entry is {frame}, or {run} of library frames.
	const elementOf = (entry, key) => entry.run ? behind(entry.run, plural(entry.run.length, "library frame"), key) : [frameItem(entry.frame, key)];

	// Of many entries those in the middle are behind a button: a recursion may have any number.
	function elements(entries, key) {
		const each = (list, first) => list.flatMap((entry, i) => elementOf(entry, key + " " + (first + i)));
		if (entries.length <= HEAD + TAIL)
			return each(entries, 0);
		const middle = entries.slice(HEAD, -TAIL), count = middle.reduce((sum, {run}) => sum + (run ? run.length : 1), 0);
		return [...each(entries.slice(0, HEAD), 0), ...behind(middle, plural(count, "more frame"), key + " m"),
			...each(entries.slice(-TAIL), HEAD + middle.length)];
	}

	// What a call stack is called at any time: its frames.
	function keyOf(stack) {
		const {parent, frame} = model.fileNodes, {frames} = model, words = [];
		for (let node = model.stacks.file[stack]; node > 0; node = parent[node])
			words.push(frames.texts[frames.full[frame[node]]] + ":" + frames.line[frame[node]]);
		return words.join("\n");
	}

	// The innermost first; library frames in a row are one entry.
	function frameList(stack) {
		const {parent, frame} = model.fileNodes, {own} = model.frames, entries = [];
		let run = null;
		for (let node = model.stacks.file[stack]; node > 0; node = parent[node]) {
			const entry = {frame: frame[node]};
			if (own[entry.frame]) {
				entries.push(entry);
				run = null;
			} else if (run) {
				run.push(entry);
			} else {
				entries.push({run: run = [entry]});
			}
		}
		return make("ol", {}, ...elements(entries, keyOf(stack)));
	}

	function figures(stack, measures, values, total) {
		const {key} = State.state, s = model.stacks;
		const rest = [];
		if (total > 0 && values[stack] >= 0 && !measures.compared)
			rest.push(Units.share(values[stack], total) + " of these call stacks");
		if (measures.compared) {
			const text = value => Measures.textOfSide(key, value);
			return make("p", {}, Measures.text(measures, key, values[stack]) + " ", make("span", {textContent: "\u00b7 " + text(measures.before[stack]) +
				" before, " + text(measures.after[stack]) + " after"}));
		}
		if (key !== "live")
			rest.push(Units.bytes(measures.live[stack]) + " " + Model.words(model).live);
		if (model.kind === "mapped" && measures.calls)
			rest.push(plural(measures.calls[stack], "call") + ", " + Units.bytes(s.alloc_bytes[stack]) + " mapped in all");
		if (measures.blocks)
			rest.push(plural(measures.blocks[stack], "block") + " live", plural(s.alloc_blocks[stack], "call") + ", " +
				Units.bytes(s.alloc_bytes[stack]) + " allocated");
		return make("p", {}, Measures.text(measures, key, values[stack]) + " ", make("span", {textContent: "\u00b7 " + rest.join(" \u00b7 ") +
			(s.inexact[stack] ? " \u00b7 estimates" : "")}));
	}

	function draw() {
		const {row, list, values, measures} = now, box = byId("detail");
		let total = 0;
		for (const i of list)
			total += values[i];
		const title = make("div", {className: "title"}, make("h3", {textContent: row.full || row.name}),
			make("button", {type: "button", textContent: "Close", onclick: () => State.set({row: ""})}));
		const said = make("p", {className: "hint", textContent: Units.count(list.length) + " call stack" + (list.length === 1 ? "" : "s") +
			(list.length > shown ? ", the " + shown + " with the most (" + measures.keys[State.state.key].words + ")" : "") +
			"; the innermost function first." + (row.where ? " " + row.where : "")});
		const parts = list.slice(0, shown).map(i => make("div", {className: "stack"}, figures(i, measures, values, total), frameList(i)));
		if (list.length > shown)
			parts.push(make("button", {type: "button", textContent: "Show " + Math.min(MORE, list.length - shown) + " more", onclick() {
				shown += MORE;
				draw();
			}}));
		box.replaceChildren(title, ...Verdicts.show(State.state.group, row, list), said, ...parts);
		box.hidden = false;
		Verdicts.redraw();
	}

	// row null: nothing is chosen.
	function show(row, table, measures, isNew) {
		if (!row || State.state.group === "thread") {
			byId("detail").hidden = true;
			byId("detail").replaceChildren();
			now = null;
			return;
		}
		if (!isNew && now)
			return;
		if (!now || now.row.full !== row.full || now.row.where !== row.where) {
			shown = FIRST;
			opened = new Set();
		}
		const values = measures[State.state.key];
		now = {row, measures, values, list: stacksOf(row, table, values, measures)};
		draw();
	}

	function begin(of) {
		model = of;
	}

	return {begin, renew: begin, show};
})();
