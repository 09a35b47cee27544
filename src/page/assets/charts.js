// SPDX-License-Identifier: BSD-2-Clause
// charts.js - sizes and lifetimes of blocks, and what the resident set consists of: a sentence and bars each.
const Charts = (() => {
	"use strict";
	const SIZE_SHIFT = 3, LIFETIME_SHIFT = 10; /* src/core/format.h */
	const {byId, make} = Dom;

	function bound(i, last, shift, text) {
		return (i === last ? "over " : "up to ") + text(2 ** (shift + i - (i === last ? 1 : 0)));
	}

	const total = counts => counts.reduce((a, b) => a + b, 0);

	// The class in which the given share of all is reached.
	function quantile(counts, part) {
		let sum = 0;
		const all = total(counts);
		return counts.findIndex(count => (sum += count) >= all * part);
	}

	function bars(box, {counts, sites}, shift, text) {
		const most = Math.max(...counts), all = total(counts), last = counts.length - 1, cells = [];
		const first = counts.findIndex(count => count), end = last - [...counts].reverse().findIndex(count => count);
		for (let i = first; first >= 0 && i <= end; i++) {
			const amount = make("div", {className: "amount", title: sites[i] ? "most: " + sites[i] : ""});
			amount.style.width = 100 * counts[i] / most + "%";
			amount.style.visibility = counts[i] ? "" : "hidden";
			cells.push(make("span", {className: "bound", textContent: bound(i, last, shift, text)}),
				make("span", {className: "number", textContent: Units.count(counts[i])}),
				make("span", {className: "number", textContent: Units.share(counts[i], all)}), amount);
		}
		box.className = "bars";
		box.replaceChildren(...cells);
	}

	function most(histogram, i) {
		return histogram.sites[i] ? " Most of those of that class: " + histogram.sites[i] + "." : "";
	}

	function sizes(side) {
		const {counts} = side.sizes, all = counts ? total(counts) : 0;
		if (!all) {
			byId("sizes-said").textContent = "No block was allocated.";
			return;
		}
		const half = quantile(counts, 0.5), largest = counts.indexOf(Math.max(...counts)), last = counts.length - 1;
		byId("sizes-said").textContent = Units.count(all) + " block" + (all === 1 ? "" : "s") + ", mean " +
			Units.bytes(side.totals.alloc_bytes / side.totals.alloc_blocks) + "; half of them " + bound(half, last, SIZE_SHIFT, Units.bytes) + "." +
			(half === largest ? most(side.sizes, largest) : "");
		bars(byId("sizes"), side.sizes, SIZE_SHIFT, Units.bytes);
	}

	function lifetimes(side) {
		const {counts} = side.lifetimes, all = counts ? total(counts) : 0;
		if (!all) {
			byId("lifetimes-said").textContent = "No lifetimes: no block of the sample was freed.";
			return;
		}
		const half = quantile(counts, 0.5);
		byId("lifetimes-said").textContent = "Half of the freed blocks lived " + bound(half, counts.length - 1, LIFETIME_SHIFT, Units.duration) +
			"; a sample of one block in " + Units.count(side.lifetime_sample) + ", " + Units.count(all) + " in all. Blocks that are live are not in it.";
		bars(byId("lifetimes"), side.lifetimes, LIFETIME_SHIFT, Units.duration);
	}

	// Each part begins where the one before ends: together they are the whole.
	function waterfall(side) {
		const {rss} = side, cells = [];
		byId("rss-part").hidden = !rss;
		if (!rss)
			return;
		byId("rss-said").textContent = rss.words;
		const row = (what, bytes, from, tone, className = "") => {
			const amount = make("div", {className: "amount"});
			amount.style.left = 100 * Math.max(0, from) / rss.total + "%";
			amount.style.width = Math.min(100, 100 * Math.abs(bytes) / rss.total) + "%";
			amount.style.background = "var(--" + tone + ")";
			cells.push(make("span", {className: className || "bound", textContent: what}), make("span", {className: "number " + className, textContent: Units.bytes(bytes)}),
				make("span", {className: "number", textContent: Units.share(bytes, rss.total)}), make("div", {className: "track"}, amount));
		};
		let from = 0;
		rss.lines.forEach(({what, bytes}, i) => {
			row(what, bytes, bytes < 0 ? from + bytes : from, "m" + i % 8);
			from += bytes;
		});
		row("resident set (RSS)", rss.total, 0, "other", "sum");
		byId("rss").className = "bars";
		byId("rss").replaceChildren(...cells);
	}

	function begin(model) {
		if (model.sides.length > 1)
			for (const part of ["sizes", "lifetimes", "rss"])
				byId(part + "-title").append(model.moments ? " in the whole time" : ", " + model.sides[1].label);
		renew(model);
	}

	function renew(model) {
		const side = model.sides[model.sides.length - 1];
		sizes(side);
		lifetimes(side);
		waterfall(side);
	}

	return {begin, renew};
})();
