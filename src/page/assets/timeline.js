// SPDX-License-Identifier: BSD-2-Clause
// timeline.js - live bytes, resident memory and the rate of allocation over time; an interval is chosen here.
const Timeline = (() => {
	"use strict";
	const LEFT = 76, RIGHT = 12, TOP = 22, GAP = 14, RATE = 44, AXIS = 20, BARS = 200;
	const {byId, make, colour} = Dom;
	let model, side, before, span, canvas, rates, drag = null, hover = null;

	function plot() {
		const width = canvas.clientWidth - LEFT - RIGHT, height = canvas.clientHeight;
		const rateTop = height - AXIS - RATE;
		return {left: LEFT, width: Math.max(1, width), top: TOP, bottom: rateTop - GAP, rateTop, rateBottom: height - AXIS};
	}

	// Both sides are moments of one process.
	const isSame = () => before.pid === side.pid && before.start_realtime_ns === side.start_realtime_ns;

	const toX = (p, ns) => p.left + p.width * ns / (span || 1);
	const toTime = (p, x) => Math.max(0, Math.min(1, (x - p.left) / p.width)) * span;

	// Bytes per second between points that know what was allocated.  Points closer than a bar's width are one: the rate of a
	// moment says nothing.
	function readRates() {
		const {time, alloc} = side.points, list = [], least = side.duration_ns / BARS;
		let last = 0, lastAlloc = 0;
		for (let i = 0; i < time.length; i++) {
			if (!alloc[i] || time[i] - last < least)
				continue;
			list.push({from: last, to: time[i], rate: Math.max(0, alloc[i] - lastAlloc) / ((time[i] - last) / 1e9)});
			last = time[i];
			lastAlloc = alloc[i];
		}
		return list;
	}

	// Round steps: 1, 2, 5 of a binary unit for bytes.
	function byteStep(most, lines) {
		const unit = 1024 ** Math.floor(Math.log(Math.max(most, 1)) / Math.log(1024));
		for (const n of [1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000])
			if (n * unit >= 1 && most / (n * unit) <= lines)
				return n * unit;
		return 1024 * unit;
	}

	function timeStep(ns, lines) {
		const s = 1e9;
		const steps = [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8, 5e8, s, 2 * s, 5 * s, 10 * s, 15 * s, 30 * s,
			60 * s, 120 * s, 300 * s, 600 * s, 900 * s, 1800 * s, 3600 * s, 7200 * s, 10800 * s, 21600 * s, 43200 * s];
		return steps.find(step => ns / step <= lines) || 86400 * s * Math.ceil(ns / (86400 * s * lines));
	}

	function line(ctx, p, times, values, most, bottom, top) {
		let any = false;
		ctx.beginPath();
		for (let i = 0; i < times.length; i++) {
			if (values === side.points.rss && !values[i])
				continue;
			const x = toX(p, times[i]), y = bottom - (bottom - top) * values[i] / most;
			any ? ctx.lineTo(x, y) : ctx.moveTo(x, y);
			any = true;
		}
		return any;
	}

	function drawGrid(ctx, p, most) {
		const step = byteStep(most, 5);
		ctx.font = Dom.font(11.5);
		ctx.textBaseline = "middle";
		ctx.textAlign = "right";
		for (let value = 0; value <= most; value += step) {
			const y = Math.round(p.bottom - (p.bottom - p.top) * value / most) + 0.5;
			ctx.strokeStyle = colour(value ? "soft" : "line");
			ctx.beginPath();
			ctx.moveTo(p.left, y);
			ctx.lineTo(p.left + p.width, y);
			ctx.stroke();
			ctx.fillStyle = colour("dim");
			ctx.fillText(value ? Units.bytes(value).replace(".0", "") : "0", p.left - 8, y);
		}
	}

	function drawTimes(ctx, p) {
		const step = timeStep(span, Math.max(2, p.width / 110));
		ctx.fillStyle = colour("dim");
		ctx.textBaseline = "top";
		for (let t = 0; t <= span; t += step) {
			const x = toX(p, t);
			ctx.textAlign = t === 0 ? "left" : x > p.left + p.width - 30 ? "right" : "center";
			ctx.fillText(Units.duration(t).replace(".0", ""), x, p.rateBottom + 5);
		}
	}

	function drawLines(ctx, p, most) {
		const {time, live, rss} = side.points;
		if (line(ctx, p, time, live, most, p.bottom, p.top)) {
			ctx.strokeStyle = colour("live");
			ctx.lineWidth = 1.75;
			ctx.stroke();
			ctx.lineTo(toX(p, time[time.length - 1]), p.bottom);
			ctx.lineTo(toX(p, time[0]), p.bottom);
			ctx.fillStyle = colour("live-fill");
			ctx.fill();
		}
		if (line(ctx, p, time, rss, most, p.bottom, p.top)) {
			ctx.strokeStyle = colour("rss");
			ctx.lineWidth = 1.25;
			ctx.setLineDash([5, 3]);
			ctx.stroke();
			ctx.setLineDash([]);
		}
		if (before && !isSame() && line(ctx, p, before.points.time, before.points.live, most, p.bottom, p.top)) {
			ctx.strokeStyle = colour("rate");
			ctx.lineWidth = 1.75;
			ctx.stroke();
		}
		ctx.lineWidth = 1;
	}

	function drawRates(ctx, p) {
		let most = 1;
		for (const {rate} of rates)
			most = Math.max(most, rate);
		ctx.fillStyle = colour("rate-fill");
		for (const {from, to, rate} of rates) {
			const x = toX(p, from), height = RATE * rate / most;
			ctx.fillRect(x, p.rateBottom - height, Math.max(0.75, toX(p, to) - x - 0.5), height);
		}
		ctx.strokeStyle = colour("line");
		ctx.strokeRect(p.left, p.rateBottom + 0.5, p.width, 0);
		ctx.fillStyle = colour("dim");
		ctx.textAlign = "right";
		ctx.textBaseline = "middle";
		if (rates.length)
			ctx.fillText(Units.bytes(most) + "/s", p.left - 8, p.rateTop + 6);
	}

	function label(ctx, p, x, y, text, tone) {
		const width = ctx.measureText(text).width;
		ctx.textAlign = "left";
		ctx.fillStyle = colour(tone);
		const at = Math.min(x + 5, p.left + p.width - width);
		if (ctx.lineWidth > 1)
			ctx.strokeText(text, at, y);
		ctx.lineWidth = 1;
		ctx.fillText(text, at, y);
	}

	function drawPeak(ctx, p, most) {
		const {peak_bytes, peak_ns} = side.totals, x = toX(p, peak_ns), y = p.bottom - (p.bottom - p.top) * peak_bytes / most;
		ctx.fillStyle = colour("live");
		ctx.beginPath();
		ctx.arc(x, y, 3.5, 0, 7);
		ctx.fill();
		ctx.font = Dom.font(11.5, 600);
		ctx.strokeStyle = colour("card");
		ctx.lineWidth = 3;
		label(ctx, p, x, y - 9, "peak " + Units.bytes(peak_bytes), "live");
	}

	function drawMarks(ctx, p) {
		let free = -1;
		ctx.font = Dom.font(11.5);
		for (const mark of side.marks) {
			const x = Math.round(toX(p, mark.time_ns)) + 0.5;
			ctx.strokeStyle = colour("mark");
			ctx.setLineDash([2, 3]);
			ctx.beginPath();
			ctx.moveTo(x, 14);
			ctx.lineTo(x, p.rateBottom);
			ctx.stroke();
			ctx.setLineDash([]);
			const width = ctx.measureText(mark.text).width;
			if (x > free && width < p.width / 3) {
				ctx.textBaseline = "middle";
				label(ctx, p, x - 4, 7, mark.text, "mark");
				free = x + width + 8;
			}
		}
	}

	function drawInterval(ctx, p) {
		const interval = drag || chosen();
		if (!interval)
			return;
		const from = toX(p, interval.since), to = toX(p, interval.until);
		ctx.fillStyle = colour("select");
		ctx.fillRect(from, p.top, to - from, p.rateBottom - p.top);
		ctx.fillStyle = colour("live");
		ctx.fillRect(from - 1, p.top, 2, p.rateBottom - p.top);
		ctx.fillRect(to - 1, p.top, 2, p.rateBottom - p.top);
	}

	// The moments that are compared.
	function drawMoments(ctx, p) {
		if (!model.known)
			return;
		model.sides.forEach(({moment, duration_ns}, i) => {
			const x = Math.round(toX(p, moment.time_ns === null ? duration_ns : moment.time_ns)) - 0.5, tone = i ? "live" : "rate";
			ctx.strokeStyle = colour(tone);
			ctx.beginPath();
			ctx.moveTo(x, p.top);
			ctx.lineTo(x, p.rateBottom);
			ctx.stroke();
			ctx.font = Dom.font(11.5, 600);
			ctx.textBaseline = "middle";
			label(ctx, p, x, p.bottom - 10 - 16 * i, i ? "after" : "before", tone);
		});
	}

	function drawHover(ctx, p) {
		if (hover === null || drag)
			return;
		const x = Math.round(toX(p, hover)) + 0.5;
		ctx.strokeStyle = colour("dim");
		ctx.beginPath();
		ctx.moveTo(x, p.top);
		ctx.lineTo(x, p.rateBottom);
		ctx.stroke();
	}

	function highest() {
		let most = Math.max(1, side.totals.peak_bytes);
		for (const values of [side.points.live, side.points.rss, before ? before.points.live : []])
			for (const value of values)
				most = Math.max(most, value);
		return most * 1.08;
	}

	function draw() {
		const {ctx, width, height} = Dom.context(canvas), p = plot(), most = highest();
		ctx.font = Dom.font(11.5);
		if (!side.points.time.length) {
			ctx.fillStyle = colour("dim");
			ctx.fillText("The profile has no timeline: the process was too short-lived.", LEFT, height / 2, width - LEFT);
			return;
		}
		drawGrid(ctx, p, most);
		drawTimes(ctx, p);
		drawLines(ctx, p, most);
		drawRates(ctx, p);
		drawInterval(ctx, p);
		drawMarks(ctx, p);
		drawPeak(ctx, p, most);
		drawMoments(ctx, p);
		drawHover(ctx, p);
	}

	const redraw = Dom.soon(() => draw());

	// {since, until} in ns, or null.
	function chosen() {
		if (before)
			return null;
		const {since, until} = State.state;
		if (since === "" || until === "" || !(+since < +until))
			return null;
		return {since: Math.max(0, +since), until: Math.min(side.duration_ns, +until)};
	}

	function choose(since, until) {
		const all = side.duration_ns;
		[since, until] = [Math.min(since, until), Math.max(since, until)].map(t => Math.round(Math.max(0, Math.min(all, t))));
		if (until - since < all / 5000)
			clear();
		else
			State.set({since: String(since), until: String(until)});
	}

	const clear = () => State.set({since: "", until: ""});

	// --- pointer -----------------------------------------------------------------------------------

	function nearest(ns) {
		const {time} = side.points;
		let best = 0;
		for (let i = 1; i < time.length; i++)
			if (Math.abs(time[i] - ns) < Math.abs(time[best] - ns))
				best = i;
		return best;
	}

	function tip(event, ns) {
		const i = nearest(ns), {live, rss} = side.points, rate = rates.find(r => ns >= r.from && ns <= r.to);
		const lines = [Units.duration(ns) + " after the start, " + Units.clock(side, ns), Units.bytes(live[i]) + " live"];
		if (rss[i])
			lines.push(Units.bytes(rss[i]) + " resident (RSS)");
		if (rate)
			lines.push(Units.bytes(rate.rate) + "/s allocated");
		const p = plot(), near = side.marks.filter(m => Math.abs(toX(p, m.time_ns) - toX(p, ns)) < 5);
		Dom.showTip(event.clientX, event.clientY, [...lines, ...near.map(m => "mark: " + m.text)]);
	}

	function pointer(event) {
		const p = plot(), ns = toTime(p, event.offsetX);
		if (event.type === "pointerdown" && event.button === 0 && !before) {
			canvas.setPointerCapture(event.pointerId);
			drag = {start: ns, since: ns, until: ns, moved: false};
		} else if (event.type === "pointermove" && drag) {
			drag.moved = drag.moved || Math.abs(toX(p, ns) - toX(p, drag.start)) > 3;
			drag.since = Math.min(drag.start, ns);
			drag.until = Math.max(drag.start, ns);
			if (drag.moved)
				choose(drag.since, drag.until);
		} else if (event.type === "pointermove") {
			hover = ns;
			tip(event, ns);
		} else if (event.type === "pointerup" && drag) {
			if (!drag.moved)
				clear();
			drag = null;
		} else if (event.type === "pointerleave") {
			hover = null;
			Dom.hideTip();
		}
		redraw();
	}

	function key(event) {
		const step = {ArrowLeft: -1, ArrowRight: 1}[event.key], all = side.duration_ns, by = all / 50;
		if (before)
			return;
		if (event.key === "Escape" && chosen()) {
			clear();
		} else if (step) {
			const now = chosen() || {since: all * 0.4, until: all * 0.6};
			if (event.shiftKey)
				choose(now.since, Math.max(now.since + by, now.until + step * by));
			else if (now.since + step * by > -1 && now.until + step * by < all + 1)
				choose(now.since + step * by, now.until + step * by);
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	}

	// --- fields ------------------------------------------------------------------------------------

	function typed() {
		const since = byId("from").value.trim(), until = byId("to").value.trim();
		const from = since === "" ? 0 : Units.parse(since, side), to = until === "" ? side.duration_ns : Units.parse(until, side);
		byId("from").setAttribute("aria-invalid", Number.isNaN(from));
		byId("to").setAttribute("aria-invalid", Number.isNaN(to));
		if (!Number.isNaN(from) && !Number.isNaN(to))
			choose(from, to);
		show();
	}

	function show() {
		const interval = chosen();
		const exact = ns => ns < 1e10 ? +(ns / 1e9).toFixed(3) + " s" : Units.duration(ns);
		byId("from").value = interval ? exact(interval.since) : "";
		byId("to").value = interval ? exact(interval.until) : "";
		byId("from").placeholder = "0 s";
		byId("to").placeholder = Units.duration(side.duration_ns);
		byId("interval-clear").disabled = !interval;
		redraw();
	}

	// Says in one sentence what the interval is, as the terminal does.
	function say(measures) {
		const interval = chosen(), note = byId("interval-note");
		if (!interval) {
			note.textContent = "";
			return;
		}
		const {growth} = measures.totals, unseen = measures.unseen;
		note.textContent = "From " + Units.clock(side, interval.since) + " to " + Units.clock(side, interval.until) + " (" +
			Units.duration(interval.until - interval.since) + ") the live bytes changed by " + (growth ? Units.signed(growth, Units.bytes) : "0 B") + "." +
			(unseen ? " Not on the timeline: " + Units.count(unseen) + " small call stack" + (unseen === 1 ? "" : "s") + ", with " +
				Units.bytes(measures.unseenBytes) + " at the end; their changes are not in it." : "");
	}

	function legend() {
		const item = (tone, text, thin) => {
			const mark = make("i", {className: thin ? "thin" : ""});
			mark.style.background = "var(--" + tone + ")";
			return make("span", {}, mark, text);
		};
		const items = before && !isSame() ? [item("rate", "live, " + before.label, true), item("live", "live, " + side.label, true)] : [item("live", "live", true)];
		if (side.points.rss.some(v => v))
			items.push(item("rss", "resident (RSS)", true));
		if (rates.length)
			items.push(item("rate-fill", "allocation rate"));
		if (side.marks.length)
			items.push(item("mark", "marks", true));
		byId("time-legend").replaceChildren(...items);
	}

	// The same process, some time later.
	function renew(of) {
		model = of;
		side = model.sides[model.sides.length - 1];
		before = model.sides.length > 1 ? model.sides[0] : null;
		span = Math.max(...model.sides.map(s => s.duration_ns));
		rates = readRates();
		canvas.setAttribute("aria-label", "Timeline: live bytes over " + Units.duration(side.duration_ns) + ", peak " +
			Units.bytes(side.totals.peak_bytes) + " after " + Units.duration(side.totals.peak_ns));
		legend();
	}

	function begin(of) {
		canvas = byId("timeline");
		renew(of);
		byId("interval").hidden = byId("interval-help").hidden = Boolean(before);
		for (const type of ["pointerdown", "pointermove", "pointerup", "pointerleave"])
			canvas.addEventListener(type, pointer);
		canvas.addEventListener("keydown", key);
		byId("from").addEventListener("change", typed);
		byId("to").addEventListener("change", typed);
		byId("interval-clear").addEventListener("click", clear);
		show();
	}

	// True while somebody chooses an interval: nothing may change under the hand.
	const busy = () => drag !== null || ["from", "to"].includes(document.activeElement.id);

	return {begin, renew, busy, chosen, show, say, redraw, clear};
})();
