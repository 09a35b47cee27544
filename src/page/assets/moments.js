// SPDX-License-Identifier: BSD-2-Clause
// moments.js - two sides of which one is a moment before the end: the rules are those of `pmem diff FILE@TIME ...` (src/profile/diff.c).
//
// Of a moment only live and allocated bytes are known, and only of the call stacks that the timeline has.
const Moments = (() => {
	"use strict";

	// Live and allocated bytes of a side's call stacks become those of its moment; known: what has any.
	function turnBack(model, side, known) {
		const {end, stack, first, time, live, alloc} = side.series, {live_bytes, alloc_bytes} = model.stacks, at = side.moment.time_ns;
		for (let i = 0, begin = 0; i < end.length; begin = end[i++]) {
			const index = first + stack[i];
			if (at !== null) {
				const sample = Measures.sampleAt(time, begin, end[i], at);
				live_bytes[index] = sample < 0 ? 0 : live[sample];
				alloc_bytes[index] = sample < 0 ? 0 : alloc[sample];
			}
			known[index] = at === null || alloc_bytes[index] > 0 ? 1 : 0;
		}
	}

	// Nodes at which the timeline does not have a call stack of a side, and which sides have one that is known: bits.
	function nodesOf(model, known) {
		const {node, side, count} = model.stacks, unseen = new Uint8Array(model.tree.count), seen = new Uint8Array(model.tree.count);
		const hasSeries = new Uint8Array(count);
		for (const {series} of model.sides)
			for (const stack of series.stack)
				hasSeries[series.first + stack] = 1;
		for (let i = 0; i < count; i++) {
			if (known[i])
				seen[node[i]] |= 1 << side[i];
			else if (!hasSeries[i])
				unseen[node[i]] = 1;
		}
		return {unseen, seen};
	}

	// What one side alone has may be what the timeline of the other side does not have: it is no change.
	function leaveOut(model, known) {
		const {node, side, count} = model.stacks, {unseen, seen} = nodesOf(model, known);
		for (let i = 0; i < count; i++) {
			const other = model.sides[1 - side[i]].moment.only_series && !model.sides[side[i]].moment.only_series;
			if (other && unseen[node[i]] && seen[node[i]] === 1 << side[i])
				known[i] = 0;
		}
	}

	// Changes the model's stacks, and sets its known: by call stack, whether it counts; null: all do.
	function apply(model) {
		model.known = null;
		if (!model.sides.every(side => side.moment))
			return;
		const {first, count} = model.stacks, known = new Uint8Array(count);
		model.sides.forEach((side, s) => {
			if (side.moment.only_series)
				turnBack(model, side, known);
			else
				known.fill(1, first[s], s + 1 < first.length ? first[s + 1] : count);
		});
		leaveOut(model, known);
		model.known = known;
	}

	return {apply};
})();
