// SPDX-License-Identifier: BSD-2-Clause
// flame_layout.js - which frames a flame graph of some width shows, and where: nothing narrower than half a pixel.
const FlameLayout = (() => {
	"use strict";
	const LEAST = 0.5, ROWS_MAX = 300, UP_MAX = 20;

	// The node that a path of functions from the root leads to, as far as it goes: {node, path}.
	function resolve(tree, path) {
		let node = 0;
		const found = [];
		for (const func of path) {
			const next = tree.children(node, 0).list.find(child => tree.func(child) === func);
			if (next === undefined)
				break;
			node = next;
			found.push(func);
		}
		return {node, path: found};
	}

	function pathOf(tree, node) {
		const path = [];
		for (; node > 0; node = tree.parent(node))
			path.unshift(tree.func(node));
		return path;
	}

	// Children too narrow to draw become one cell without a function, if they are wide enough together.
	function placeChildren(tree, cell, row, perPixel, put) {
		const {list, count, weight} = tree.children(cell.node, LEAST * perPixel);
		let x = cell.x;
		for (const child of list) {
			const width = tree.weight(child) / perPixel;
			put({node: child, x, width, row, more: 0});
			x += width;
		}
		if (weight / perPixel >= LEAST)
			put({node: -1, x, width: weight / perPixel, row, more: count, parent: cell.node});
	}

	// The root, the last ancestors, and the node itself, each {node, gap}; gap: how many nodes a cell stands for besides its own.
	function pathTo(tree, zoom) {
		const up = [];
		for (let node = zoom; node >= 0; node = tree.parent(node))
			up.unshift({node, gap: 0});
		const gap = up.length - 2 - UP_MAX;
		if (gap > 1)
			up.splice(1, gap, {node: up[gap].node, gap: gap - 1});
		return up;
	}

	// Cells of the tree zoomed to a node: {cells, rows: cells of each row by x}.  Ancestors of it take the whole width.  isCut: what
	// is below such a cell has no row here.
	function lay(tree, zoom, width) {
		const cells = [], rows = [], up = pathTo(tree, zoom);
		const put = cell => {
			cells.push(cell);
			(rows[cell.row] = rows[cell.row] || []).push(cell);
		};
		up.forEach(({node, gap}, row) => put({node, x: 0, width, row, more: 0, gap}));
		const perPixel = (tree.weight(zoom) || 1) / width;
		for (let i = up.length - 1; i < cells.length; i++) {
			const cell = cells[i];
			if (cell.node < 0)
				continue;
			if (cell.row + 1 < ROWS_MAX)
				placeChildren(tree, cell, cell.row + 1, perPixel, put);
			else
				cell.isCut = tree.children(cell.node, LEAST * perPixel).list.length > 0;
		}
		return {cells, rows, zoomRow: up.length - 1};
	}

	function find(layout, x, row) {
		return (layout.rows[row] || []).find(cell => x >= cell.x && x < cell.x + cell.width) || null;
	}

	return {resolve, pathOf, lay, find};
})();
