// SPDX-License-Identifier: BSD-2-Clause
// flame.js - the flame graph, root on top, drawn on a canvas: zoom, search, colours, keys.
const Flame = (() => {
	"use strict";
	const ROW = 21, PAD = 5, PALETTE = 8;
	const {byId, make, colour} = Dom;
	const COLOURS = [["module", "module"], ["growth", "growth"], ["name", "function"]];
	let model, measures, canvas, orders, layouts = new Map(), open = new Set();
	let tree = null, layout = null, focus = -1, focusPath = null, toZoomed = false, matches = null, moduleTone = new Map();

	// --- trees -------------------------------------------------------------------------------------

	function topDownLayout(library) {
		const key = library ? "all" : "own";
		if (!layouts.has(key))
			layouts.set(key, Trees.topDownLayout(model, library, open));
		return layouts.get(key);
	}

	function makeTree() {
		const {key, invert, library} = State.state, values = measures[key];
		if (invert)
			return new Callers.Tree(orders[library ? 1 : 0], values, changes());
		return Trees.topDown(model, topDownLayout(Boolean(library)), values, changes());
	}

	// For inverted graphs, without and with library frames.
	function makeOrders() {
		const made = orders = model.orders = model.orders || [new Callers.Order(model, true), new Callers.Order(model, false)];
		Callers.prepare(made, () => made === orders);
	}

	const zoomPath = () => State.state.zoom ? State.state.zoom.split(".").map(text => parseInt(text, 36)) : [];

	function setZoom(node) {
		const path = FlameLayout.pathOf(tree, node);
		focus = -1;
		State.set({zoom: path.map(func => func.toString(36)).join(".")});
	}

	// --- words -------------------------------------------------------------------------------------

	function nameOf(node) {
		const func = tree.func(node);
		if (node === 0)
			return "all";
		return func === Trees.RUN ? "\u22ef library frames" : model.functions.name[func];
	}

	const isChange = () => measures.compared || State.state.key === "growth";

	// By call stack: what changed, and the more of what there was before and after.
	function changes() {
		const {before, after, compared, growth, live} = measures;
		if (compared)
			return {change: measures[State.state.key], base: before.map((value, i) => Math.max(Math.abs(value), Math.abs(after[i])))};
		return {change: growth, base: live.map((value, i) => Math.max(value, value - growth[i]))};
	}

	// What is written into a cell.
	function labelOf(cell) {
		if (cell.gap)
			return "\u22ef " + Units.count(cell.gap + 1) + " frames above";
		return nameOf(cell.node) + (cell.isCut ? "  \u22ef more below" : "");
	}

	function amount(node) {
		const {key} = State.state, total = tree.weight(0), weight = tree.weight(node), net = tree.net(node);
		return Measures.text(measures, key, net) + ", " + Units.share(weight, total) + (isChange() ? " of all change" : " of " + measures.keys[key].words);
	}

	function describe(cell) {
		if (cell.node < 0)
			return [Units.count(cell.more) + " more, each too narrow to show", "zoom in to see them"];
		const func = tree.func(cell.node), {functions} = model;
		if (cell.node === 0)
			return ["all call stacks", amount(0)];
		if (func === Trees.RUN)
			return ["Library and runtime frames", amount(cell.node), "click shows them"];
		const lines = [functions.full[func], amount(cell.node)];
		if (cell.gap)
			lines.push("and " + Units.count(cell.gap) + " more above it");
		if (cell.isCut)
			lines.push("click shows what is below");
		if (!isChange() && measures.growth && tree.change(cell.node))
			lines.push(Units.signed(tree.change(cell.node), Units.bytes) + " growth");
		const where = [functions.file[func], functions.module[func]].filter(Boolean).join("  \u00b7  ");
		return where ? [...lines, where] : lines;
	}

	// --- colours -----------------------------------------------------------------------------------

	// The modules with the most get colours of their own, by what they hold; the same ones in every view, and as time goes on.
	function chooseTones() {
		const weights = new Map(), {site, live_bytes, alloc_bytes} = model.stacks, {functions} = model;
		for (let i = 0; i < site.length; i++) {
			const module = functions.module[functions.of[site[i]]];
			weights.set(module, (weights.get(module) || 0) + live_bytes[i] + alloc_bytes[i] / 1024);
		}
		for (const module of functions.module)
			if (!weights.has(module))
				weights.set(module, 0);
		weights.delete("");
		const sorted = [...weights].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).filter(([module]) => !moduleTone.has(module));
		for (const [module] of sorted.slice(0, PALETTE - moduleTone.size))
			moduleTone.set(module, "m" + moduleTone.size);
	}

	function nameTone(text) {
		let hash = 7;
		for (let i = 0; i < text.length; i++)
			hash = Math.imul(hash, 31) + text.charCodeAt(i) | 0;
		return "m" + (hash >>> 0) % PALETTE;
	}

	// By how much of what it has a frame has grown or shrunk in the time.
	function growthTone(node) {
		const change = tree.change(node), base = tree.base(node);
		const part = base ? change / base : 0;
		if (Math.abs(part) < 0.01)
			return "same";
		return (part > 0 ? "up" : "down") + (Math.abs(part) > 0.5 ? 3 : Math.abs(part) > 0.15 ? 2 : 1);
	}

	function tone(node) {
		const func = tree.func(node), by = State.state.colour;
		if (node === 0 || func === Trees.RUN)
			return "other";
		if (by === "growth")
			return growthTone(node);
		return by === "name" ? nameTone(model.functions.name[func]) : moduleTone.get(model.functions.module[func]) || "other";
	}

	function legend() {
		const item = (name, text) => {
			const mark = make("i", {});
			mark.style.background = "var(--" + name + ")";
			return make("span", {}, mark, text);
		};
		let items = [];
		if (State.state.colour === "module")
			items = [...moduleTone].map(([module, name]) => item(name, module)).concat(item("other", "others"));
		else if (State.state.colour === "growth")
			items = [["down3", "shrank by most of it"], ["down1", "a little"], ["same", "unchanged"], ["up1", "grew a little"], ["up3", "by most of it"]]
				.map(([name, text]) => item(name, text));
		byId("flame-legend").replaceChildren(...items);
	}

	// --- search ------------------------------------------------------------------------------------

	// Functions whose full name or file has the text; null: no search.
	function findMatches() {
		const text = State.state.search.toLowerCase(), {functions} = model;
		if (!text)
			return null;
		const found = new Uint8Array(functions.count);
		for (let f = 0; f < functions.count; f++)
			if (functions.full[f].toLowerCase().includes(text))
				found[f] = 1;
		return found;
	}

	// What the call stacks with a matching function have, each counted once.
	function sayFound() {
		if (!matches) {
			byId("found").textContent = "";
			return;
		}
		const {parent, func, count} = model.tree, under = new Uint8Array(count), values = measures[State.state.key], node = model.stacks.node;
		let functions = 0, some = 0, all = 0;
		for (const match of matches)
			functions += match;
		for (let n = 1; n < count; n++)
			under[n] = under[parent[n]] | matches[func[n]];
		for (let i = 0; i < values.length; i++) {
			all += Math.abs(values[i]);
			if (under[node[i]])
				some += Math.abs(values[i]);
		}
		byId("found").textContent = functions ? Units.count(functions) + " function" + (functions === 1 ? "" : "s") + ", " + Units.share(some, all) +
			" of " + measures.keys[State.state.key].words : "no function";
	}

	const isMatch = node => matches && node > 0 && tree.func(node) >= 0 && matches[tree.func(node)];

	// --- drawing -----------------------------------------------------------------------------------

	const letters = new Map();

	function widthOf(ctx, text) {
		let width = letters.get(text);
		if (width === undefined) {
			if (letters.size > 20000)
				letters.clear();
			letters.set(text, width = ctx.measureText(text).width);
		}
		return width;
	}

	// What fits of a text: its middle goes, for names are told apart by their ends.
	function fit(ctx, text, room) {
		const width = widthOf(ctx, text);
		if (width <= room)
			return text;
		for (let keep = Math.floor(text.length * room / width); keep > 3; keep--) {
			const tail = Math.ceil((keep - 1) * 0.6), cut = text.slice(0, keep - 1 - tail) + "\u2026" + text.slice(text.length - tail);
			if (widthOf(ctx, cut) <= room)
				return cut;
		}
		return "";
	}

	function drawText(ctx, cell, y) {
		const room = cell.width - 2 * PAD;
		if (room < 14)
			return;
		const text = fit(ctx, labelOf(cell), room);
		ctx.fillText(text, cell.x + PAD, y + ROW / 2 + 0.5);
		const used = widthOf(ctx, text) + 14;
		const side = Measures.text(measures, State.state.key, tree.net(cell.node));
		if (room - used > 90 && text) {
			ctx.globalAlpha = 0.75;
			ctx.textAlign = "right";
			ctx.fillText(side, cell.x + cell.width - PAD, y + ROW / 2 + 0.5);
			ctx.textAlign = "left";
			ctx.globalAlpha = 1;
		}
	}

	function drawCell(ctx, cell) {
		const y = cell.row * ROW, isUp = cell.row < layout.zoomRow;
		const width = Math.max(cell.width - (cell.width > 3 ? 1 : 0), 0.5);
		ctx.globalAlpha = isUp || (matches && !isMatch(cell.node)) ? 0.45 : 1;
		ctx.fillStyle = colour(cell.node < 0 ? "more" : tone(cell.node));
		ctx.fillRect(cell.x, y, width, ROW - 1);
		ctx.globalAlpha = 1;
		if (isMatch(cell.node)) {
			ctx.fillStyle = colour("hit");
			ctx.fillRect(cell.x, y + ROW - 4, width, 3);
		}
		if (cell.node < 0)
			return;
		ctx.fillStyle = colour("on-fill");
		drawText(ctx, cell, y);
	}

	function drawFocus(ctx) {
		const cell = layout.cells.find(c => c.node === focus);
		if (!cell || document.activeElement !== canvas)
			return;
		ctx.strokeStyle = colour("focus");
		ctx.lineWidth = 2;
		ctx.strokeRect(cell.x + 1, cell.row * ROW + 1, Math.max(1, cell.width - 2), ROW - 3);
		ctx.lineWidth = 1;
	}

	function draw() {
		const width = canvas.clientWidth || 800, {node, path} = FlameLayout.resolve(tree, zoomPath());
		layout = FlameLayout.lay(tree, node, width);
		const {ctx} = Dom.context(canvas, Math.max(2, layout.rows.length) * ROW);
		ctx.font = Dom.font(12.5);
		ctx.textBaseline = "middle";
		ctx.textAlign = "left";
		if (!tree.weight(0)) {
			ctx.fillStyle = colour("dim");
			ctx.fillText("Nothing to show: " + measures.keys[State.state.key].words + " is 0 here.", PAD, ROW / 2 + 2);
		} else {
			for (const cell of layout.cells)
				drawCell(ctx, cell);
			drawFocus(ctx);
		}
		if (toZoomed)
			byId("flame-box").scrollTop = Math.max(0, layout.zoomRow - 3) * ROW;
		toZoomed = false;
		trail(node);
		byId("zoom-out").disabled = path.length === 0;
	}

	const redraw = Dom.soon(() => draw());

	function trail(node) {
		const up = [];
		for (let n = node; n > 0; n = tree.parent(n))
			if (tree.func(n) >= 0)
				up.unshift(n);
		const shown = up.length > 8 ? up.slice(-8) : up;
		byId("trail").replaceChildren(...(up.length ? [0, ...shown] : []).map(n =>
			make("button", {type: "button", textContent: n ? nameOf(n) : up.length > 8 ? "all \u2026" : "all", onclick: () => setZoom(n)})));
	}

	// --- pointer and keys --------------------------------------------------------------------------

	const cellAt = event => layout && FlameLayout.find(layout, event.offsetX, Math.floor(event.offsetY / ROW));

	function openRun(node) {
		const made = topDownLayout(false).shape;
		for (const parent of Trees.above(model, made, node))
			open.add(parent);
		layouts.delete("own");
		tree = makeTree();
		redraw();
	}

	function enter(node) {
		if (node < 0)
			return;
		if (tree.func(node) === Trees.RUN && node > 0)
			openRun(node);
		else
			setZoom(node);
	}

	function zoomOut() {
		const path = zoomPath();
		State.set({zoom: path.slice(0, -1).map(func => func.toString(36)).join(".")});
	}

	function move(event) {
		const cell = cellAt(event);
		if (cell)
			Dom.showTip(event.clientX, event.clientY, describe(cell));
		else
			Dom.hideTip();
	}

	// The frame beside, above or below the one in focus.
	function neighbour(cell, key) {
		const row = layout.rows[cell.row].filter(c => c.node >= 0), at = row.indexOf(cell);
		if (key === "ArrowLeft" || key === "ArrowRight")
			return row[at + (key === "ArrowLeft" ? -1 : 1)];
		const next = (layout.rows[cell.row + (key === "ArrowUp" ? -1 : 1)] || []).filter(c => c.node >= 0);
		if (key === "ArrowUp")
			return next.find(c => cell.x >= c.x - 0.01 && cell.x < c.x + c.width);
		return next.find(c => c.x >= cell.x - 0.01 && c.x < cell.x + cell.width);
	}

	function setFocus(cell) {
		focus = cell.node;
		byId("flame-said").textContent = describe(cell).join(", ");
		const box = byId("flame-box"), y = cell.row * ROW;
		if (y < box.scrollTop || y + ROW > box.scrollTop + box.clientHeight)
			box.scrollTop = y - box.clientHeight / 2;
		redraw();
	}

	function key(event) {
		const cell = layout.cells.find(c => c.node === focus) || layout.cells[layout.zoomRow];
		if (/^Arrow/.test(event.key)) {
			const next = focus < 0 ? cell : neighbour(cell, event.key);
			if (next)
				setFocus(next);
		} else if (event.key === "Enter" || event.key === " ") {
			enter(cell.node);
		} else if ((event.key === "Escape" || event.key === "Backspace") && State.state.zoom) {
			zoomOut();
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	}

	// --- outside -----------------------------------------------------------------------------------

	function update(changed, newMeasures) {
		const has = name => changed.has(name);
		measures = newMeasures;
		if (has("search") || !tree)
			matches = findMatches();
		if (has("key") || has("time") || has("invert") || has("library") || !tree) {
			tree = makeTree();
			focus = focusPath ? FlameLayout.resolve(tree, focusPath).node : -1;
			focusPath = null;
		}
		toZoomed = toZoomed || has("zoom");
		byId("colour").options[1].textContent = measures.compared ? "change" : "growth";
		byId("colour").value = State.state.colour;
		byId("invert").checked = Boolean(State.state.invert);
		byId("library").checked = Boolean(State.state.library);
		if (document.activeElement !== byId("search"))
			byId("search").value = State.state.search;
		byId("flame-title").textContent = State.state.invert ? "Callers" : "Flame graph";
		sayFound();
		legend();
		redraw();
	}

	// The same process, some time later: what is open and in focus stays so.
	function renew(of, renamed) {
		focusPath = focus >= 0 ? renamed.path(FlameLayout.pathOf(tree, focus)) : null;
		open = new Set([...open].map(renamed.node).filter(node => node >= 0));
		model = of;
		makeOrders();
		chooseTones();
		layouts.clear();
		tree = null;
	}

	// Another kind of memory, on the same tree.
	function use(of) {
		model = of;
		makeOrders();
		chooseTones();
		tree = null;
	}

	function begin(of) {
		model = of;
		canvas = byId("flame");
		makeOrders();
		chooseTones();
		byId("colour").replaceChildren(...COLOURS.map(([value, text]) => make("option", {value, textContent: text})));
		byId("colour").onchange = event => State.set({colour: event.target.value});
		byId("invert").onchange = event => State.set({invert: event.target.checked ? "1" : "", zoom: ""});
		byId("library").onchange = event => State.set({library: event.target.checked ? "1" : "", zoom: ""});
		byId("search").oninput = event => State.set({search: event.target.value});
		byId("zoom-out").onclick = () => State.set({zoom: ""});
		canvas.addEventListener("click", event => {
			const cell = cellAt(event);
			if (cell)
				enter(cell.node >= 0 ? cell.node : cell.parent);
		});
		canvas.addEventListener("pointermove", move);
		canvas.addEventListener("pointerleave", Dom.hideTip);
		canvas.addEventListener("keydown", key);
		canvas.addEventListener("focus", redraw);
		canvas.addEventListener("blur", redraw);
	}

	// For tests: where a function's widest frame is, in CSS pixels of the canvas.
	function where(name) {
		const cell = layout.cells.filter(c => c.node >= 0 && nameOf(c.node) === name).sort((a, b) => b.width - a.width)[0];
		return cell ? {x: cell.x + cell.width / 2, y: cell.row * ROW + ROW / 2, width: cell.width, row: cell.row, tone: tone(cell.node)} : null;
	}

	// For tests: what the cells say, from the top row down.
	const labels = () => layout.cells.filter(c => c.node >= 0).map(labelOf);

	return {begin, renew, use, update, redraw, draw, zoomPath, where, labels, zoomOut, cells: () => layout.cells.length};
})();
