// SPDX-License-Identifier: BSD-2-Clause
// strip.js - one side over time, drawn on a canvas: live bytes, resident memory, the rate of allocation, marks, and its interval.
const Strip = (() => {
	"use strict";
	const LEFT = 76, RIGHT = 12, TOP = 22, GAP = 14, AXIS = 20, BARS = 200;
	const {colour} = Dom;

	// Bytes per second between points that know what was allocated.  Points closer than a bar's width are one: the rate of a
	// moment says nothing.
	function readRates({points: {time, alloc}, duration_ns}) {
		const list = [], least = duration_ns / BARS;
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

	// A text right of x, or as far left of that as it takes to be seen whole.
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

	function upright(ctx, x, from, to, tone) {
		ctx.strokeStyle = colour(tone);
		ctx.beginPath();
		ctx.moveTo(x, from);
		ctx.lineTo(x, to);
		ctx.stroke();
	}

	class Strip {
		constructor(canvas, number, redrawAll) {
			this.canvas = canvas;
			this.number = number; /* of the side */
			this.drag = null;     /* an interval that is being chosen: {start, since, until, moved} */
			this.hover = null;    /* ns */
			this.redraw = Dom.soon(() => this.draw());
			this.redrawAll = redrawAll;
		}

		// span: ns that the width stands for; most: bytes that the height stands for.
		renew(side, {span, most, isBefore, known}) {
			Object.assign(this, {side, span, most, tone: isBefore ? "rate" : "live", moment: known ? side.moment : null, rates: readRates(side)});
		}

		plot() {
			const width = this.canvas.clientWidth - LEFT - RIGHT, height = this.canvas.clientHeight;
			const rate = this.side.kind === "mapped" ? 0 : height < 200 ? 28 : 44; /* how often a program maps is not known over time */
			const rateTop = height - AXIS - rate;
			return {left: LEFT, width: Math.max(1, width), top: TOP, bottom: rateTop - GAP, rateTop, rateBottom: height - AXIS, rate};
		}

		toX(p, ns) {
			return p.left + p.width * ns / (this.span || 1);
		}

		toTime(p, x) {
			return Math.max(0, Math.min(1, (x - p.left) / p.width)) * this.span;
		}

		line(ctx, p, values, skipZero) {
			const {time} = this.side.points;
			let any = false;
			ctx.beginPath();
			for (let i = 0; i < time.length; i++) {
				if (skipZero && !values[i])
					continue;
				const x = this.toX(p, time[i]), y = p.bottom - (p.bottom - p.top) * values[i] / this.most;
				any ? ctx.lineTo(x, y) : ctx.moveTo(x, y);
				any = true;
			}
			return any;
		}

		drawGrid(ctx, p) {
			const {most} = this, step = byteStep(most, p.bottom - p.top < 80 ? 3 : 5);
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

		drawTimes(ctx, p) {
			const {span} = this, step = timeStep(span, Math.max(2, p.width / 110));
			ctx.fillStyle = colour("dim");
			ctx.textBaseline = "top";
			for (let t = 0; t <= span; t += step) {
				const x = this.toX(p, t);
				ctx.textAlign = t === 0 ? "left" : x > p.left + p.width - 30 ? "right" : "center";
				ctx.fillText(Units.duration(t).replace(".0", ""), x, p.rateBottom + 5);
			}
		}

		drawLines(ctx, p) {
			const {time, live, rss} = this.side.points;
			if (this.line(ctx, p, live, false)) {
				ctx.strokeStyle = ctx.fillStyle = colour(this.tone);
				ctx.lineWidth = 1.75;
				ctx.stroke();
				ctx.lineTo(this.toX(p, time[time.length - 1]), p.bottom);
				ctx.lineTo(this.toX(p, time[0]), p.bottom);
				ctx.globalAlpha = 0.16;
				ctx.fill();
				ctx.globalAlpha = 1;
			}
			if (this.line(ctx, p, rss, true)) {
				ctx.strokeStyle = colour("rss");
				ctx.lineWidth = 1.25;
				ctx.setLineDash([5, 3]);
				ctx.stroke();
				ctx.setLineDash([]);
			}
			ctx.lineWidth = 1;
		}

		drawRates(ctx, p) {
			let most = 1;
			for (const {rate} of this.rates)
				most = Math.max(most, rate);
			ctx.fillStyle = colour("rate-fill");
			for (const {from, to, rate} of this.rates) {
				const x = this.toX(p, from), height = p.rate * rate / most;
				ctx.fillRect(x, p.rateBottom - height, Math.max(0.75, this.toX(p, to) - x - 0.5), height);
			}
			ctx.strokeStyle = colour("line");
			ctx.strokeRect(p.left, p.rateBottom + 0.5, p.width, 0);
			ctx.fillStyle = colour("dim");
			ctx.textAlign = "right";
			ctx.textBaseline = "middle";
			if (this.rates.length)
				ctx.fillText(Units.bytes(most) + "/s", p.left - 8, p.rateTop + 6);
		}

		// Of what the program maps itself it is not known when most was: there the highest point has the mark.
		peakAt() {
			const {totals: {peak_bytes, peak_ns}, points: {time, live}} = this.side;
			if (peak_ns !== null)
				return {ns: peak_ns, bytes: peak_bytes};
			const at = live.indexOf(Math.max(...live));
			return {ns: time[at], bytes: live[at]};
		}

		drawPeak(ctx, p) {
			if (!this.side.totals.peak_bytes)
				return;
			const {ns, bytes} = this.peakAt(), x = this.toX(p, ns), y = p.bottom - (p.bottom - p.top) * bytes / this.most;
			ctx.fillStyle = colour(this.tone);
			ctx.beginPath();
			ctx.arc(x, y, 3.5, 0, 7);
			ctx.fill();
			ctx.font = Dom.font(11.5, 600);
			ctx.strokeStyle = colour("card");
			ctx.lineWidth = 3;
			label(ctx, p, x, y - 9, (this.side.totals.peak_ns === null ? "at most " : "peak ") + Units.bytes(this.side.totals.peak_bytes), this.tone);
		}

		drawMarks(ctx, p) {
			let free = -1;
			ctx.font = Dom.font(11.5);
			for (const mark of this.side.marks) {
				const x = Math.round(this.toX(p, mark.time_ns)) + 0.5;
				ctx.setLineDash([2, 3]);
				upright(ctx, x, 14, p.rateBottom, "mark");
				ctx.setLineDash([]);
				const width = ctx.measureText(mark.text).width;
				if (x > free && width < p.width / 3) {
					ctx.textBaseline = "middle";
					label(ctx, p, x - 4, 7, mark.text, "mark");
					free = x + width + 8;
				}
			}
		}

		drawInterval(ctx, p) {
			const interval = this.drag || Intervals.chosen(this.number);
			if (!interval)
				return;
			const from = this.toX(p, interval.since), to = this.toX(p, interval.until);
			ctx.fillStyle = colour("select");
			ctx.fillRect(from, p.top, to - from, p.rateBottom - p.top);
			ctx.fillStyle = colour(this.tone);
			ctx.fillRect(from - 1, p.top, 2, p.rateBottom - p.top);
			ctx.fillRect(to - 1, p.top, 2, p.rateBottom - p.top);
		}

		// The moment that the page was made for, until an interval is chosen instead.
		drawMoment(ctx, p) {
			if (!this.moment || Intervals.chosen(this.number))
				return;
			const {time_ns} = this.moment, x = Math.round(this.toX(p, time_ns === null ? this.side.duration_ns : time_ns)) - 0.5;
			upright(ctx, x, p.top, p.rateBottom, this.tone);
			ctx.font = Dom.font(11.5, 600);
			ctx.textBaseline = "middle";
			label(ctx, p, x, p.bottom - 10, this.tone === "rate" ? "before" : "after", this.tone);
		}

		draw() {
			const {ctx, width, height} = Dom.context(this.canvas), p = this.plot();
			ctx.font = Dom.font(11.5);
			if (!this.side.points.time.length) {
				ctx.fillStyle = colour("dim");
				ctx.fillText("The profile has no timeline: the process was too short-lived.", LEFT, height / 2, width - LEFT);
				return;
			}
			this.drawGrid(ctx, p);
			this.drawTimes(ctx, p);
			this.drawLines(ctx, p);
			this.drawRates(ctx, p);
			this.drawInterval(ctx, p);
			this.drawMarks(ctx, p);
			this.drawPeak(ctx, p);
			this.drawMoment(ctx, p);
			if (this.hover !== null && !this.drag)
				upright(ctx, Math.round(this.toX(p, this.hover)) + 0.5, p.top, p.rateBottom, "dim");
		}
	}

	// What the height of a side's strip must have room for.
	function highest({points, totals}) {
		let most = Math.max(1, totals.peak_bytes);
		for (const values of [points.live, points.rss])
			for (const value of values)
				most = Math.max(most, value);
		return most * 1.08;
	}

	return {Strip, highest};
})();
