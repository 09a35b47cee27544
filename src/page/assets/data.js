// SPDX-License-Identifier: BSD-2-Clause
// data.js - takes the page's block of data apart: see src/page/columns.h.
const Data = (() => {
	"use strict";
	const TYPES = {u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f8: Float64Array};

	function fromBase64(text) {
		if (Uint8Array.fromBase64)
			return Uint8Array.fromBase64(text);
		const letters = atob(text), bytes = new Uint8Array(letters.length);
		for (let i = 0; i < letters.length; i++)
			bytes[i] = letters.charCodeAt(i);
		return bytes;
	}

	async function inflate(bytes) {
		if (typeof DecompressionStream === "undefined")
			throw new Error("this browser is too old: it cannot decompress (DecompressionStream)");
		const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
		return new Response(stream).arrayBuffer();
	}

	function parse(buffer) {
		const size = new DataView(buffer).getUint32(0, true);
		const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size)));
		const first = 8 + Math.ceil(size / 8) * 8;
		const columns = new Map();
		if (head.schema !== 1)
			throw new Error("data of another version");
		for (const {name, type, count, offset} of head.columns)
			columns.set(name, new TYPES[type](buffer, first + offset, count));
		return {head, columns};
	}

	// {head, columns: Map of typed arrays} of the text of an element #data, which is let go.
	async function load(element) {
		const text = element.textContent.trim();
		element.textContent = "";
		return parse(await inflate(fromBase64(text)));
	}

	return {load};
})();
