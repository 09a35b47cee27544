// SPDX-License-Identifier: BSD-2-Clause
// units.js - numbers as people read them: the same words as the terminal's (src/base/units.c).
const Units = (() => {
	"use strict";
	const BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
	const NS = 1e9;

	function bytes(value) {
		let unit = 0;
		while (value >= 1024 && unit < BYTES.length - 1) {
			value /= 1024;
			unit++;
		}
		// 1023.96 KiB would read "1024.0 KiB".
		if (unit > 0 && unit < BYTES.length - 1 && value >= 1023.95) {
			value = 1;
			unit++;
		}
		return (unit ? value.toFixed(1) : Math.round(value)) + "\u00a0" + BYTES[unit];
	}

	function signed(value, text) {
		return value === 0 ? "0" : (value > 0 ? "+" : "\u2212") + text(Math.abs(value));
	}

	function count(value) {
		if (value < 1e6)
			return Math.round(value).toLocaleString("en-US");
		const unit = value < 1e9 ? [1e6, "M"] : [1e9, "G"], scaled = value / unit[0];
		return scaled.toFixed(scaled < 10 ? 2 : scaled < 100 ? 1 : 0) + "\u00a0" + unit[1];
	}

	function share(part, whole) {
		if (!whole)
			return "\u2013";
		const percent = 100 * part / whole;
		if (part > 0 && percent < 1)
			return "<1\u00a0%";
		if (part < whole && percent > 99)
			return ">99\u00a0%";
		return Math.round(percent) + "\u00a0%";
	}

	function duration(ns) {
		const s = ns / NS;
		if (s === 0)
			return "0\u00a0s";
		if (s < 1e-6)
			return Math.round(ns) + "\u00a0ns";
		if (s < 1e-3)
			return Math.round(s * 1e6) + "\u00a0us";
		if (s < 0.9995)
			return (s * 1e3).toFixed(s < 0.01 ? 1 : 0) + "\u00a0ms";
		if (s < 9.95)
			return s.toFixed(1) + "\u00a0s";
		if (s < 59.5)
			return Math.round(s) + "\u00a0s";
		return long(Math.round(s));
	}

	function long(s) {
		const parts = [[86400, "d", 3600, "h"], [3600, "h", 60, "min"], [60, "min", 1, "s"]];
		const [large, name, small, rest] = parts.find(p => s >= p[0]);
		const more = Math.floor(s % large / small);
		return Math.floor(s / large) + "\u00a0" + name + (more ? " " + more + "\u00a0" + rest : "");
	}

	// A time of day where the process ran; the browser may be elsewhere.
	function clock(side, ns, withFraction) {
		const ms = side.start_realtime_ns / 1e6 + ns / 1e6 + side.utc_offset_s * 1e3;
		const iso = new Date(ms).toISOString();
		return iso.slice(11, withFraction ? 23 : 19);
	}

	// What a person types as a time since start: "90", "90s", "1m30s", "250ms", or a time of day.  NaN: none of these.
	function parse(text, side) {
		const day = /^(\d\d?):(\d\d)(?::(\d\d(?:\.\d+)?))?$/.exec(text.trim());
		if (day)
			return sinceStart(day, side);
		const units = {d: 86400, h: 3600, m: 60, min: 60, s: 1, ms: 1e-3, us: 1e-6};
		const compact = text.replace(/\s+/g, "");
		if (!/^(\d+(\.\d+)?(d|h|min|ms|m|us|s)?)+$/.test(compact))
			return NaN;
		let sum = 0;
		for (const [, number, unit] of compact.matchAll(/(\d+(?:\.\d+)?)(d|h|min|ms|m|us|s)?/g))
			sum += number * (units[unit] || 1);
		return sum * NS;
	}

	function sinceStart([, h, m, s], side) {
		const start = side.start_realtime_ns / NS + side.utc_offset_s;
		const of_day = h * 3600 + m * 60 + +(s || 0);
		return (((of_day - start) % 86400 + 86400) % 86400) * NS;
	}

	return {bytes, signed, count, share, duration, clock, parse};
})();
