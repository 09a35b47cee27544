// SPDX-License-Identifier: BSD-2-Clause
// callers.js - the tree from the allocation sites up, for the inverted flame graph; asked as trees.js says.
//
// Where call stacks end is sorted once by functions, the innermost first: so all that a node stands for is in a row, whatever is
// shown, and its sums are differences of running sums.
const Callers = (() => {
	"use strict";
	const FEW = 12;

	// The order, made in steps, so that it can be ready before it is asked for.  An entry is a node of the model's tree that call stacks
	// begin at.
	class Order {
		// ownOnly: frames of libraries are not shown.
		constructor(model, ownOnly) {
			this.model = model;
			this.ownOnly = ownOnly;
			this.ranges = null; /* [first, end, functions in common]: still to be sorted */
			this.isDone = false;
		}

		// next: up from a node, 0 = none; length: functions of a node and all above.
		findSteps() {
			const {parent, func, count} = this.model.tree, own = this.ownOnly ? Trees.ownAncestors(this.model) : null;
			const next = own ? new Int32Array(count) : parent, length = new Int32Array(count);
			for (let n = 1; n < count; n++) {
				const up = own ? own[parent[n]] : parent[n];
				if (own)
					next[n] = up;
				length[n] = length[up] + 1;
			}
			Object.assign(this, {func, next, nodeLength: length});
			return own;
		}

		begin() {
			const {node} = this.model.stacks, own = this.findSteps(), entryOfNode = new Int32Array(this.model.tree.count);
			const entryOf = new Int32Array(node.length), start = new Int32Array(node.length), entries = new Int32Array(node.length);
			let count = 0;
			for (let i = 0; i < node.length; i++) {
				const at = own && own[node[i]] || node[i];
				if (!entryOfNode[at]) {
					entries[count] = count;
					start[count] = at;
					entryOfNode[at] = ++count;
				}
				entryOf[i] = entryOfNode[at] - 1;
			}
			this.entryOf = entryOf; /* of each call stack */
			this.start = start.slice(0, count);
			this.entries = entries.slice(0, count); /* sorted, in the end */
			this.at = start.slice(0, count); /* where each of them is on its way up */
			this.shared = new Int32Array(count); /* functions that it has in common with the one before it */
			this.slot = new Int32Array(this.model.functions.count + 1);
			this.spare = {entries: new Int32Array(count), at: new Int32Array(count)};
			this.ranges = count > 1 ? [[0, count, 0]] : [];
		}

		// Groups of a range by their functions, [function + 1, count, end of its place]; those that end here come first.
		groupsOf(begin, end) {
			const {at, func, slot} = this, groups = [[0, 0, 0]];
			for (let i = begin; i < end; i++) {
				const f = at[i] > 0 ? func[at[i]] + 1 : 0;
				if (f && !slot[f])
					slot[f] = groups.push([f, 0, 0]) - 1;
				groups[slot[f]][1]++;
			}
			let place = begin;
			for (const group of groups)
				group[2] = place += group[1];
			return groups;
		}

		// Brings a range into the order of its groups, each a step further up.
		move(begin, end, groups) {
			const {at, func, slot, next, entries, spare} = this, place = groups.map(([, count, last]) => last - count);
			for (let i = begin; i < end; i++) {
				const node = at[i], to = place[node > 0 ? slot[func[node] + 1] : 0]++;
				spare.entries[to] = entries[i];
				spare.at[to] = node > 0 ? next[node] : 0;
			}
			entries.set(spare.entries.subarray(begin, end), begin);
			at.set(spare.at.subarray(begin, end), begin);
		}

		sortRange([begin, end, depth]) {
			const {shared, slot} = this, groups = this.groupsOf(begin, end);
			this.move(begin, end, groups);
			for (const [f, count, last] of groups) {
				slot[f] = 0;
				if (count && last - count > begin)
					shared[last - count] = depth;
				if (f && count > 1)
					this.ranges.push([last - count, last, depth + 1]);
				else
					shared.fill(depth, last - count + 1, last);
			}
		}

		// How many functions two nodes have in common on their way up.
		common(a, b) {
			const {func, next, nodeLength} = this;
			let count = 0;
			for (; a > 0 && b > 0 && func[a] === func[b]; count++) {
				if (a === b)
					return count + nodeLength[a];
				a = next[a];
				b = next[b];
			}
			return count;
		}

		// As groups have it but for which of them comes first: a number for each, 0 for what ends there.
		isAfter(a, b) {
			const {func, next} = this;
			while (a > 0 && b > 0 && func[a] === func[b] && a !== b) {
				a = next[a];
				b = next[b];
			}
			return (a > 0 ? func[a] + 1 : 0) > (b > 0 ? func[b] + 1 : 0);
		}

		// The same for ranges that are too small for groups.
		sortFew([begin, end, depth]) {
			const {at, entries, shared} = this;
			for (let i = begin + 1; i < end; i++) {
				const node = at[i], entry = entries[i];
				let to = i;
				for (; to > begin && this.isAfter(at[to - 1], node); to--) {
					at[to] = at[to - 1];
					entries[to] = entries[to - 1];
				}
				at[to] = node;
				entries[to] = entry;
			}
			for (let i = begin + 1; i < end; i++)
				shared[i] = depth + this.common(at[i - 1], at[i]);
		}

		sort(range) {
			if (range[1] - range[0] <= FEW)
				this.sortFew(range);
			else
				this.sortRange(range);
		}

		// Works until it is done, or the time (of performance.now()) has come.  True: it is done.
		work(until) {
			if (!this.ranges)
				this.begin();
			for (let i = 0; this.ranges.length; i++) {
				if (i % 64 === 63 && performance.now() > until)
					return false;
				this.sort(this.ranges.pop());
			}
			if (!this.isDone)
				this.finish();
			return true;
		}

		finish() {
			const {entries, entryOf, start, nodeLength} = this, count = entries.length, place = new Int32Array(count);
			const sorted = new Int32Array(count), length = new Int32Array(count);
			for (let i = 0; i < count; i++) {
				place[entries[i]] = i;
				sorted[i] = start[entries[i]];
				length[i] = nodeLength[sorted[i]];
			}
			for (let i = 0; i < entryOf.length; i++)
				entryOf[i] = place[entryOf[i]];
			this.start = sorted;
			this.length = length; /* functions of each entry */
			this.model = this.at = this.spare = this.entries = this.nodeLength = null;
			this.isDone = true;
		}
	}

	class Tree {
		// change, base: as of Trees.topDown(), of the call stacks that have a value.
		constructor(order, values, {change, base}) {
			order.work(Infinity);
			this.order = order;
			this.values = values;
			this.sources = {change, base};
			this.nets = this.running(values);
			this.weights = values.some(value => value < 0) ? this.running(values.map(Math.abs)) : this.nets;
			this.nodes = [{parent: -1, begin: 0, end: order.start.length, depth: 0, at: 0, found: null}];
		}

		// Of each entry what all before it have.
		running(of) {
			const {entryOf, start} = this.order, {values} = this, sums = new Float64Array(start.length + 1);
			for (let i = 0; i < values.length; i++)
				if (values[i])
					sums[entryOf[i] + 1] += of[i];
			for (let i = 1; i < sums.length; i++)
				sums[i] += sums[i - 1];
			return sums;
		}

		add(parent, begin, end) {
			const above = this.nodes[parent], {start, next} = this.order;
			let at = start[begin];
			if (begin === above.begin && parent > 0)
				at = next[above.at];
			else
				for (let i = 0; i < above.depth; i++)
					at = next[at];
			this.nodes.push({parent, begin, end, depth: above.depth + 1, at, found: null});
			return this.nodes.length - 1;
		}

		// Makes children of what is heavy enough; the others are only counted.
		split(number, least) {
			const {begin, end, depth} = this.nodes[number], {shared, length} = this.order, {weights} = this;
			const found = {list: [], count: 0, weight: 0, least};
			let first = begin;
			while (first < end && length[first] === depth)
				first++;
			while (first < end) {
				let last = first + 1;
				while (last < end && shared[last] > depth)
					last++;
				const weight = weights[last] - weights[first];
				if (weight > 0 && weight >= least) {
					found.list.push(this.add(number, first, last));
				} else if (weight > 0) {
					found.count++;
					found.weight += weight;
				}
				first = last;
			}
			found.list.sort((a, b) => this.weight(b) - this.weight(a) || a - b);
			return found;
		}

		sumOf(sums, n) {
			const {begin, end} = this.nodes[n];
			return sums[end] - sums[begin];
		}

		// Made when it is asked for: most pages show neither.
		lazy(name, n) {
			const of = this.sources[name];
			if (!of)
				return 0;
			this[name + "s"] = this[name + "s"] || this.running(of);
			return this.sumOf(this[name + "s"], n);
		}

		weight(n) { return this.sumOf(this.weights, n); }
		net(n) { return this.sumOf(this.nets, n); }
		change(n) { return this.lazy("change", n); }
		base(n) { return this.lazy("base", n); }
		func(n) { return n ? this.order.func[this.nodes[n].at] : -1; }
		parent(n) { return this.nodes[n].parent; }
		first() { return -1; }
		children(n, least) {
			const node = this.nodes[n];
			if (!node.found || least < node.found.least)
				node.found = this.split(n, least);
			return node.found;
		}
	}

	const idle = window.requestIdleCallback || (work => setTimeout(() => work({timeRemaining: () => 8}), 50));

	// Works on orders while nothing else is to be done, as long as wanted() says so.
	function prepare(orders, wanted) {
		idle(deadline => {
			const until = performance.now() + Math.min(10, deadline.timeRemaining());
			if (wanted() && !orders.every(order => order.work(until)))
				prepare(orders, wanted);
		});
	}

	return {Order, Tree, prepare};
})();
