// SPDX-License-Identifier: BSD-2-Clause
// samples.js - what the call stacks of the timeline held at a time: the rules of src/profile/growth.c, so that a page and `pmem report` agree.
const Samples = (() => {
	"use strict";
	const QUIET = 4; /* intervals without a point: nothing happened */

	// The last of times that is not after time, or -1.
	function indexAt(times, first, end, time) {
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

	// The nearest moment at which all call stacks were looked at: growth_moment().
	function moment({points: {time, count}, duration_ns, interval_ns, kind}, ns) {
		const isComplete = i => kind === "mapped" || count[i] > 0;
		let after = indexAt(time, 0, time.length, ns) + 1;
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

	const moments = (side, {since, until}) => ({since: moment(side, since), until: moment(side, until)});

	// The sample that says what was at a time; -1: nothing.  Where others were dropped it is the nearest that is left: growth_at().
	function sampleAt({time, gap}, first, end, ns) {
		const before = indexAt(time, first, end, ns), after = before + 1;
		if (before < 0 || after === end || !gap[after])
			return before;
		return ns - time[before] <= time[after] - ns ? before : after;
	}

	// Calls put(call stack, live before, live after, allocated before, allocated after) for each call stack on the timeline.
	function each(model, {series, duration_ns}, {since, until}, put) {
		const {end, stack, first, live, alloc} = series, {live_bytes, alloc_bytes} = model.stacks;
		const valueOf = (values, last, at, ns) => ns >= duration_ns ? last : at < 0 ? 0 : values[at];
		for (let i = 0, begin = 0; i < end.length; begin = end[i++]) {
			const index = first + stack[i], a = sampleAt(series, begin, end[i], since), b = sampleAt(series, begin, end[i], until);
			put(index, valueOf(live, live_bytes[index], a, since), valueOf(live, live_bytes[index], b, until),
				valueOf(alloc, alloc_bytes[index], a, since), valueOf(alloc, alloc_bytes[index], b, until));
		}
	}

	// A growth that is said to begin a moment before a point begins with it: growth_change().
	function growthInterval({growth: {since_ns, until_ns}, interval_ns}) {
		const half = Math.floor(interval_ns / 2);
		return {since: since_ns > 0 && since_ns + half < until_ns ? since_ns + half : since_ns, until: until_ns};
	}

	return {moments, each, growthInterval};
})();
