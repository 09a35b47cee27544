// SPDX-License-Identifier: BSD-2-Clause
// state.js - what the page shows, and the same as the fragment of its address, so that a view can be kept and sent.
const State = (() => {
	"use strict";
	const DEFAULTS = {memory: "", key: "", since: "", until: "", since_before: "", until_before: "", link: "", colour: "", invert: "", library: "", zoom: "",
		search: "", group: "site", sort: "", filter: "", verdict: "", row: "", theme: ""};
	const state = {...DEFAULTS};
	const watchers = [];
	let timer = 0, written = "";

	function read() {
		const given = new URLSearchParams(location.hash.slice(1));
		for (const name of Object.keys(DEFAULTS))
			state[name] = given.get(name) ?? DEFAULTS[name];
	}

	function write() {
		const out = new URLSearchParams();
		for (const [name, value] of Object.entries(state))
			if (value !== DEFAULTS[name])
				out.set(name, value);
		written = out.toString();
		try {
			history.replaceState(null, "", written ? "#" + written : location.pathname + location.search);
		} catch {
			location.hash = written;
		}
	}

	// Changes fields, and tells everybody which.  Values are strings; the address follows a little later.
	function set(changes) {
		const changed = new Set();
		for (const [name, value] of Object.entries(changes)) {
			if (state[name] === value)
				continue;
			state[name] = value;
			changed.add(name);
		}
		if (!changed.size)
			return;
		clearTimeout(timer);
		timer = setTimeout(write, 150);
		for (const watcher of watchers)
			watcher(changed);
	}

	// The same without a word to anybody: what is shown stays, and is called otherwise now.
	function rename(changes) {
		Object.assign(state, changes);
		clearTimeout(timer);
		timer = setTimeout(write, 150);
	}

	// Calls watcher(names that have changed) after each change.
	function watch(watcher) {
		watchers.push(watcher);
	}

	function follow() {
		window.addEventListener("hashchange", () => {
			if (location.hash.slice(1) === written)
				return;
			const before = {...state};
			read();
			const changed = new Set(Object.keys(DEFAULTS).filter(name => state[name] !== before[name]));
			for (const watcher of watchers)
				watcher(changed);
		});
	}

	return {state, read, set, rename, watch, follow};
})();
