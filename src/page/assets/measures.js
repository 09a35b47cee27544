// SPDX-License-Identifier: BSD-2-Clause
// measures.js - what every call stack has of each thing that can be shown, over the whole time or in an interval.
//
// The rules are those of `pmem report --since --until`: in an interval live bytes are those at its end, allocated ones those in
// it, and the timeline has neither blocks, temporary allocations nor shares of the peak.
const Measures = (() => {
	"use strict";
	const KEYS = {
		live: {label: "Live", words: "live", unit: "bytes", timed: true},
		growth: {label: "Growth", words: "growth", unit: "change", timed: true},
		peak: {label: "Peak", words: "the peak", unit: "bytes", timed: false},
		alloc: {label: "Allocated", words: "allocated", unit: "bytes", timed: true},
		temporary: {label: "Temporary", words: "temporary allocations", unit: "count", timed: false}
	};

	// The last sample that is not after time, or -1.
	function sampleAt(times, first, end, time) {
		let low = first, high = end;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (times[middle] <= time)
				low = middle + 1;
			else
				high = middle;
		}
		return low - 1 < first ? -1 : low - 1;
	}

	// Calls put(stack, live before, live after, allocated before, allocated after) for each call stack on the timeline.
	function eachSeries(model, side, since, until, put) {
		const {end, stack, first, time, live, alloc} = side.series, {live_bytes, alloc_bytes} = model.stacks;
		for (let i = 0, begin = 0; i < end.length; begin = end[i++]) {
			const index = first + stack[i];
			const a = sampleAt(time, begin, end[i], since), b = sampleAt(time, begin, end[i], until);
			const last = until >= side.duration_ns;
			put(index, a < 0 ? 0 : live[a], last ? live_bytes[index] : b < 0 ? 0 : live[b],
				a < 0 ? 0 : alloc[a], last ? alloc_bytes[index] : b < 0 ? 0 : alloc[b]);
		}
	}

	function ofWholeTime(model) {
		const s = model.stacks, growth = new Float64Array(s.count);
		for (const side of model.sides)
			eachSeries(model, side, side.growth.since_ns, side.growth.until_ns,
				(i, before, after) => { growth[i] = after - before; });
		return {live: s.live_bytes, blocks: s.live_blocks, growth, peak: s.peak_bytes, alloc: s.alloc_bytes,
			calls: s.alloc_blocks, temporary: s.temporary_blocks, timed: false};
	}

	function ofInterval(model, interval) {
		const s = model.stacks, side = model.sides[0], make = () => new Float64Array(s.count);
		const live = make(), growth = make(), alloc = make(), seen = new Uint8Array(s.count);
		eachSeries(model, side, interval.since, interval.until, (i, before, after, allocBefore, allocAfter) => {
			live[i] = after;
			growth[i] = after - before;
			alloc[i] = Math.max(0, allocAfter - allocBefore);
			seen[i] = 1;
		});
		let unseen = 0, unseenBytes = 0;
		for (let i = 0; i < s.count; i++) {
			if (seen[i])
				continue;
			unseen++;
			unseenBytes += s.live_bytes[i];
			if (interval.until >= side.duration_ns)
				live[i] = s.live_bytes[i];
		}
		return {live, growth, alloc, blocks: null, peak: s.peak_bytes, calls: null, temporary: s.temporary_blocks, timed: true,
			unseen, unseenBytes};
	}

	function sum(values) {
		let all = 0;
		for (let i = 0; i < values.length; i++)
			all += values[i];
		return all;
	}

	// --- two profiles ------------------------------------------------------------------------------

	const COMPARED = {
		live: {label: "Live", words: "the change of live", unit: "change"},
		peak: {label: "Peak", words: "the change of the peak", unit: "change"},
		alloc: {label: "Allocated", words: "the change of allocated bytes", unit: "change"},
		temporary: {label: "Temporary", words: "the change of temporary allocations", unit: "counts"}
	};

	// Of each node of the tree the call stack that stands for all that end there, in both profiles: the last one.
	function standIns(model) {
		const {node, count} = model.stacks, of = new Int32Array(model.tree.count).fill(-1);
		for (let i = 0; i < count; i++)
			if (!model.known || model.known[i])
				of[node[i]] = i;
		return of;
	}

	// Sums of values over the call stacks that end at the same node, at the one that stands for them.
	function atStandIns(model, values, side) {
		const {node, side: sides, count} = model.stacks, sums = new Float64Array(count), standIn = model.standIns;
		for (let i = 0; i < count; i++)
			if (model.known && !model.known[i])
				continue;
			else if (side === undefined)
				sums[standIn[node[i]]] += sides[i] ? values[i] : -values[i];
			else if (sides[i] === side)
				sums[standIn[node[i]]] += values[i];
		return sums;
	}

	function ofBoth(model, key) {
		const s = model.stacks, change = values => atStandIns(model, values);
		model.standIns = model.standIns || standIns(model);
		const made = model.changes = model.changes || {live: change(s.live_bytes), blocks: change(s.live_blocks), peak: change(s.peak_bytes),
			alloc: change(s.alloc_bytes), calls: change(s.alloc_blocks), temporary: change(s.temporary_blocks)};
		const of = {live: s.live_bytes, peak: s.peak_bytes, alloc: s.alloc_bytes, temporary: s.temporary_blocks}[key];
		return {...made, growth: null, before: atStandIns(model, of, 0), after: atStandIns(model, of, 1), timed: false, compared: true};
	}

	// Of a moment no more is known.
	const AT_MOMENTS = {live: COMPARED.live, alloc: COMPARED.alloc};

	const keys = model => model.known ? AT_MOMENTS : model.sides.length > 1 ? COMPARED : KEYS;

	// interval: {since, until} in ns since start, or null.
	function compute(model, interval, key) {
		const measures = model.sides.length > 1 ? ofBoth(model, key) : interval ? ofInterval(model, interval) : ofWholeTime(model);
		measures.keys = keys(model);
		measures.totals = {};
		for (const key of ["live", "blocks", "growth", "peak", "alloc", "calls", "temporary", "before", "after"])
			measures.totals[key] = measures[key] ? sum(measures[key]) : null;
		return measures;
	}

	// A value of a key of measures, with its unit.
	function text(measures, key, value) {
		switch (measures.keys[key].unit) {
		case "count":
			return Units.count(value);
		case "counts":
			return Units.signed(value, Units.count);
		case "change":
			return Units.signed(value, Units.bytes);
		default:
			return Units.bytes(value);
		}
	}

	return {keys, compute, text, sampleAt};
})();
