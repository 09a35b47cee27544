// SPDX-License-Identifier: BSD-2-Clause
// live.js - a page that pmem serves: it asks for what has changed, and remembers moments.  In a file of its own it does nothing.
const Live = (() => {
	"use strict";
	const LEAST_MS = 2000, MOST_MS = 60000, SHARE = 10; /* the page works a tenth of the time at most */
	const {byId, make} = Dom;
	let bar, apply, tag = "", paused = false, timer = 0, failures = 0, updates = 0;

	const isLive = () => bar.dataset.state === "running";

	function say(text) {
		byId("live-said").textContent = text;
	}

	function show() {
		const words = {running: paused ? "Paused" : "Live", ended: "Ended", kept: "As remembered"};
		byId("live-state").textContent = words[bar.dataset.state] || "";
		byId("live-pause").hidden = !isLive();
		byId("live-pause").textContent = paused ? "Go on" : "Pause";
		byId("live-pause").setAttribute("aria-pressed", paused);
	}

	function later(ms) {
		clearTimeout(timer);
		timer = paused || !isLive() ? 0 : setTimeout(ask, Math.min(ms, MOST_MS));
	}

	// Of the answer only text and elements without scripts are taken over: the policy would not let one run.
	async function take(answer) {
		const made = new DOMParser().parseFromString(await answer.text(), "text/html"), began = performance.now();
		if (paused)
			return 0;
		if (!await apply(made))
			return 0;
		tag = answer.headers.get("ETag") || "";
		bar.dataset.state = made.getElementById("live").dataset.state;
		moments(made.getElementById("live-moments"));
		bar.dataset.updates = ++updates;
		return performance.now() - began;
	}

	// The links to comparisons, if there are others now.
	function moments(element) {
		if (element && element.innerHTML !== byId("live-moments").innerHTML)
			byId("live-moments").replaceChildren(...element.childNodes);
	}

	async function ask() {
		let took = 0;
		timer = 0;
		if (document.hidden)
			return;
		try {
			const answer = await fetch("data" + location.search, {cache: "no-store", headers: tag ? {"If-None-Match": tag} : {}});
			if (answer.status === 200)
				took = await take(answer);
			else if (answer.status !== 304)
				throw new Error((await answer.text()).trim());
			failures = 0;
			say("");
		} catch (error) {
			failures++;
			say(error instanceof TypeError ? "pmem serve does not answer; trying again" : error.message);
		}
		show();
		later(Math.max(LEAST_MS * (1 + failures), SHARE * took));
	}

	async function remember() {
		byId("live-remember").disabled = true;
		try {
			const answer = await fetch("remember", {method: "POST", cache: "no-store"}), text = (await answer.text()).trim();
			say(answer.ok ? "Remembered" : text);
			if (answer.ok)
				addMoment(JSON.parse(text));
		} catch {
			say("pmem serve does not answer");
		}
		byId("live-remember").disabled = false;
	}

	function addMoment({label, compare}) {
		byId("live-moments").append(make("a", {href: compare, textContent: "since " + label}));
	}

	function pause() {
		paused = !paused;
		show();
		later(0);
	}

	// apply(document): takes over what has changed; false: not now.
	function begin(how) {
		bar = byId("live");
		apply = how;
		if (!bar)
			return;
		byId("live-pause").onclick = pause;
		if (byId("live-remember"))
			byId("live-remember").onclick = remember;
		document.addEventListener("visibilitychange", () => {
			if (!timer && !document.hidden)
				later(0);
		});
		show();
		later(LEAST_MS);
	}

	return {begin};
})();
