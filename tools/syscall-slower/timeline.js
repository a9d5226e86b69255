/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a timeline does when it is looked at: the call under the pointer says what it was; dragging
 * zooms to a time, "all" shows the whole again; Ctrl-F or "search" marks calls and threads whose
 * names match.
 */
"use strict";
(function () {
	const get = picture.get;
	const data = JSON.parse(get("data").textContent);
	const calls = data.calls;
	const parts = ["on_cpu", "irq", "preempted", "blocked", "runq", "return"]; /* from below */
	const mark = get("mark");
	const threads = Array.from(document.querySelectorAll(".thread")).map(function (t) { return t.textContent; });
	const box = picture.box_of(get("zone"));
	let view = picture.whole; /* shares of the whole time */
	let expression = null;

	/* Where a call is in the picture; null: it is not seen. */
	function place_of(call) {
		const x = (call[1] / data.ns - view.x) / view.width * box.width;
		const width = Math.max(call[2] / data.ns / view.width * box.width, 1.5);

		if (x > box.width || x + width < 0)
			return null;
		/* What is far outside need not be drawn. */
		const left = Math.max(x, -10), right = Math.min(x + width, box.width + 10);

		return {x: box.x + left, width: right - left,
			y: box.y + call[0] * data.lane + (data.lane - data.bar) / 2};
	}

	function rect(x, y, width, height) {
		return "M" + x.toFixed(2) + " " + y.toFixed(2) + "h" + width.toFixed(2) + "v" + height.toFixed(2) +
			"h" + (-width).toFixed(2) + "z";
	}

	function draw() {
		const paths = parts.map(function () { return []; });
		const marked = [], in_flight = [];

		for (const call of calls) {
			const p = place_of(call);
			let below = 0;

			if (!p)
				continue;
			for (let i = 0; i < parts.length; i++) {
				const share = call[3 + i] / (call[2] || 1);

				below += share;
				if (share > 0)
					paths[i].push(rect(p.x, p.y + data.bar * (1 - below), p.width, data.bar * share));
			}
			if (below === 0 && call[9].endsWith(", in flight"))
				in_flight.push(rect(p.x, p.y, p.width, data.bar));
			if (matches(call))
				marked.push(rect(p.x, p.y, p.width, data.bar));
		}
		parts.forEach(function (name, i) {
			document.querySelector("#plot ." + name).setAttribute("d", paths[i].join(""));
		});
		document.querySelector("#plot .in_flight").setAttribute("d", in_flight.join(""));
		get("matches").setAttribute("d", marked.join(""));
	}

	function time(ns) {
		return ns >= 1e9 ? (ns / 1e9).toPrecision(3) + "s" : ns >= 1e6 ? (ns / 1e6).toPrecision(3) + "ms" :
			ns >= 1e3 ? (ns / 1e3).toPrecision(3) + "us" : ns + "ns";
	}

	/* The call under the pointer, or the nearest one. */
	function call_at(p) {
		const lane = Math.floor(p.y * box.height / data.lane), x = box.x + p.x * box.width;
		let best = null, least = 4;

		for (const call of calls) {
			const at = call[0] === lane ? place_of(call) : null;
			const far = at ? Math.max(at.x - x, x - at.x - at.width, 0) : Infinity;

			if (far < least) {
				best = call;
				least = far;
			}
		}
		return best;
	}

	function show(p) {
		const call = call_at(p), at = call && place_of(call);

		get("details").textContent = !call ? "" :
			threads[call[0]] + " at " + (call[1] / 1e9).toFixed(6) + "s: " + call[9] + ", " + time(call[2]) + ": " +
			parts.map(function (name, i) { return name.replace("_", "-") + " " + time(call[3 + i]); }).join(", ");
		if (call)
			picture.place(mark, at.x, at.y, at.width, data.bar);
		else
			mark.style.display = "none";
	}

	function matches(call) {
		return expression !== null && (expression.test(call[9]) || expression.test(threads[call[0]]));
	}

	function search(pattern) {
		let n = 0, ns = 0;

		try {
			expression = pattern === "" ? null : new RegExp(pattern);
		} catch (e) {
			get("matched").textContent = "not a regular expression: " + pattern;
			return;
		}
		for (const call of calls) {
			if (matches(call)) {
				n++;
				ns += call[2];
			}
		}
		draw();
		get("matched").textContent = pattern === "" ? "" : "matched: " + n + " calls, " + time(ns);
	}

	function ask() {
		const pattern = window.prompt("calls and threads whose names match (a regular expression; empty: none):", "");

		if (pattern !== null)
			search(pattern);
	}

	function hide() {
		mark.style.display = "none";
		get("details").textContent = "";
	}

	picture.zooms(get("zone"), false, data.ns, show, hide, function (to) {
		view = to;
		draw();
	});
	get("search").addEventListener("click", ask);
	window.addEventListener("keydown", function (e) {
		if (e.key === "f" && (e.ctrlKey || e.metaKey)) {
			e.preventDefault();
			ask();
		}
	});
})();
