// SPDX-License-Identifier: BSD-2-Clause
// verdicts.js - what kind of growth sites have, by side: a word for the table, and for a row that is open a sentence and its bytes over time.
//
// The verdicts are those of `pmem report --json`, of the whole time: found in src/profile/verdict.c, never here.
const Verdicts = (() => {
	"use strict";
	const CLASSES = ["none", "plateau", "sawtooth", "step", "filling", "leak"]; /* the worst last: the table sorts by it */
	const {make, setAttributes, colour} = Dom;
	let model, kinds;

	// By kind of row and side: {number of the group: verdict}.  A function's is that of the worst of its own sites, which come first.
	function read() {
		const {functions} = model, firstOf = (side, group) => {
			const found = new Map();
			for (const verdict of side.verdicts) {
				if (verdict.frame === null)
					continue;
				const number = group(verdict.frame);
				if (!found.has(number))
					found.set(number, verdict);
			}
			return found;
		};
		const of = group => model.sides.map(side => firstOf(side, group));
		kinds = {site: of(frame => frame), function: of(frame => functions.of[frame])};
	}

	// Whether rows of a kind may have any.
	const any = kind => Boolean(kinds[kind]) && !model.moments && kinds[kind].some(found => found.size > 0);

	// Of each side the verdict of a row, or null.
	const ofRow = (kind, group) => kinds[kind].map(found => found.get(group) || null);

	const nameOf = verdict => verdict ? verdict.class : "none";
	const ratePerMinute = verdict => verdict ? verdict.rate_bytes_per_s * 60 : 0;

	// What a row of the table has: numbers to sort by.
	function addTo(row, kind) {
		const found = ofRow(kind, row.group), last = found[found.length - 1];
		row.verdict = CLASSES.indexOf(nameOf(last));
		row.verdicts = found;
		row.rate = ratePerMinute(last);
		row.since = last ? last.since_ns : null;
	}

	const words = {
		verdict: ({verdicts}) => [...new Set(verdicts.map(nameOf))].join(" \u2192 "),
		rate: ({rate}) => rate ? Units.signed(rate, Units.bytes) + "/min" : "\u2013",
		since: ({since}) => since === null ? "\u2013" : Units.clock(model.sides[model.sides.length - 1], since)
	};

	// --- over time ---------------------------------------------------------------------------------

	// What the call stacks of a side with isOf(index) held at the points of its process.
	function valuesOf(side, isOf) {
		const {series: {end, stack, first, time, live}, points} = side, values = new Float64Array(points.time.length);
		for (let i = 0, begin = 0; i < end.length; begin = end[i++]) {
			if (!isOf(first + stack[i]))
				continue;
			let before = 0, at = 0;
			for (let j = begin; j < end[i]; j++) {
				while (at < values.length && points.time[at] < time[j])
					at++;
				if (at < values.length)
					values[at] += live[j] - before;
				before = live[j];
			}
		}
		for (let i = 1; i < values.length; i++)
			values[i] += values[i - 1];
		return values;
	}

	function median(values) {
		const sorted = [...values].sort((a, b) => a - b), middle = sorted.length >> 1;
		return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
	}

	// A straight line of some slope (bytes per ns) through the middle of the points between two times: [[ns, bytes], [ns, bytes]].
	function through(times, values, [from, to], slope) {
		const found = [];
		for (let i = 0; i < times.length; i++)
			if (times[i] >= from && times[i] <= to)
				found.push(values[i] - slope * times[i]);
		if (!found.length)
			return null;
		const base = median(found);
		return [[from, base + slope * from], [to, base + slope * to]];
	}

	// What the verdict says as lines: its rate; of a step both levels, of a saw its bounds.
	function fitted(verdict, {time}, values) {
		const since = verdict.since_ns, first = time[0], last = time[time.length - 1], slope = verdict.rate_bytes_per_s / 1e9;
		const line = (from, to, by) => through(time, values, [from, to], by);
		switch (verdict.class) {
		case "step":
			return [line(first, since - 1, 0), line(since, last, 0)];
		case "sawtooth": {
			const some = [...values].filter((_, i) => time[i] >= since);
			return [Math.min(...some), Math.max(...some)].map(value => [[since, value], [last, value]]);
		}
		case "filling": /* a curve: the rate is that of its end */
			return [slope ? line(last - (last - since) / 4, last, slope) : line(since, last, 0)];
		default:
			return [line(since, last, slope)];
		}
	}

	function stroke(ctx, points, tone, width, dash) {
		ctx.strokeStyle = colour(tone);
		ctx.lineWidth = width;
		ctx.setLineDash(dash);
		ctx.beginPath();
		points.forEach(([x, y], i) => i ? ctx.lineTo(x, y) : ctx.moveTo(x, y));
		ctx.stroke();
		ctx.setLineDash([]);
	}

	const LEFT = 76, TOP = 8, AXIS = 20;

	function drawFrame(ctx, {width, height}, most, side) {
		ctx.font = Dom.font(11.5);
		ctx.fillStyle = colour("dim");
		ctx.textBaseline = "middle";
		ctx.textAlign = "right";
		ctx.fillText(Units.bytes(most), LEFT - 8, TOP + 4);
		ctx.fillText("0", LEFT - 8, height - AXIS);
		stroke(ctx, [[LEFT, height - AXIS + 0.5], [width, height - AXIS + 0.5]], "line", 1, []);
		ctx.textBaseline = "bottom";
		ctx.fillText(Units.clock(side, side.duration_ns), width, height);
		ctx.textAlign = "left";
		ctx.fillText(Units.clock(side, 0), LEFT, height);
	}

	function draw(canvas, side, values, lines) {
		const box = Dom.context(canvas), {ctx, width, height} = box, most = Math.max(1, ...values), {time} = side.points;
		const x = ns => LEFT + (width - LEFT) * ns / (side.duration_ns || 1), y = bytes => height - AXIS - (height - AXIS - TOP) * bytes / most;
		drawFrame(ctx, box, most, side);
		ctx.save();
		ctx.beginPath();
		ctx.rect(LEFT, TOP - 2, width - LEFT, height - AXIS - TOP + 4);
		ctx.clip();
		stroke(ctx, [...values].map((value, i) => [x(time[i]), y(value)]), "live", 1.75, []);
		for (const line of lines)
			stroke(ctx, line.map(([ns, bytes]) => [x(ns), y(bytes)]), "hit", 2, [7, 4]);
		ctx.restore();
	}

	// --- a row that is open ------------------------------------------------------------------------

	// The call stacks that a verdict is of, or, without one, those of the row.
	function membersOf(verdict, list) {
		const {site} = model.stacks, inRow = new Set(list);
		return verdict ? index => site[index] === verdict.frame : index => inRow.has(index);
	}

	function chart(side, verdict, list) {
		const values = valuesOf(side, membersOf(verdict, list)), lines = (verdict ? fitted(verdict, side.points, values) : []).filter(Boolean);
		const {live} = Model.words(side), canvas = setAttributes(make("canvas", {}), {role: "img", "aria-label":
			"Over time: " + Units.bytes(Math.max(0, ...values)) + " " + live + " at most, " + Units.bytes(values.length ? values[values.length - 1] : 0) + " at the end"});
		return {canvas, values, lines, draw: () => draw(canvas, side, values, lines)};
	}

	const caption = (side, verdict) => Model.words(side).live[0].toUpperCase() + Model.words(side).live.slice(1) + " bytes over time" +
		(verdict ? "; dashed: " + (verdict.rate_bytes_per_s ? "the verdict\u2019s rate, since when it holds." : "the levels that the verdict is about.") : ".");

	// What the row's verdicts say and show; null: nothing is known over time.  list: its call stacks.
	let charts = [];
	function show(kind, row, list) {
		const found = any(kind) ? ofRow(kind, row.group) : [];
		charts = [];
		return found.flatMap((verdict, number) => {
			const side = model.sides[number], made = chart(side, verdict, list), label = side.label ? side.label + ": " : "";
			charts.push(made);
			return [make("p", {className: "verdict"}, make("b", {textContent: label + nameOf(verdict)}), make("span", {textContent:
				verdict ? verdict.said : "No growth that chance does not explain."})), made.values.some(value => value) ? make("figure", {className: "fitted"}, made.canvas,
				make("figcaption", {className: "hint", textContent: caption(side, verdict)})) : null];
		}).filter(Boolean);
	}

	const redraw = () => charts.forEach(made => made.canvas.isConnected && made.draw());

	function begin(of) {
		model = of;
		read();
	}

	// For tests: the lines of the charts that are shown, and the values that they are of.
	const shown = () => charts.map(({values, lines}) => ({values: [...values], lines}));

	return {CLASSES, begin, renew: begin, any, addTo, words, show, redraw, shown};
})();
