// SPDX-License-Identifier: BSD-2-Clause
// stacks.js - the call stacks of a row of the table, with the lines of their frames.
const Stacks = (() => {
	"use strict";
	const FIRST = 5, MORE = 20;
	const {byId, make} = Dom;
	let model, shown = FIRST, now = null;

	// Indexes of the call stacks of a row, those with the most of the key first.
	function stacksOf(row, table, values) {
		const {tree, stacks} = model, list = [];
		let under = null;
		if (!table.of) {
			under = new Uint8Array(tree.count);
			for (let n = 1; n < tree.count; n++)
				under[n] = under[tree.parent[n]] || tree.func[n] === row.group ? 1 : 0;
		}
		for (let i = 0; i < stacks.count; i++)
			if ((!model.standIns || model.standIns[stacks.node[i]] === i) && (under ? under[stacks.node[i]] : table.of[i] === row.group))
				list.push(i);
		return list.sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]) || stacks.alloc_bytes[b] - stacks.alloc_bytes[a] || a - b);
	}

	function frameItem(frame) {
		const {frames} = model, file = frames.texts[frames.file[frame]], module = Model.baseName(frames.texts[frames.module[frame]]);
		const where = file ? Model.baseName(file) + (frames.line[frame] ? ":" + frames.line[frame] : "") : module;
		return make("li", {className: frames.own[frame] ? "" : "library"},
			make("span", {textContent: frames.texts[frames.name[frame]], title: frames.texts[frames.full[frame]]}),
			make("span", {className: "where", textContent: where, title: file || frames.texts[frames.module[frame]]}));
	}

	// The innermost first; library frames in a row behind a button.
	function frameList(stack) {
		const {parent, frame} = model.fileNodes, list = make("ol", {}), {frames} = model;
		let hidden = [];
		const flush = () => {
			if (!hidden.length)
				return;
			const items = hidden.map(frameItem);
			const words = hidden.length + " library frame" + (hidden.length === 1 ? "" : "s");
			const button = make("button", {type: "button", textContent: "\u22ef " + words});
			const item = make("li", {}, button);
			button.onclick = () => item.replaceWith(...items);
			list.append(item);
			hidden = [];
		};
		for (let node = model.stacks.file[stack]; node > 0; node = parent[node]) {
			if (!frames.own[frame[node]]) {
				hidden.push(frame[node]);
				continue;
			}
			flush();
			list.append(frameItem(frame[node]));
		}
		flush();
		return list;
	}

	const plural = (value, noun) => Units.count(value) + " " + noun + (value === 1 ? "" : "s");

	function figures(stack, measures, values, total) {
		const {key} = State.state, s = model.stacks;
		const rest = [];
		if (total > 0 && values[stack] >= 0 && !measures.compared)
			rest.push(Units.share(values[stack], total) + " of these call stacks");
		if (measures.compared) {
			const text = State.state.key === "temporary" ? Units.count : Units.bytes;
			return make("p", {}, Measures.text(measures, key, values[stack]) + " ", make("span", {textContent: "\u00b7 " + text(measures.before[stack]) +
				" before, " + text(measures.after[stack]) + " after"}));
		}
		if (key !== "live")
			rest.push(Units.bytes(measures.live[stack]) + " live");
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
		box.replaceChildren(title, said, ...parts);
		box.hidden = false;
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
		if (!now || now.row.group !== row.group)
			shown = FIRST;
		const values = measures[State.state.key];
		now = {row, measures, values, list: stacksOf(row, table, values)};
		draw();
	}

	function begin(of) {
		model = of;
	}

	return {begin, show};
})();
