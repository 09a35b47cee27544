// SPDX-License-Identifier: BSD-2-Clause
// moments.js - two sides of which less than the whole time is compared.
//
// What is live is that of the end of each side's interval, by the rules of `pmem diff FILE@TIME ...` (src/profile/diff.c); growth and allocated
// bytes are those in the interval, by the rules of `pmem report --since --until`.  Only the call stacks that the timeline has are known then.
const Moments = (() => {
	"use strict";

	// By side, whether call stacks that the timeline does not have are unknown.
	function partial(model, isPart) {
		const parts = model.sides.map((_, s) => isPart(s));
		return parts.map((part, s) => part || (model.one && parts[1 - s]));
	}

	// What the call stacks of a side that the timeline has were and did in an interval.
	function readSeries(model, s, interval, into) {
		const isEnd = interval.until >= model.sides[s].duration_ns;
		Samples.each(model, model.sides[s], interval, (index, liveBefore, live, allocBefore, alloc) => {
			into.live[index] = live;
			into.growth[index] = live - liveBefore;
			into.alloc[index] = Math.max(0, alloc - allocBefore);
			into.hasSeries[index] = 1;
			into.isThere[index] = isEnd || alloc > 0 ? 1 : 0;
		});
	}

	// The others: known as far as the interval is not a part of the time.
	function readOthers(model, s, isPart, into) {
		const {count, first} = model.stacks, {live_bytes, alloc_bytes} = model.stacks, end = s + 1 < first.length ? first[s + 1] : count;
		const {live, flow} = isPart;
		let unseen = 0, unseenBytes = 0;
		for (let i = first[s]; i < end; i++) {
			if (into.hasSeries[i])
				continue;
			if (!live[s])
				into.live[i] = live_bytes[i];
			if (!flow[s]) {
				into.growth[i] = live_bytes[i];
				into.alloc[i] = alloc_bytes[i];
			} else {
				unseen++;
				unseenBytes += live_bytes[i];
			}
		}
		return {unseen, unseenBytes};
	}

	// By call stack whether it counts.  What one side alone has may be what the timeline of the other side does not have: it is no change.
	function know(model, into, isPart) {
		const {node, side, count} = model.stacks, known = new Uint8Array(count);
		for (let i = 0; i < count; i++)
			known[i] = into.hasSeries[i] ? into.isThere[i] : isPart[side[i]] ? 0 : 1;
		if (isPart[0] === isPart[1])
			return known;
		const unseen = new Uint8Array(model.tree.count), seen = new Uint8Array(model.tree.count);
		for (let i = 0; i < count; i++) {
			if (known[i])
				seen[node[i]] |= 1 << side[i];
			else if (!into.hasSeries[i])
				unseen[node[i]] = 1;
		}
		for (let i = 0; i < count; i++)
			if (isPart[1 - side[i]] && !isPart[side[i]] && unseen[node[i]] && seen[node[i]] === 1 << side[i])
				known[i] = 0;
		return known;
	}

	function leaveOut(known, ...values) {
		for (let i = 0; i < known.length; i++)
			if (!known[i])
				for (const of of values)
					of[i] = 0;
	}

	function sum(values, first, end) {
		let all = 0;
		for (let i = first; i < end; i++)
			all += values[i];
		return all;
	}

	// Of an interval of each side, by call stack: {live, growth, alloc, known}, and of each side {live, growth, alloc, unseen, unseenBytes}.
	function compare(model, asked) {
		const intervals = model.sides.map((side, s) => Samples.moments(side, asked[s])), {count, first} = model.stacks, make = () => new Float64Array(count), ends = [...first.slice(1), count];
		const into = {live: make(), growth: make(), alloc: make(), hasSeries: new Uint8Array(count), isThere: new Uint8Array(count)};
		const isEarly = s => intervals[s].until < model.sides[s].duration_ns;
		const isPart = {live: partial(model, isEarly), flow: partial(model, s => isEarly(s) || intervals[s].since > 0)};
		const sides = model.sides.map((_, s) => {
			readSeries(model, s, intervals[s], into);
			return readOthers(model, s, isPart, into);
		});
		const known = know(model, into, isPart.live), isSame = String(isPart.live) === String(isPart.flow);
		const knownFlow = isSame ? known : know(model, into, isPart.flow);
		leaveOut(known, into.live);
		leaveOut(knownFlow, into.growth, into.alloc);
		for (const [s, side] of sides.entries())
			for (const name of ["live", "growth", "alloc"])
				side[name] = sum(into[name], first[s], ends[s]);
		for (let i = 0; !isSame && i < count; i++)
			known[i] |= knownFlow[i];
		return {live: into.live, growth: into.growth, alloc: into.alloc, known, sides};
	}

	return {compare};
})();
