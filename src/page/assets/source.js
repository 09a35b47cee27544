// SPDX-License-Identifier: BSD-2-Clause
// source.js - the source lines that the page has around a frame's line, with what the sites in them hold.
const Source = (() => {
	"use strict";
	const AROUND = 3;
	const {make, setAttributes} = Dom;
	let model, lines = null, runs = null, amounts = null; /* runs: by file [{first, count, at: index in lines}] */

	function read() {
		const {text, file, first, count} = model.source;
		lines = new TextDecoder().decode(text).split("\n");
		runs = new Map();
		for (let i = 0, at = 0; i < file.length; at += count[i++]) {
			if (!runs.has(file[i]))
				runs.set(file[i], []);
			runs.get(file[i]).push({first: first[i], count: count[i], at});
		}
	}

	// [{number, text}] of the lines around that of a frame, which is among them; null: they are not known.
	function around(frame) {
		const {frames} = model, file = frames.file[frame], line = frames.line[frame], found = [];
		if (!runs)
			read();
		const run = file && line && (runs.get(file) || []).find(({first, count}) => line >= first && line < first + count);
		if (!run)
			return null;
		for (let n = Math.max(run.first, line - AROUND); n < Math.min(run.first + run.count, line + AROUND + 1); n++)
			found.push({number: n, text: lines[run.at + n - run.first]});
		return found;
	}

	// By file and line what the call stacks have whose site is there; kept until other values are shown.
	function amountsOf(values) {
		if (amounts && amounts.values === values)
			return amounts.byLine;
		const {frames, stacks} = model, sums = new Float64Array(frames.count), byLine = new Map();
		for (let i = 0; i < values.length; i++)
			sums[stacks.site[i]] += values[i];
		for (let f = 0; f < sums.length; f++) {
			if (!sums[f] || !frames.file[f])
				continue;
			const key = frames.file[f] + ":" + frames.line[f];
			byLine.set(key, (byLine.get(key) || 0) + sums[f]);
		}
		amounts = {values, byLine};
		return byLine;
	}

	// The lines as elements: that of the frame alone is marked by more than a colour.
	function box(frame, found, measures) {
		const {frames} = model, {key} = State.state, byLine = amountsOf(measures[key]), file = frames.file[frame], line = frames.line[frame];
		const row = ({number, text}) => {
			const amount = byLine.get(file + ":" + number), isThis = number === line;
			const element = make("span", {className: isThis ? "line this" : "line"}, make("span", {className: "amount", textContent:
				amount ? Measures.text(measures, key, amount) : ""}), make("span", {className: "mark", textContent: isThis ? "\u25b8" : ""}),
			make("span", {className: "at", textContent: number}), make("span", {className: "code", textContent: text + "\n"}));
			return isThis ? setAttributes(element, {"aria-current": "true"}) : element;
		};
		return setAttributes(make("pre", {className: "source", tabIndex: 0}, ...found.map(row)), {role: "group",
			"aria-label": "Source of " + Model.baseName(frames.texts[file]) + " around line " + line});
	}

	// The line of a frame alone.
	const lineOf = (frame, found) => found.find(({number}) => number === model.frames.line[frame]).text.trim();

	function begin(of) {
		model = of;
		lines = runs = amounts = null;
	}

	return {begin, renew: begin, around, box, lineOf};
})();
