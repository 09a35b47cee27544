// SPDX-License-Identifier: BSD-2-Clause
// page.js - puts the parts together: reads the data, and has the parts follow what is chosen.
const Page = (() => {
	"use strict";
	const {byId, make} = Dom;
	let models, model, measures, setWhat, setMemory;

	// What is mapped past the heap, if anything is: an amount and words.
	function mappedFigure() {
		if (!models.mapped)
			return [];
		const {sides} = models.mapped, [before, after] = [sides[0], sides[sides.length - 1]].map(({totals}) => Units.bytes(totals.live_bytes));
		return [[after, "mapped by the program itself, no heap" + (sides.length > 1 ? ", before " + before : "")]];
	}

	const hasNoHeap = () => models.heap.stacks.count === 0;

	// What the figures were, if there is a profile from before.
	function figures({sides}) {
		const side = sides[sides.length - 1], {totals} = side, before = sides.length > 1 ? sides[0].totals : null;
		const was = (key, text) => before ? ", before " + text(before[key]) : "";
		const figure = (value, text) => make("div", {className: "figure"}, make("b", {textContent: value}), make("span", {textContent: text}));
		if (side.moment) {
			byId("figures").replaceChildren(...[["live_bytes", "live"], ["alloc_bytes", "allocated"]].map(([key, words]) =>
				figure(Units.bytes(side.moment[key]), words + ", before " + Units.bytes(sides[0].moment[key]))));
			return;
		}
		if (hasNoHeap()) {
			byId("figures").replaceChildren(figure(Units.bytes(0), "live: no allocation was recorded"),
				...mappedFigure().map(([value, text]) => figure(value, text)),
				figure(Units.duration(side.duration_ns), side.is_running ? "recorded so far" : "recorded"));
			return;
		}
		byId("figures").replaceChildren(
			figure(Units.bytes(totals.live_bytes), "live in " + Units.count(totals.live_blocks) + " blocks" + was("live_bytes", Units.bytes)),
			figure(Units.bytes(totals.peak_bytes), "peak, after " + Units.duration(totals.peak_ns) + was("peak_bytes", Units.bytes)),
			figure(Units.bytes(totals.alloc_bytes), "allocated in " + Units.count(totals.alloc_blocks) + " calls" + was("alloc_bytes", Units.bytes)),
			figure(Units.share(totals.temporary_blocks, totals.alloc_blocks), "of the calls temporary"),
			...mappedFigure().map(([value, text]) => figure(value, text)),
			figure(Units.duration(side.duration_ns), side.is_running ? "recorded so far" : "recorded"));
	}

	function sayWhat() {
		const {key} = State.state, kind = measures.keys[key];
		byId("what-note").textContent = measures.compared ? comparedNote() : measures.timed && !kind.timed ? "The timeline does not have this: it is that of the whole time." :
			key === "growth" && !measures.timed ? growthNote() : hasNoHeap() ? "The heap is empty: no allocation was recorded." : "";
	}

	function comparedNote() {
		const [a, b] = model.sides.map(({label}) => "\u201c" + label + "\u201d");
		return model.sides.some((_, number) => Intervals.chosen(number)) ? "What the interval of " + b + " has more or less than that of " + a + ". Width is change." :
			"What has changed from " + a + " to " + b + ". Width is change: more or less.";
	}

	function growthNote() {
		const side = model.sides[0], {since_ns, until_ns} = side.growth;
		return "From " + Units.duration(since_ns) + " to " + Units.duration(until_ns) + " after the start. Width is change: growing or shrinking.";
	}

	// --- theme -------------------------------------------------------------------------------------

	const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

	function showTheme() {
		const dark = State.state.theme ? State.state.theme === "dark" : prefersDark.matches;
		document.documentElement.classList.toggle("dark", dark);
		byId("theme-button").textContent = dark ? "Light" : "Dark";
		Dom.forgetColours();
	}

	function toggleTheme() {
		State.set({theme: document.documentElement.classList.contains("dark") ? "light" : "dark"});
	}

	function redrawAll() {
		Timeline.redraw();
		Flame.redraw();
		Table.redraw();
		Verdicts.redraw();
	}

	// --- heap, or what the program maps itself -----------------------------------------------------

	const MEMORY = [["heap", "Heap"], ["mapped", "Mappings"]];

	// What is shown unless somebody chooses: of a program without a heap that is not the heap.
	const usual = () => models.mapped && hasNoHeap() ? "mapped" : "heap";
	const wanted = () => models.mapped && (State.state.memory || usual()) === "mapped" ? models.mapped : models.heap;
	const nameOf = kind => kind === usual() ? "" : kind;

	// Another kind has other call stacks, so other rows; functions, and with them zoom and search, are the same.
	function chooseMemory(kind) {
		State.set({memory: nameOf(kind), row: "", sort: "", verdict: ""});
	}

	function offerMemory() {
		byId("memory").hidden = !models.mapped;
		setMemory = models.mapped ? Dom.choice(byId("memory"), MEMORY, chooseMemory) : () => {};
	}

	function offerKeys() {
		setWhat = Dom.choice(byId("what"), Object.entries(Measures.labels(model)).map(([key, {label}]) => [key, label]), key => State.set({key}));
	}

	function useModel(next) {
		model = next;
		for (const part of [Intervals, Timeline, Source, Verdicts, Stacks])
			part.renew(model);
		Flame.use(model);
		Table.use(model);
		measures = null;
		offerKeys();
		for (const id of ["sizes-part", "lifetimes-part"])
			byId(id).hidden = model.kind === "mapped";
	}

	// --- changes -----------------------------------------------------------------------------------

	function update(changed) {
		if (changed.has("theme"))
			showTheme();
		if (Intervals.NAMES.some(name => changed.has(name)))
			changed.add("time");
		if (changed.has("time") || !measures || (measures.compared && changed.has("key"))) {
			measures = Measures.compute(model, Intervals.all(), State.state.key);
			Timeline.show();
			Timeline.say(measures);
		}
		setMemory(model.kind);
		setWhat(State.state.key, Object.keys(measures.keys));
		sayWhat();
		Flame.update(changed, measures);
		Table.update(changed, measures);
		if (changed.has("theme"))
			redrawAll();
	}

	function keys(event) {
		const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName) && document.activeElement.type !== "checkbox";
		if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open)
			return;
		if (typing) {
			if (event.key === "Escape")
				document.activeElement.blur();
			return;
		}
		const what = Object.keys(measures.keys)[event.key - 1];
		const flip = name => State.set({[name]: State.state[name] ? "" : "1", zoom: ""});
		const actions = {"/": () => byId("search").focus(), i: () => flip("invert"), l: () => flip("library"), t: toggleTheme,
			m: () => chooseMemory(model.kind === "mapped" ? "heap" : "mapped"),
			"?": () => byId("keys").showModal(), Escape: escape};
		if (what)
			State.set({key: what});
		else if (actions[event.key])
			actions[event.key]();
		else
			return;
		event.preventDefault();
	}

	function escape() {
		if (State.state.row)
			State.set({row: ""});
		else if (State.state.zoom)
			Flame.zoomOut();
		else
			Intervals.clearAll();
	}

	function everything() {
		return new Set(Object.keys(State.state));
	}

	// What the address does not say, or says wrongly, or what is not known of an interval, becomes what is usual.  True: what is shown did.
	function settle() {
		const {state} = State, {key} = state;
		const known = Measures.keys(model, Intervals.all()), compared = model.sides.length > 1;
		if (!Object.hasOwn(known, state.key))
			state.key = known[model.key] && !compared ? model.key : "live";
		if (!["module", "growth", "name"].includes(state.colour))
			state.colour = compared ? "growth" : "module";
		if (!Groups.kindsOf(model).includes(state.group))
			state.group = "site";
		return state.key !== key;
	}

	// --- a process that goes on --------------------------------------------------------------------

	// How numbers of functions and nodes of a model are called in a newer one: {path, node}.  What is no more is -1, and ends a path.
	function renaming(older, newer) {
		const {functions, tree} = older, key = (f, {full, module}) => full[f] + " " + module[f], known = new Map();
		for (let f = 0; f < newer.functions.count; f++)
			known.set(key(f, newer.functions), f);
		const func = f => f < 0 ? f : known.get(key(f, functions)) ?? -1;
		const path = numbers => {
			const found = numbers.map(func), end = found.findIndex((f, i) => f === -1 && numbers[i] !== -1);
			return end < 0 ? found : found.slice(0, end);
		};
		const node = number => {
			const numbers = [];
			for (let n = number; n > 0; n = tree.parent[n])
				numbers.unshift(func(tree.func[n]));
			return numbers.reduce((above, f) => above < 0 ? -1 : child(newer.tree, above, f), 0);
		};
		return {path, node};
	}

	const child = (tree, above, f) => tree.func.findIndex((of, n) => of === f && tree.parent[n] === above);

	// Takes over what a newer page of the same process has, and keeps what is chosen.  False: not now.
	async function renew(made) {
		const newModels = Model.make(await Data.load(made.getElementById("data"))), isMapped = model.kind === "mapped";
		const newer = isMapped ? newModels.mapped : newModels.heap;
		if (Timeline.busy() || !newer || newer.sides.length !== model.sides.length)
			return false;
		const renamed = renaming(model, newer), zoom = Flame.zoomPath();
		Flame.renew(newer, renamed);
		State.rename({zoom: renamed.path(zoom).map(f => f.toString(36)).join(".")});
		const isOffered = Boolean(models.mapped) === Boolean(newModels.mapped), labels = of => Object.keys(Measures.labels(of)).join();
		const isSame = labels(model) === labels(newer);
		models = newModels;
		model = newer;
		State.rename({memory: nameOf(model.kind)});
		for (const part of [Intervals, Timeline, Source, Verdicts, Stacks])
			part.renew(model);
		Charts.renew(models.heap);
		if (!isOffered)
			offerMemory();
		if (!isSame)
			offerKeys();
		measures = Measures.compute(model, Intervals.all(), State.state.key);
		Table.renew(model, measures);
		document.title = document.querySelector("h1").textContent = made.title;
		for (const id of ["answer", "facts-list"])
			byId(id).replaceChildren(...made.getElementById(id).childNodes);
		figures(models.heap);
		Timeline.show();
		Timeline.say(measures);
		update(new Set(Object.keys(State.state).filter(name => !["theme", "zoom", ...Intervals.NAMES].includes(name))));
		return true;
	}

	async function begin() {
		const started = performance.now();
		State.read();
		showTheme();
		models = Model.make(await Data.load(byId("data")));
		model = models.heap;
		Intervals.begin(model);
		figures(models.heap);
		for (const part of [Timeline, Flame, Source, Verdicts, Stacks, Table, Charts])
			part.begin(model);
		offerMemory();
		offerKeys();
		if (wanted() !== model)
			useModel(wanted());
		settle();
		document.body.classList.add("ready");
		update(everything());
		State.watch(changed => {
			if (wanted() !== model) {
				useModel(wanted());
				changed = everything();
			}
			if (settle())
				changed.add("key");
			update(changed);
		});
		State.follow();
		byId("theme-button").onclick = toggleTheme;
		byId("keys-button").onclick = () => byId("keys").showModal();
		document.addEventListener("keydown", keys);
		prefersDark.addEventListener("change", () => {
			showTheme();
			redrawAll();
		});
		new ResizeObserver(Dom.soon(redrawAll)).observe(byId("flame-box"));
		Flame.draw();
		document.body.dataset.readyMs = Math.round(performance.now() - started);
		Live.begin(renew);
	}

	begin().catch(error => {
		byId("trouble").textContent = "The timeline, the flame graph and the tables cannot be shown: " + error.message;
		byId("trouble").hidden = false;
		throw error;
	});

	return {model: () => model, measures: () => measures};
})();
