// SPDX-License-Identifier: BSD-2-Clause
// trees.js - the tree that the flame graph draws, as weights of call stacks make it.
//
// It and the inverted one (callers.js) are asked alike: weight(node) >= 0 says how wide it is, net(node) is the signed sum.  children(node, least) has those with
// least or more in its list, the heaviest first, and count and weight of the others.  Node 0 is the root.
const Trees = (() => {
	"use strict";
	const RUN = -2; /* as function: frames of libraries in a row, not shown */

	// --- from main() down --------------------------------------------------------------------------

	// The tree without library frames: a run of them is one node.  open: nodes of the whole tree below which runs are shown.
	function fold(model, open) {
		const {parent, func, count} = model.tree, own = model.functions.own;
		const of = new Int32Array(count), isOpen = new Uint8Array(count), runs = new Int32Array(count); /* of a node: its run + 1 */
		const folded = {parent: new Int32Array(count), func: new Int32Array(count), first: new Int32Array(count)};
		let used = 1;
		folded.parent[0] = folded.func[0] = -1;
		for (let n = 1; n < count; n++) {
			const above = of[parent[n]], isOwn = own[func[n]];
			const shown = isOwn || isOpen[parent[n]] || open.has(parent[n]);
			if (!isOwn && shown)
				isOpen[n] = 1;
			if (!shown && (folded.func[above] === RUN || runs[above])) {
				of[n] = runs[above] ? runs[above] - 1 : above;
				continue;
			}
			of[n] = used;
			folded.parent[used] = above;
			folded.func[used] = shown ? func[n] : RUN;
			folded.first[used] = n;
			if (!shown)
				runs[above] = used + 1;
			used++;
		}
		return {of, parent: folded.parent, func: folded.func, first: folded.first, count: used};
	}

	function unfolded(model) {
		const {parent, func, count} = model.tree;
		return {of: null, parent, func, first: null, count};
	}

	// An own function that a run calls from several of its functions is one node.
	function mergeSame(shape) {
		const {parent, func, count, of} = shape, to = new Int32Array(count), finder = Model.makeFinder(count);
		const merged = {parent: new Int32Array(count), func: new Int32Array(count), first: new Int32Array(count), count: 1};
		merged.parent[0] = merged.func[0] = -1;
		for (let n = 1; n < count; n++) {
			const known = merged.count;
			const node = Model.findNode(finder, merged, to[parent[n]], func[n]);
			if (node === known)
				merged.first[node] = shape.first[n];
			to[n] = node;
		}
		for (let n = 0; n < of.length; n++)
			of[n] = to[of[n]];
		return {of, ...merged};
	}

	// A run at the end of call stacks, as malloc() and what wraps it, belongs to the function that called it.
	function trimRuns(shape) {
		const {parent, func, count, of} = shape, hasChild = new Uint8Array(count);
		for (let n = 1; n < count; n++)
			hasChild[parent[n]] = 1;
		const to = new Int32Array(count), kept = {parent: new Int32Array(count), func: new Int32Array(count), first: new Int32Array(count)};
		let used = 0;
		for (let n = 0; n < count; n++) {
			if (func[n] === RUN && !hasChild[n] && parent[n] > 0) {
				to[n] = to[parent[n]];
				continue;
			}
			kept.parent[used] = n ? to[parent[n]] : -1;
			kept.func[used] = func[n];
			kept.first[used] = shape.first[n];
			to[n] = used++;
		}
		for (let n = 0; n < of.length; n++)
			of[n] = to[of[n]];
		return {of, ...kept, count: used};
	}

	// The nodes of the whole tree that a run of library frames hangs from.
	function above(model, shape, run) {
		const parents = new Set(), {parent, count} = model.tree;
		for (let n = 1; n < count; n++)
			if (shape.of[n] === run && shape.of[parent[n]] !== run)
				parents.add(parent[n]);
		return parents;
	}

	function shape(model, library, open) {
		return library ? unfolded(model) : trimRuns(mergeSame(fold(model, open)));
	}

	function links(shape) {
		const child = new Int32Array(shape.count).fill(-1), next = new Int32Array(shape.count).fill(-1);
		for (let n = shape.count - 1; n > 0; n--) {
			next[n] = child[shape.parent[n]];
			child[shape.parent[n]] = n;
		}
		return {child, next};
	}

	function sumUp(parent, values) {
		for (let n = values.length - 1; n > 0; n--)
			values[parent[n]] += values[n];
		return values;
	}

	// Sums of values of call stacks by node; each: what is added of a value; scratch: an array to use again.
	function sums(model, shape, values, each, scratch) {
		const result = scratch ? scratch.fill(0) : new Float64Array(shape.count), node = model.stacks.node, of = shape.of;
		for (let i = 0; i < values.length; i++)
			if (values[i])
				result[of ? of[node[i]] : node[i]] += each ? each(values[i]) : values[i];
		return sumUp(shape.parent, result);
	}

	function isSigned(values) {
		for (let i = 0; i < values.length; i++)
			if (values[i] < 0)
				return true;
		return false;
	}

	// layout: {shape, child, next} of topDownLayout(), for many measures.  change, base: of each call stack, how much it changed and of
	// how much; null: not known.
	function topDown(model, layout, values, {change, base}) {
		const {child, next} = layout, shape = layout.shape;
		const net = sums(model, shape, values), weight = isSigned(values) ? sums(model, shape, values, Math.abs) : net;
		const changes = change ? change === values ? net : sums(model, shape, change) : null;
		let bases = null;
		return {
			weight: n => weight[n], net: n => net[n], change: n => changes ? changes[n] : 0,
			base: n => (bases = bases || sums(model, shape, base))[n],
			func: n => shape.func[n], parent: n => shape.parent[n], first: n => shape.first ? shape.first[n] : n,
			children(n, least) {
				const found = {list: [], count: 0, weight: 0};
				for (let c = child[n]; c >= 0; c = next[c]) {
					if (weight[c] > 0 && weight[c] >= least) {
						found.list.push(c);
					} else if (weight[c] > 0) {
						found.count++;
						found.weight += weight[c];
					}
				}
				found.list.sort((a, b) => weight[b] - weight[a] || a - b);
				return found;
			}
		};
	}

	function topDownLayout(model, library, open) {
		const made = shape(model, library, open);
		return {shape: made, ...links(made)};
	}

	// --- from the allocation sites up --------------------------------------------------------------

	// Of each node the innermost own one from it up, 0 if there is none.
	function ownAncestors(model) {
		const {parent, func, count} = model.tree, own = model.functions.own, result = new Int32Array(count);
		for (let n = 1; n < count; n++)
			result[n] = own[func[n]] ? n : result[parent[n]];
		return result;
	}

	return {RUN, topDown, topDownLayout, above, ownAncestors, sums, sumUp};
})();
