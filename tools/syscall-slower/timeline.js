/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a timeline does when it is looked at: the call under the pointer says what it was; dragging
 * zooms to a time, "all" shows the whole again; Ctrl-F or "search" marks calls and threads whose
 * names match.
 */
"use strict";
(function () {
	const get = function (id) { return document.getElementById(id); };
	const data = JSON.parse(get("data").textContent);
	const calls = data.calls;
	const parts = ["on_cpu", "preempted", "blocked", "runq"]; /* from below */
	const zone = get("zone"), mark = get("mark"), selection = get("selection");
	const threads = Array.from(document.querySelectorAll(".thread")).map(function (t) { return t.textContent; });
	const box = {};
	const whole = {from: 0, width: 1};
	let view = whole; /* shares of the whole time */
	let began = null, expression = null;

	for (const name of ["x", "y", "width", "height"])
		box[name] = Number(zone.getAttribute(name));

	function place(element, x, y, width, height) {
		element.setAttribute("x", x);
		element.setAttribute("y", y);
		element.setAttribute("width", Math.max(width, 0));
		element.setAttribute("height", Math.max(height, 0));
		element.style.display = "";
	}

	/* Where a call is in the picture; null: it is not seen. */
	function place_of(call) {
		const x = (call[1] / data.ns - view.from) / view.width * box.width;
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
		const marked = [];

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
			if (matches(call))
				marked.push(rect(p.x, p.y, p.width, data.bar));
		}
		parts.forEach(function (name, i) {
			document.querySelector("#plot ." + name).setAttribute("d", paths[i].join(""));
		});
		get("matches").setAttribute("d", marked.join(""));
	}

	/* The labels are made again: 1, 2, 5, 10, ... */
	function draw_times() {
		const group = document.querySelector(".times"), sample = group.querySelector("g");
		const from = view.from * data.ns / 1e9, width = view.width * data.ns / 1e9;
		const next = [2, 2.5, 2];
		let step = 1e-6;

		if (!sample)
			return;
		for (let i = 0; width / step > 12; i++)
			step *= next[i % 3];
		const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));

		group.replaceChildren();
		for (let i = Math.ceil(from / step - 1e-9); i * step <= from + width * (1 + 1e-9); i++) {
			const g = sample.cloneNode(true), x = box.x + (i * step - from) / width * box.width;

			g.querySelector("line").setAttribute("x1", x);
			g.querySelector("line").setAttribute("x2", x);
			g.querySelector("text").setAttribute("x", x);
			g.querySelector("text").textContent = (i * step).toFixed(digits) + "s";
			group.append(g);
		}
	}

	function zoom(to) {
		view = to;
		draw();
		draw_times();
		mark.style.display = "none";
		get("reset").style.display = to === whole ? "none" : "";
	}

	function pointed(e) {
		const point = new DOMPoint(e.clientX, e.clientY)
			.matrixTransform(document.documentElement.getScreenCTM().inverse());

		return {x: Math.min(Math.max(point.x, box.x), box.x + box.width), y: point.y};
	}

	function time(ns) {
		return ns >= 1e9 ? (ns / 1e9).toPrecision(3) + "s" : ns >= 1e6 ? (ns / 1e6).toPrecision(3) + "ms" :
			ns >= 1e3 ? (ns / 1e3).toPrecision(3) + "us" : ns + "ns";
	}

	/* The call under the pointer, or the nearest one. */
	function call_at(p) {
		const lane = Math.floor((p.y - box.y) / data.lane);
		let best = null, least = 4;

		for (const call of calls) {
			const at = call[0] === lane ? place_of(call) : null;
			const far = at ? Math.max(at.x - p.x, p.x - at.x - at.width, 0) : Infinity;

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
			threads[call[0]] + " at " + (call[1] / 1e9).toFixed(6) + "s: " + call[7] + ", " + time(call[2]) + ": " +
			parts.map(function (name, i) { return name.replace("_", "-") + " " + time(call[3 + i]); }).join(", ");
		if (call)
			place(mark, at.x, at.y, at.width, data.bar);
		else
			mark.style.display = "none";
	}

	function matches(call) {
		return expression !== null && (expression.test(call[7]) || expression.test(threads[call[0]]));
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

	zone.addEventListener("mousedown", function (e) {
		if (e.button === 0)
			began = pointed(e);
		e.preventDefault();
	});
	zone.addEventListener("mousemove", function (e) {
		const p = pointed(e);

		show(p);
		if (began)
			place(selection, Math.min(began.x, p.x), box.y, Math.abs(began.x - p.x), box.height);
	});
	zone.addEventListener("mouseout", function () {
		mark.style.display = "none";
		get("details").textContent = "";
	});
	window.addEventListener("mouseup", function (e) {
		if (!began)
			return;
		const p = pointed(e), from = Math.min(began.x, p.x), width = Math.abs(began.x - p.x);

		began = null;
		selection.style.display = "none";
		/* A click is no selection. */
		if (width < 4)
			return;
		zoom({from: view.from + (from - box.x) / box.width * view.width, width: width / box.width * view.width});
	});
	get("reset").addEventListener("click", function () { zoom(whole); });
	get("search").addEventListener("click", ask);
	window.addEventListener("keydown", function (e) {
		if (e.key === "f" && (e.ctrlKey || e.metaKey)) {
			e.preventDefault();
			ask();
		}
	});
})();
