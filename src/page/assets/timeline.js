// SPDX-License-Identifier: BSD-2-Clause
// timeline.js - the strips of all sides over time, and the interval of each in words and fields.
const Timeline = (() => {
	"use strict";
	const {byId, make, setAttributes} = Dom;
	let model, strips = [];

	const isBefore = number => number < model.sides.length - 1;
	const suffix = number => isBefore(number) ? "-before" : "";
	const element = (name, number) => byId(name + suffix(number));

	const exact = ns => ns < 1e10 ? +(ns / 1e9).toFixed(3) + "\u00a0s" : Units.duration(ns);

	// --- fields ------------------------------------------------------------------------------------

	function typed(number) {
		const side = model.sides[number], from = element("from", number), to = element("to", number);
		const since = from.value.trim() === "" ? 0 : Units.parse(from.value, side);
		const until = to.value.trim() === "" ? Intervals.usual(number).until : Units.parse(to.value, side);
		from.setAttribute("aria-invalid", Number.isNaN(since));
		to.setAttribute("aria-invalid", Number.isNaN(until));
		if (!Number.isNaN(since) && !Number.isNaN(until))
			Intervals.choose(number, since, until);
		show();
	}

	function showFields(number) {
		const interval = Intervals.chosen(number), usual = Intervals.usual(number);
		element("from", number).value = interval ? exact(interval.since) : "";
		element("to", number).value = interval ? exact(interval.until) : "";
		element("from", number).placeholder = "0 s";
		element("to", number).placeholder = Units.duration(usual.until);
		element("interval-clear", number).disabled = !interval;
	}

	function show() {
		model.sides.forEach((_, number) => showFields(number));
		byId("link").checked = Intervals.isLinked();
		redraw();
	}

	function fields(number) {
		const of = model.sides.length > 1 ? " of " + model.sides[number].label : "", onchange = () => typed(number);
		const field = (name, text) => make("label", {}, text + " ", setAttributes(make("input", {id: name + suffix(number), size: 9, autocomplete: "off",
			spellcheck: false, onchange}), {"aria-describedby": "interval-help", ...(of ? {"aria-label": text + of} : {})}));
		const button = make("button", {type: "button", id: "interval-clear" + suffix(number),
			textContent: model.moments ? "As asked for" : "Whole time", onclick: () => Intervals.clear(number)});
		if (of)
			button.setAttribute("aria-label", button.textContent + of);
		return make("span", {className: "interval"}, field("from", "from"), field("to", "to"), button);
	}

	// --- words -------------------------------------------------------------------------------------

	const change = bytes => bytes ? Units.signed(bytes, Units.bytes) : "0\u00a0B";

	function unseenWords(unseen, bytes) {
		return unseen ? " Not on the timeline: " + Units.count(unseen) + " small call stack" + (unseen === 1 ? "" : "s") + ", with " +
			Units.bytes(bytes) + " at the end; their changes are not in it." : "";
	}

	// In one sentence what the interval is, as the terminal does.
	function ofOne(interval, {totals, unseen, unseenBytes}) {
		const [side] = model.sides;
		return "From " + Units.clock(side, interval.since) + " to " + Units.clock(side, interval.until) + " (" + Units.duration(interval.until - interval.since) +
			") the " + Model.words(side).live + " bytes changed by " + change(totals.growth) + "." + unseenWords(unseen, unseenBytes);
	}

	function ofTwo(intervals, {sides}) {
		const said = sides.map(({live, growth, alloc}, s) => {
			const side = model.sides[s], {since, until} = intervals[s], words = Model.words(side);
			return "\u201c" + side.label + "\u201d from " + exact(since) + " to " + exact(until) + " after its start (" + Units.duration(until - since) + "): " +
				Units.bytes(live) + " " + words.live + " at its end, " + change(growth) + ", " + Units.bytes(alloc) + " " + words.alloc + ".";
		});
		const [a, b] = intervals.map(({since, until}) => until - since), unseen = sides.reduce((sum, side) => sum + side.unseen, 0);
		if (Math.abs(a - b) > 0.02 * Math.max(a, b))
			said.push("The two are not of one length.");
		return said.join(" ") + unseenWords(unseen, sides.reduce((sum, side) => sum + side.unseenBytes, 0));
	}

	function say(measures) {
		const intervals = Intervals.all(), isChosen = model.sides.some((_, number) => Intervals.chosen(number));
		byId("interval-note").textContent = !isChosen ? "" : model.sides.length > 1 ? ofTwo(intervals, measures) : ofOne(intervals[0], measures);
	}

	function legend() {
		const item = (tone, text, thin) => {
			const mark = make("i", {className: thin ? "thin" : ""});
			mark.style.background = "var(--" + tone + ")";
			return make("span", {}, mark, text);
		};
		const some = test => model.sides.some(test), {live} = Model.words(model.sides[0]);
		const items = model.sides.map((side, number) => item(isBefore(number) ? "rate" : "live", side.label ? live + ", " + side.label : live, true));
		if (some(side => side.points.rss.some(v => v)))
			items.push(item("rss", "resident (RSS)", true));
		if (strips.some(({rates}) => rates.length))
			items.push(item("rate-fill", "allocation rate"));
		if (some(side => side.marks.length))
			items.push(item("mark", "marks", true));
		byId("time-legend").replaceChildren(...items);
	}

	// --- outside -----------------------------------------------------------------------------------

	const redraw = () => strips.forEach(strip => strip.redraw());

	// The same process, some time later; or another kind of memory.
	function renew(of) {
		model = of;
		const span = Math.max(...model.sides.map(side => side.duration_ns)), most = Math.max(...model.sides.map(Strip.highest));
		strips.forEach((strip, number) => {
			const side = model.sides[number], {live} = Model.words(side);
			strip.renew(side, {span, most, isBefore: isBefore(number), known: model.moments});
			strip.canvas.setAttribute("aria-label", "Timeline" + (side.label ? " of " + side.label : "") + ": " + live + " bytes over " +
				Units.duration(side.duration_ns) + ", peak " + Units.bytes(side.totals.peak_bytes) +
				(side.totals.peak_ns === null ? "" : " after " + Units.duration(side.totals.peak_ns)));
		});
		legend();
	}

	function makeStrip(number) {
		const canvas = setAttributes(make("canvas", {id: "timeline" + suffix(number), tabIndex: 0, className: "time"}),
			{role: "application", "aria-describedby": "interval-help"});
		strips.push(new Strip.Strip(canvas, number, redraw));
		Brush.attach(strips[number]);
		if (model.sides.length === 1) {
			byId("interval").replaceWith(fields(number));
			return [canvas];
		}
		return [make("div", {className: "bar"}, make("b", {textContent: model.sides[number].label}), make("span", {className: "gap"}), fields(number)), canvas];
	}

	function begin(of) {
		model = of;
		byId("strips").replaceChildren(...model.sides.flatMap((_, number) => makeStrip(number)));
		byId("strips").classList.toggle("two", model.sides.length > 1);
		byId("link-label").hidden = !Intervals.canLink();
		byId("link").onchange = event => Intervals.link(event.target.checked);
		if (model.sides.length > 1)
			byId("interval-help").textContent = "Drag to select an interval" + (Intervals.canLink() ? "" : " of each") + ": everything below is then what the second has " +
				"more or less than the first. Arrow keys move it, with Shift they change its end; Esc takes it away.";
		renew(model);
		show();
	}

	// True while somebody chooses an interval: nothing may change under the hand.
	const busy = () => strips.some(({drag}) => drag !== null) || /^(from|to)(-before)?$/.test(document.activeElement.id);

	return {begin, renew, busy, show, say, redraw};
})();
