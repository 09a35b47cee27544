// SPDX-License-Identifier: BSD-2-Clause
// moments.js - two sides of which less than the whole time is compared.
//
// What is live is that of the end of each side's interval, by the rules of `pmem diff FILE@TIME ...` (src/profile/diff.c); growth and allocated
// bytes are those between the last samples before the interval's ends (`pmem report --since --until` takes the nearest).  Only the call stacks that the timeline has are known then.
const Moments = (() => {
	"use strict";
	const QUIET = 4; /* intervals without a point: nothing happened */

	// By side, whether call stacks that the timeline does not have are unknown.
	function partial(model, isPart) {
		const parts = model.sides.map((_, s) => isPart(s));
		return parts.map((part, s) => part || (model.one && parts[1 - s]));
	}

	// The nearest moment at which all call stacks were looked at: growth_moment() in src/profile/growth.c.
	function momentOf({points: {time, count}, duration_ns, interval_ns, kind}, ns) {
		const isComplete = i => kind === "mapped" || count[i] > 0;
		let after = Measures.sampleAt(time, 0, time.length, ns) + 1;
		const isQuiet = after > 0 && isComplete(after - 1) &&
			(after < time.length ? time[after] : duration_ns) - time[after - 1] > QUIET * interval_ns;
		if (ns >= duration_ns || !time.length || isQuiet)
			return ns;
		let before = after;
		while (before > 0 && !isComplete(before - 1))
			before--;
		while (after < time.length && !isComplete(after))
			after++;
		const early = before > 0 ? time[before - 1] : 0, late = after < time.length ? Math.min(time[after], duration_ns) : duration_ns;
		return ns - early <= late - ns ? early : late;
	}

	// What the call stacks of a side that the timeline has were and did in an interval.  What there was at its end is that of a moment, as is
	// all that was allocated until then.
	function readSeries(model, s, {since, until}, into) {
		const {series: {end, stack, first, time, live, alloc}, duration_ns} = model.sides[s], {live_bytes, alloc_bytes} = model.stacks;
		const at = (begin, finish, ns) => Measures.sampleAt(time, begin, finish, ns), isLast = until >= duration_ns;
		const moment = momentOf(model.sides[s], until), isEnd = moment >= duration_ns;
		for (let i = 0, begin = 0; i < end.length; begin = end[i++]) {
			const index = first + stack[i], a = since > 0 ? at(begin, end[i], since) : -1, b = at(begin, end[i], until);
			const m = at(begin, end[i], moment), liveBefore = a < 0 ? 0 : live[a], allocBefore = a < 0 ? 0 : alloc[a];
			const allocated = isLast ? alloc_bytes[index] : b < 0 ? 0 : alloc[b], inAll = isEnd ? alloc_bytes[index] : m < 0 ? 0 : alloc[m];
			into.live[index] = isEnd ? live_bytes[index] : m < 0 ? 0 : live[m];
			into.growth[index] = (isLast ? live_bytes[index] : b < 0 ? 0 : live[b]) - liveBefore;
			into.alloc[index] = since > 0 ? Math.max(0, allocated - allocBefore) : inAll;
			into.hasSeries[index] = 1;
			into.isThere[index] = isEnd || inAll > 0 ? 1 : 0;
		}
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
	function compare(model, intervals) {
		const {count, first} = model.stacks, make = () => new Float64Array(count), ends = [...first.slice(1), count];
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
