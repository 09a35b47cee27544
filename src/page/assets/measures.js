// SPDX-License-Identifier: BSD-2-Clause
// measures.js - what every call stack has of each thing that can be shown, over the whole time or in an interval.
//
// The rules are those of `pmem report --since --until`: in an interval, whose ends are moved to the nearest moments of which all is known, live
// bytes are those at its end, allocated ones those in it, and the timeline has neither blocks, temporary allocations nor shares of the peak.
const Measures = (() => {
	"use strict";
	const KEYS = {
		live: {label: "Live", words: "live", unit: "bytes", timed: true},
		growth: {label: "Growth", words: "growth", unit: "change", timed: true},
		peak: {label: "Peak", words: "the peak", unit: "bytes", timed: false},
		alloc: {label: "Allocated", words: "allocated", unit: "bytes", timed: true},
		temporary: {label: "Temporary", words: "temporary allocations", unit: "count", timed: false}
	};
	// Of what the program maps itself.
	const MAPPED = {
		live: {label: "Mapped", words: "mapped", unit: "bytes", timed: true},
		growth: KEYS.growth,
		resident: {label: "Resident", words: "what of it is resident", unit: "bytes", timed: false},
		alloc: {label: "Mapped in all", words: "mapped in all", unit: "bytes", timed: true}
	};
	const without = (of, ...names) => Object.fromEntries(Object.entries(of).filter(([name]) => !names.includes(name)));
	const isMeasured = model => model.sides.every(side => side.is_measured);

	function ofWholeTime(model) {
		const s = model.stacks, growth = new Float64Array(s.count);
		for (const side of model.sides)
			Samples.each(model, side, Samples.growthInterval(side), (i, before, after) => { growth[i] = after - before; });
		if (model.kind === "mapped")
			return {live: s.live_bytes, blocks: null, growth, peak: s.peak_bytes, alloc: s.alloc_bytes, calls: s.alloc_blocks, temporary: null,
				resident: isMeasured(model) ? s.resident_bytes : null, timed: false};
		return {live: s.live_bytes, blocks: s.live_blocks, growth, peak: s.peak_bytes, alloc: s.alloc_bytes,
			calls: s.alloc_blocks, temporary: s.temporary_blocks, timed: false};
	}

	function ofInterval(model, interval) {
		const s = model.stacks, side = model.sides[0], make = () => new Float64Array(s.count);
		const live = make(), growth = make(), alloc = make(), seen = new Uint8Array(s.count), moments = Samples.moments(side, interval);
		Samples.each(model, side, moments, (i, before, after, allocBefore, allocAfter) => {
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
			if (moments.until >= side.duration_ns)
				live[i] = s.live_bytes[i];
		}
		return {live, growth, alloc, blocks: null, peak: s.peak_bytes, calls: null, temporary: s.temporary_blocks, resident: s.resident_bytes, timed: true,
			unseen, unseenBytes};
	}

	const SUMS = ["live", "blocks", "growth", "peak", "alloc", "calls", "temporary", "resident"];

	function sum(values) {
		let all = 0;
		for (let i = 0; i < values.length; i++)
			all += values[i];
		return all;
	}

	// --- two profiles ------------------------------------------------------------------------------

	const COMPARED = {
		live: {label: "Live", words: "the change of live", unit: "change"},
		growth: {label: "Growth", words: "the change of growth", unit: "change"},
		peak: {label: "Peak", words: "the change of the peak", unit: "change"},
		alloc: {label: "Allocated", words: "the change of allocated bytes", unit: "change"},
		temporary: {label: "Temporary", words: "the change of temporary allocations", unit: "counts"}
	};
	const COMPARED_MAPPED = {
		live: {label: "Mapped", words: "the change of what is mapped", unit: "change"},
		growth: COMPARED.growth,
		resident: {label: "Resident", words: "the change of what of it is resident", unit: "change"},
		alloc: {label: "Mapped in all", words: "the change of what was mapped in all", unit: "change"}
	};
	// All that may become a choice.
	function labels(model) {
		const of = model.sides.length > 1 ? model.kind === "mapped" ? COMPARED_MAPPED : COMPARED : model.kind === "mapped" ? MAPPED : KEYS;
		return model.kind === "mapped" && !isMeasured(model) ? without(of, "resident") : of;
	}

	// What can be shown of intervals: null, or one of each side.  Of a moment only live and allocated bytes are known, of an interval growth too.
	function keys(model, intervals) {
		const of = labels(model);
		if (model.sides.length < 2)
			return of;
		if (!intervals)
			return without(of, "growth");
		return without(of, "peak", "temporary", "resident", ...(intervals.some(({since}) => since > 0) ? [] : ["growth"]));
	}

	// Of each node of the tree the call stack that stands for all that end there, in both profiles: the last one that counts.
	function standIns(model, known) {
		const {node, count} = model.stacks, of = new Int32Array(model.tree.count).fill(-1);
		for (let i = 0; i < count; i++)
			if (!known || known[i])
				of[node[i]] = i;
		return of;
	}

	// Sums of values over the call stacks that end at the same node, at the one that stands for them; side: of one alone, else
	// what the second has more.
	function atStandIns(model, {known, standIns}, values, side) {
		const {node, side: sides, count} = model.stacks, sums = new Float64Array(count);
		for (let i = 0; i < count; i++)
			if (known && !known[i])
				continue;
			else if (side === undefined)
				sums[standIns[node[i]]] += sides[i] ? values[i] : -values[i];
			else if (sides[i] === side)
				sums[standIns[node[i]]] += values[i];
		return sums;
	}

	// What does not depend on the key.  from: the values of the call stacks, before they are compared.
	function changes(model, intervals) {
		const from = intervals ? Moments.compare(model, intervals) : {...ofWholeTime(model), growth: null, known: null, sides: null};
		const made = {from, known: from.known, standIns: standIns(model, from.known)};
		for (const name of SUMS)
			made[name] = from[name] ? atStandIns(model, made, from[name]) : null;
		return made;
	}

	// The changes over the whole time are kept, and so are those of the last intervals.
	function ofBoth(model, intervals, key) {
		const asked = JSON.stringify(intervals), slot = intervals ? "part" : "whole", kept = model.changes = model.changes || {};
		if (!kept[slot] || kept[slot].asked !== asked)
			kept[slot] = {asked, ...changes(model, intervals)};
		const made = kept[slot];
		return {...made, before: atStandIns(model, made, made.from[key], 0), after: atStandIns(model, made, made.from[key], 1),
			timed: Boolean(intervals), compared: true, sides: made.from.sides};
	}

	// intervals: {since, until} in ns since start of each side, or null.
	function compute(model, intervals, key) {
		const measures = model.sides.length > 1 ? ofBoth(model, intervals, key) : intervals ? ofInterval(model, intervals[0]) : ofWholeTime(model);
		measures.keys = keys(model, intervals);
		measures.totals = {};
		for (const name of [...SUMS, "before", "after"])
			measures.totals[name] = measures[name] ? sum(measures[name]) : null;
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

	// The same of one of two sides.
	function textOfSide(key, value) {
		return key === "temporary" ? Units.count(value) : key === "growth" ? Units.signed(value, Units.bytes) : Units.bytes(value);
	}

	return {SUMS, keys, labels, compute, text, textOfSide};
})();
