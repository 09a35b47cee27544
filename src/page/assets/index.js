// SPDX-License-Identifier: BSD-2-Clause
// index.js - keeps the list fresh, and what is chosen in it.
(() => {
	"use strict";
	const EVERY_MS = 2000, byId = id => document.getElementById(id), prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
	let tag = "";

	const showTheme = () => document.documentElement.classList.toggle("dark", prefersDark.matches);
	const chosen = name => (document.querySelector(`input[name=${name}]:checked`) || {}).value;

	// Rows of a table are told apart by their keys, so that what is chosen, and the focus, stay.
	function take(made) {
		for (const section of ["running", "moments", "ended"]) {
			const mine = byId(section + "-title").parentElement, others = made.getElementById(section + "-title").parentElement;
			if (mine.innerHTML === others.innerHTML || mine.contains(document.activeElement))
				continue;
			const before = chosen("before"), after = chosen("after");
			mine.replaceChildren(...others.childNodes);
			for (const input of mine.querySelectorAll("input"))
				if (input.value === (input.name === "before" ? before : after))
					input.checked = true;
		}
	}

	async function ask() {
		if (document.hidden)
			return;
		try {
			const answer = await fetch("list", {cache: "no-store", headers: tag ? {"If-None-Match": tag} : {}});
			if (answer.status === 200) {
				take(new DOMParser().parseFromString(await answer.text(), "text/html"));
				tag = answer.headers.get("ETag") || "";
			} else if (answer.status !== 304) {
				throw new Error();
			}
			byId("said").textContent = "";
		} catch {
			byId("said").textContent = "pmem serve does not answer; trying again";
		}
	}

	// Forgetting is asked for by a button with the address.
	document.addEventListener("click", async event => {
		const {forget} = event.target.dataset;
		if (!forget)
			return;
		event.target.disabled = true;
		document.activeElement.blur();
		await fetch(forget, {method: "POST", cache: "no-store"}).catch(() => null);
		ask();
	});
	showTheme();
	prefersDark.addEventListener("change", showTheme);
	setInterval(ask, EVERY_MS);
})();
