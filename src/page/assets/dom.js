// SPDX-License-Identifier: BSD-2-Clause
// dom.js - elements, colours of the theme, canvases for sharp screens, the tip.  Names only ever become text.
const Dom = (() => {
	"use strict";
	const byId = id => document.getElementById(id);

	// make("span", {className: "dim"}, "text", element ...)
	function make(tag, properties, ...children) {
		const element = Object.assign(document.createElement(tag), properties);
		element.append(...children.filter(child => child !== null && child !== undefined));
		return element;
	}

	function setAttributes(element, attributes) {
		for (const [name, value] of Object.entries(attributes))
			element.setAttribute(name, value);
		return element;
	}

	let colours = null;

	// The value of a custom property of the style; kept until the theme changes.
	function colour(name) {
		if (!colours)
			colours = {style: getComputedStyle(document.documentElement), known: new Map()};
		if (!colours.known.has(name))
			colours.known.set(name, colours.style.getPropertyValue("--" + name).trim());
		return colours.known.get(name);
	}

	function forgetColours() {
		colours = null;
	}

	// Sizes a canvas to its place on the screen, so that one unit is one CSS pixel.
	function context(canvas, height) {
		const scale = window.devicePixelRatio || 1, width = canvas.clientWidth;
		if (height !== undefined)
			canvas.style.height = height + "px";
		const tall = height === undefined ? canvas.clientHeight : height;
		if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(tall * scale)) {
			canvas.width = Math.round(width * scale);
			canvas.height = Math.round(tall * scale);
		}
		const ctx = canvas.getContext("2d");
		ctx.setTransform(scale, 0, 0, scale, 0, 0);
		ctx.clearRect(0, 0, width, tall);
		return {ctx, width, height: tall};
	}

	const font = (size, weight = 400) => `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;

	function showTip(x, y, lines) {
		const tip = byId("tip");
		tip.replaceChildren(make("b", {textContent: lines[0]}), ...lines.slice(1).map(text => make("span", {textContent: text})));
		tip.hidden = false;
		const box = tip.getBoundingClientRect();
		tip.style.left = Math.max(8, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
		tip.style.top = (y + 18 + box.height > innerHeight ? Math.max(8, y - box.height - 10) : y + 18) + "px";
	}

	function hideTip() {
		byId("tip").hidden = true;
	}

	// Buttons of which one is chosen.  items: [value, label]; arrows move as among radio buttons.
	function choice(element, items, choose) {
		const buttons = items.map(([value, label]) =>
			setAttributes(make("button", {type: "button", textContent: label, onclick: () => choose(value)}), {role: "radio", "data-value": value}));
		element.replaceChildren(...buttons);
		element.onkeydown = event => {
			const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
			if (!step)
				return;
			event.preventDefault();
			const shown = buttons.filter(button => !button.hidden), now = shown.indexOf(document.activeElement);
			const next = shown[(now + step + shown.length) % shown.length];
			next.focus();
			choose(next.dataset.value);
		};
		// possible: the values that can be chosen now; all if it is not given.
		return (value, possible) => {
			for (const button of buttons) {
				const chosen = button.dataset.value === value;
				button.hidden = Boolean(possible) && !possible.includes(button.dataset.value);
				button.setAttribute("aria-checked", chosen);
				button.tabIndex = chosen ? 0 : -1;
			}
		};
	}

	// Runs work at most once a frame, however often it is asked to.
	function soon(work) {
		let waiting = false;
		return () => {
			if (waiting)
				return;
			waiting = true;
			requestAnimationFrame(() => {
				waiting = false;
				work();
			});
		};
	}

	return {byId, make, setAttributes, colour, forgetColours, context, font, showTip, hideTip, choice, soon};
})();
