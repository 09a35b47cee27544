// SPDX-License-Identifier: BSD-2-Clause
// brush.js - choosing an interval on a strip, by pointer and by keys, and what is under the pointer.
const Brush = (() => {
	"use strict";

	function nearest(times, ns) {
		let best = 0;
		for (let i = 1; i < times.length; i++)
			if (Math.abs(times[i] - ns) < Math.abs(times[best] - ns))
				best = i;
		return best;
	}

	function tip(strip, event, ns) {
		const {side} = strip, i = nearest(side.points.time, ns), {live, rss} = side.points, rate = strip.rates.find(r => ns >= r.from && ns <= r.to);
		if (i >= live.length || ns > side.duration_ns)
			return Dom.hideTip();
		const lines = [Units.duration(ns) + " after the start, " + Units.clock(side, ns), Units.bytes(live[i]) + " " + Model.words(side).live];
		if (rss[i])
			lines.push(Units.bytes(rss[i]) + " resident (RSS)");
		if (rate)
			lines.push(Units.bytes(rate.rate) + "/s allocated");
		const p = strip.plot(), near = side.marks.filter(m => Math.abs(strip.toX(p, m.time_ns) - strip.toX(p, ns)) < 5);
		return Dom.showTip(event.clientX, event.clientY, [...lines, ...near.map(m => "mark: " + m.text)]);
	}

	function move(strip, p, ns) {
		const {drag} = strip;
		drag.moved = drag.moved || Math.abs(strip.toX(p, ns) - strip.toX(p, drag.start)) > 3;
		drag.since = Math.min(drag.start, ns);
		drag.until = Math.max(drag.start, ns);
		if (drag.moved)
			Intervals.choose(strip.number, drag.since, drag.until);
	}

	function pointer(strip, event) {
		const p = strip.plot(), ns = strip.toTime(p, event.offsetX);
		if (event.type === "pointerdown" && event.button === 0) {
			strip.canvas.setPointerCapture(event.pointerId);
			strip.drag = {start: ns, since: ns, until: ns, moved: false};
		} else if (event.type === "pointermove" && strip.drag) {
			move(strip, p, ns);
		} else if (event.type === "pointermove") {
			strip.hover = ns;
			tip(strip, event, ns);
		} else if (event.type === "pointerup" && strip.drag) {
			if (!strip.drag.moved)
				Intervals.clear(strip.number);
			strip.drag = null;
		} else if (event.type === "pointerleave") {
			strip.hover = null;
			Dom.hideTip();
		}
		strip.redrawAll();
	}

	// Where keys begin: in the middle, or at the moment that the page is of.
	function first({number, moment}) {
		const all = Intervals.room(number);
		return Intervals.chosen(number) || (moment ? Intervals.usual(number) : {since: all * 0.4, until: all * 0.6});
	}

	function step(strip, direction, isEnd) {
		const {number} = strip, all = Intervals.room(number), by = direction * all / 50, {since, until} = first(strip);
		if (isEnd)
			Intervals.choose(number, since, Math.max(since + all / 50, until + by));
		else if (since + by > -1 && until + by < all + 1)
			Intervals.choose(number, since + by, until + by);
	}

	function key(strip, event) {
		const direction = {ArrowLeft: -1, ArrowRight: 1}[event.key];
		if (event.key === "Escape" && Intervals.chosen(strip.number))
			Intervals.clear(strip.number);
		else if (direction)
			step(strip, direction, event.shiftKey);
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	}

	function attach(strip) {
		for (const type of ["pointerdown", "pointermove", "pointerup", "pointerleave"])
			strip.canvas.addEventListener(type, event => pointer(strip, event));
		strip.canvas.addEventListener("keydown", event => key(strip, event));
	}

	return {attach};
})();
