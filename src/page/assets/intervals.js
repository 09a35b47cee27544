// SPDX-License-Identifier: BSD-2-Clause
// intervals.js - which part of its time each side shows: what is chosen, and in the address, or else what the page was made for.
//
// Of one profile that is an interval, or the whole time.  Of two sides each has its own; those of two processes are the same, counted from
// the start of each, until somebody wants them apart.
const Intervals = (() => {
	"use strict";
	const NAMES = ["since", "until", "since_before", "until_before", "link"];
	let model;

	const last = () => model.sides.length - 1;

	// Both sides are of one process: then one interval for both would compare what is the same.
	function isOneProcess() {
		const [a, b] = model.sides;
		return Boolean(b) && a.pid === b.pid && a.start_realtime_ns === b.start_realtime_ns;
	}

	const canLink = () => model.sides.length > 1 && !isOneProcess();
	const isLinked = () => canLink() && State.state.link !== "apart";

	// What state calls the interval of a side.
	const namesOf = number => number === last() || isLinked() ? ["since", "until"] : ["since_before", "until_before"];

	// The interval is counted from the start of the side; past its end it is empty.
	function clamp({since, until}, {duration_ns}) {
		return {since: Math.max(0, Math.min(since, duration_ns)), until: Math.max(0, Math.min(until, duration_ns))};
	}

	// {since, until} in ns; null: none is chosen.
	function chosen(number) {
		const [since, until] = namesOf(number).map(name => State.state[name]);
		if (since === "" || until === "" || !(+since < +until))
			return null;
		const found = clamp({since: +since, until: +until}, model.sides[number]);
		return found.since < found.until || isLinked() ? found : null;
	}

	// Of a side of which nothing is chosen: until the moment that the page is of.
	function usual(number) {
		const {moment, duration_ns} = model.sides[number];
		return {since: 0, until: moment && moment.time_ns !== null ? Math.min(moment.time_ns, duration_ns) : duration_ns};
	}

	// The intervals by side; null: the whole time of all.
	function all() {
		const found = model.sides.map((_, number) => chosen(number));
		if (found.every(interval => !interval) && !model.moments)
			return null;
		return found.map((interval, number) => interval || usual(number));
	}

	// How long a side's interval may reach.
	const room = number => isLinked() ? Math.max(...model.sides.map(side => side.duration_ns)) : model.sides[number].duration_ns;

	function clear(number) {
		const [since, until] = namesOf(number);
		State.set({[since]: "", [until]: ""});
	}

	function clearAll() {
		State.set({since: "", until: "", since_before: "", until_before: ""});
	}

	function choose(number, from, to) {
		const most = room(number), [since, until] = namesOf(number);
		[from, to] = [Math.min(from, to), Math.max(from, to)].map(t => Math.round(Math.max(0, Math.min(most, t))));
		if (to - from < most / 5000)
			clear(number);
		else
			State.set({[since]: String(from), [until]: String(to)});
	}

	// One interval for both from now on, or one of each, which are the same at first.
	function link(isWanted) {
		const {since, until} = State.state;
		State.set(isWanted ? {link: "", since_before: "", until_before: ""} : {link: "apart", since_before: since, until_before: until});
	}

	function begin(of) {
		model = of;
	}

	return {NAMES, begin, renew: begin, isOneProcess, canLink, isLinked, chosen, usual, all, room, choose, clear, clearAll, link};
})();
