// SPDX-License-Identifier: BSD-2-Clause
// table.js - the table: sorted, filtered, and only as many rows in the document as can be seen.
const Table = (() => {
	"use strict";
	const ROW = 28, SPARE = 4;
	const {byId, make, setAttributes} = Dom;
	const COLUMNS = {
		live: {label: "live", text: Units.bytes}, blocks: {label: "blocks", text: Units.count},
		growth: {label: "growth", text: v => Units.signed(v, Units.bytes), signed: true}, peak: {label: "peak", text: Units.bytes},
		alloc: {label: "allocated", text: Units.bytes}, calls: {label: "calls", text: Units.count},
		temporary: {label: "temporary", text: Units.count}, self: {label: "itself"},
		freed: {label: "freed", text: Units.bytes}, net: {label: "net", text: v => Units.signed(v, Units.bytes), signed: true},
		resident: {label: "resident", text: Units.bytes},
		before: {label: "before"}, after: {label: "after"},
		verdict: {label: "verdict"}, rate: {label: "rate"}, since: {label: "since"},
		name: {label: "name"}, where: {label: "where"}
	};
	let model, measures, maker, table = null, rows = [], head, body, sizer, selected = -1, setGroup;

	const VERDICT = ["verdict", "rate", "since"];

	const WHOLE = ["live", "blocks", "growth", "peak", "alloc", "calls", "temporary"];
	const MAPPED = ["live", "growth", "resident", "peak", "alloc", "calls"];
	const MAPPED_LABELS = {live: "mapped", alloc: "in all", peak: "at most"};

	// The figures of the whole time that are known.
	const whole = () => (model.kind === "mapped" ? MAPPED : WHOLE).filter(column => measures[column]);

	function columnsOf(kind) {
		const {key} = State.state, verdict = Verdicts.any(kind);
		if (kind === "thread")
			return ["alloc", "calls", "freed", "net", "temporary", "name", "where"];
		if (measures.compared) {
			const others = (measures.timed ? Object.keys(measures.keys) : whole().filter(column => column !== "blocks")).filter(column => column !== key);
			return [key, "before", "after", ...others, ...(verdict ? ["verdict"] : []), "name", "where"];
		}
		return [...(measures.timed ? ["live", "growth", "alloc"] : whole()), ...(kind === "function" ? ["self"] : []), ...(verdict ? VERDICT : []),
			"name", "where"];
	}

	function textOf(column, row) {
		const {group} = State.state;
		const value = row[column], {key} = State.state;
		if (VERDICT.includes(column))
			return Verdicts.words[column](row);
		if (column === "self")
			return Measures.text(measures, key, value);
		if (column === "before" || column === "after")
			return Measures.textOfSide(key, value);
		if (measures.compared && group !== "thread" && COLUMNS[column].text)
			return Units.signed(value, COLUMNS[column].text);
		return COLUMNS[column].text ? COLUMNS[column].text(value) : value;
	}

	const isSigned = column => measures.compared && State.state.group !== "thread" && !["before", "after", ...VERDICT].includes(column);
	const isText = column => column === "name" || column === "where";
	const isNumber = column => !isText(column) && column !== "verdict";

	function sortColumn() {
		const {sort, key, group} = State.state, [column] = sort.split("-"), known = columnsOf(group);
		if (known.includes(column))
			return column;
		return known.includes(key) ? key : known.includes("live") ? "live" : "alloc";
	}

	function sortRows() {
		const column = sortColumn(), back = State.state.sort.endsWith("-up") ? -1 : 1;
		const size = isSigned(column) && !State.state.sort ? Math.abs : value => value;
		const by = isText(column) ? (a, b) => a[column] < b[column] ? -1 : a[column] > b[column] ? 1 : 0 : (a, b) => size(b[column]) - size(a[column]);
		const rate = column === "verdict" ? (a, b) => b.rate - a.rate : () => 0;
		rows.sort((a, b) => back * (by(a, b) || rate(a, b)) || b.alloc - a.alloc || a.group - b.group);
	}

	function filterRows() {
		const text = State.state.filter.toLowerCase(), wanted = Verdicts.any(State.state.group) ? State.state.verdict : "";
		rows = table.rows.filter(row => (!text || (row.full + " " + row.name + " " + row.where).toLowerCase().includes(text)) &&
			(!wanted || Verdicts.CLASSES[row.verdict] === wanted));
		const noun = Groups.KINDS.find(([kind]) => kind === State.state.group)[1].toLowerCase();
		byId("table-count").textContent = text || wanted ? Units.count(rows.length) + " of " + Units.count(table.rows.length) + " " + noun :
			Units.count(rows.length) + " " + (rows.length === 1 ? noun.slice(0, -1) : noun);
	}

	// --- head --------------------------------------------------------------------------------------

	function template(columns) {
		const isFull = columns.length > 9, number = isFull ? "minmax(5.2em, 7.2em)" : "minmax(5.6em, 7.2em)";
		const width = {name: isFull ? "minmax(10em, 3fr)" : "minmax(12em, 3fr)", where: isFull ? "minmax(7em, 1.6fr)" : "minmax(8em, 1.6fr)",
			verdict: measures.compared ? "minmax(9em, 11em)" : "minmax(5.2em, 6em)", since: "4.8em", rate: "minmax(7.6em, 8.4em)"};
		return columns.map(column => width[column] || number).join(" ");
	}

	function toggleSort(column) {
		const now = sortColumn() === column && !State.state.sort.endsWith("-up");
		State.set({sort: column + (now ? "-up" : "")});
	}

	function drawHead(columns) {
		const sorted = sortColumn(), up = State.state.sort.endsWith("-up");
		const named = column => model.kind === "mapped" && MAPPED_LABELS[column] || COLUMNS[column].label;
		const label = column => column === "self" ? measures.keys[State.state.key].label.toLowerCase() + " itself" : named(column);
		head.style.gridTemplateColumns = template(columns);
		head.replaceChildren(...columns.map(column => {
			const arrow = column === sorted ? up !== isText(column) ? " \u25b4" : " \u25be" : "";
			const cell = setAttributes(make("span", {className: isNumber(column) ? "number" : ""},
				make("button", {type: "button", textContent: label(column) + arrow, onclick: () => toggleSort(column)})), {role: "columnheader"});
			if (column === sorted)
				cell.setAttribute("aria-sort", up !== isText(column) ? "ascending" : "descending");
			return cell;
		}));
	}

	// --- rows --------------------------------------------------------------------------------------

	// The end of a name tells it apart: what is cut is before it.
	function nameCell(name) {
		const tail = name.length > 24 ? name.slice(-16) : "";
		return make("span", {className: "name", title: name}, make("span", {className: "start", textContent: tail ? name.slice(0, -16) : name}),
			tail ? make("span", {className: "end", textContent: tail}) : null);
	}

	// The sum of all changes, whatever their signs; kept until the measures change.
	const sizes = new WeakMap();
	function size(values) {
		if (!sizes.has(values))
			sizes.set(values, values.reduce((sum, value) => sum + Math.abs(value), 0));
		return sizes.get(values);
	}

	function cell(column, row) {
		if (column === "name")
			return setAttributes(nameCell(row.name), {role: "gridcell"});
		if (column === "verdict")
			return setAttributes(make("span", {className: "verdict " + Verdicts.CLASSES[row.verdict], textContent: textOf(column, row)}), {role: "gridcell"});
		const value = row[column], number = !isText(column), tone = value && (COLUMNS[column].signed || isSigned(column)) ? value > 0 ? " up" : " down" : "";
		const key = column === State.state.key ? " key" : "";
		const element = setAttributes(make("span", {className: (number ? "number" + (value ? tone + key : " zero") : "where"), textContent: textOf(column, row),
			title: number ? "" : String(value)}), {role: "gridcell"});
		const total = !key ? 0 : measures.compared ? size(measures[column]) : Math.abs(measures.totals[column] || 0);
		if (key && value && total && State.state.group !== "thread") {
			const part = Math.min(100, 100 * Math.abs(value) / total);
			element.style.background = `linear-gradient(to left, var(--bar) ${part}%, transparent ${part}%) right / 100% 20px no-repeat`;
		}
		return element;
	}

	function drawRow(row, index, columns) {
		const element = setAttributes(make("div", {className: "row", onclick: () => choose(index)}, ...columns.map(column => cell(column, row))),
			{role: "row", "aria-rowindex": index + 2, "aria-selected": row.group === selected});
		element.style.top = index * ROW + "px";
		element.style.gridTemplateColumns = template(columns);
		return element;
	}

	function drawRows() {
		const columns = columnsOf(State.state.group), top = body.scrollTop, first = Math.max(0, Math.floor(top / ROW) - SPARE);
		const end = Math.min(rows.length, Math.ceil((top + body.clientHeight) / ROW) + SPARE), shown = [];
		for (let i = first; i < end; i++)
			shown.push(drawRow(rows[i], i, columns));
		sizer.style.height = rows.length * ROW + "px";
		sizer.replaceChildren(...shown);
	}

	const redraw = Dom.soon(() => drawRows());

	function draw() {
		const columns = columnsOf(State.state.group);
		filterRows();
		sortRows();
		drawHead(columns);
		body.parentElement.setAttribute("aria-rowcount", rows.length + 1);
		body.style.height = Math.max(2, Math.min(14, rows.length)) * ROW + "px";
		drawRows();
	}

	// --- choosing ----------------------------------------------------------------------------------

	function choose(index) {
		const row = rows[index];
		if (!row)
			return;
		selected = row.group === selected ? -1 : row.group;
		State.set({row: selected < 0 ? "" : String(selected)});
		redraw();
	}

	function key(event) {
		const step = {ArrowDown: 1, ArrowUp: -1, PageDown: 13, PageUp: -13, Home: -1e9, End: 1e9}[event.key];
		const now = rows.findIndex(row => row.group === selected);
		if (step) {
			const index = Math.max(0, Math.min(rows.length - 1, (now < 0 && step > 0 ? -1 : now) + step));
			if (index * ROW < body.scrollTop || (index + 1) * ROW > body.scrollTop + body.clientHeight)
				body.scrollTop = (index - 6) * ROW;
			if (index !== now)
				choose(index);
		} else if (event.key === "Escape" && selected >= 0) {
			choose(now);
		} else if (event.key === "Enter" && selected >= 0) {
			byId("detail").focus();
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	}

	// --- outside -----------------------------------------------------------------------------------

	function update(changed, newMeasures) {
		const has = name => changed.has(name), {group, row} = State.state;
		measures = newMeasures;
		if (has("group") && table)
			body.scrollTop = 0;
		if (!table || has("group") || has("time") || (has("key") && (group === "function" || measures.compared)))
			table = maker(group, measures);
		if (Verdicts.any(group) && table.rows.length && table.rows[0].verdict === undefined)
			for (const of of table.rows)
				Verdicts.addTo(of, group);
		byId("verdict").hidden = !Verdicts.any(group);
		byId("verdict").value = Verdicts.CLASSES.includes(State.state.verdict) ? State.state.verdict : "";
		selected = row === "" ? -1 : +row;
		setGroup(group, Groups.kindsOf(model));
		byId("table-note").textContent = Groups.NOTES[group] + (Verdicts.any(group) ? " " + verdictNote(group) : "");
		if (document.activeElement !== byId("filter"))
			byId("filter").value = State.state.filter;
		draw();
		const chosen = table.rows.find(r => r.group === selected);
		Stacks.show(chosen || null, table, measures, has("key") || has("time") || has("row") || has("group"));
	}

	function verdictNote(group) {
		return (group === "function" ? "The verdict is that of a function\u2019s own sites" : "The verdict") + (measures.timed ? group === "function" ?
			", of the whole time." : " is of the whole time." : group === "function" ? "." : " says what kind of growth a site has; click its heading to have leaks first.");
	}

	// The same process, some time later: the row that is open has another number then.
	function renew(of, newMeasures) {
		const was = selected < 0 ? null : table.rows.find(row => row.group === selected);
		model = of;
		maker = Groups.maker(model);
		measures = newMeasures;
		table = null;
		if (was)
			State.rename({row: numberOf(maker(State.state.group, measures).rows, was)});
	}

	// Another kind of memory.
	function use(of) {
		model = of;
		maker = Groups.maker(model);
		table = null;
		body.scrollTop = 0;
	}

	function numberOf(list, was) {
		const row = list.find(({name, full, where}) => name === was.name && full === was.full && where === was.where);
		return row ? String(row.group) : "";
	}

	function begin(of) {
		model = of;
		maker = Groups.maker(model);
		setGroup = Dom.choice(byId("groups"), Groups.KINDS, value => State.set({group: value, sort: "", row: ""}));
		head = setAttributes(make("div", {className: "head"}), {role: "row", "aria-rowindex": 1});
		sizer = setAttributes(make("div", {}), {role: "presentation"});
		body = setAttributes(make("div", {className: "rows", tabIndex: 0}, sizer), {role: "rowgroup"});
		const grid = setAttributes(make("div", {className: "grid"}, setAttributes(make("div", {}, head), {role: "rowgroup"}), body),
			{role: "grid", "aria-label": "Who holds memory", "aria-readonly": "true"});
		body.addEventListener("scroll", redraw);
		body.addEventListener("keydown", key);
		byId("verdict").replaceChildren(make("option", {value: "", textContent: "any verdict"}),
			...[...Verdicts.CLASSES].reverse().map(name => make("option", {value: name, textContent: name})));
		byId("verdict").onchange = event => State.set({verdict: event.target.value});
		byId("filter").oninput = event => State.set({filter: event.target.value});
		byId("table").replaceChildren(grid);
	}

	return {begin, renew, use, update, redraw, rows: () => rows.length};
})();
