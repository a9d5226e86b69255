/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a heat map does when it is looked at: the cell under the pointer says its time, its range
 * and its count; dragging zooms to what is selected; "all" shows the whole again.
 */
"use strict";
(function () {
	const get = function (id) { return document.getElementById(id); };
	const data = JSON.parse(get("data").textContent);
	const plot = get("plot"), zone = get("zone"), mark = get("mark"), selection = get("selection");
	const box = {};
	const lines = data.edges.length - 1;
	const columns = data.columns;
	const end = columns.length ? columns[columns.length - 1][1] : 0;
	const whole = {x: 0, y: 0, width: 1, height: 1};
	let view = whole; /* what is seen, as shares of the whole */
	let began = null;

	for (const name of ["x", "y", "width", "height"])
		box[name] = Number(zone.getAttribute(name));

	function place(element, x, y, width, height) {
		element.setAttribute("x", x);
		element.setAttribute("y", y);
		element.setAttribute("width", Math.max(width, 0));
		element.setAttribute("height", Math.max(height, 0));
		element.style.display = "";
	}

	/* Where the pointer is in the plot: shares of the frame from 0 to 1. */
	function pointed(e) {
		const point = new DOMPoint(e.clientX, e.clientY)
			.matrixTransform(document.documentElement.getScreenCTM().inverse());
		const share = function (at, from, size) { return Math.min(Math.max((at - from) / size, 0), 1); };

		return {x: share(point.x, box.x, box.width), y: share(point.y, box.y, box.height)};
	}

	/* An edge as it is: 8.192us. */
	function value(edge) {
		const units = data.sizes ? ["", "K", "M", "G", "T"] : ["ns", "us", "ms", "s"];
		const base = data.sizes ? 1024 : 1000;
		let unit = 0;

		for (; edge >= base && unit < units.length - 1; unit++)
			edge /= base;
		return Number(edge.toPrecision(6)) + units[unit];
	}

	function seconds(ns, digits) {
		return (ns / 1e9).toFixed(digits) + "s";
	}

	function column_at(ns) {
		let low = 0, high = columns.length - 1;

		while (low < high) {
			const middle = (low + high + 1) >> 1;

			if (columns[middle][0] <= ns)
				low = middle;
			else
				high = middle - 1;
		}
		return columns[low];
	}

	function count_of(column, line) {
		for (let i = 2; i < column.length; i += 2)
			if (column[i] === line)
				return column[i + 1];
		return 0;
	}

	function show(e) {
		const p = pointed(e);
		const line = Math.min(Math.floor((view.y + p.y * view.height) * lines), lines - 1);
		const column = column_at((view.x + p.x * view.width) * end);
		const digits = Math.max(0, Math.ceil(3 - Math.log10((column[1] - column[0]) / 1e9 + 1e-9)) - 2);
		let sum = 0;

		for (let i = 3; i < column.length; i += 2)
			sum += column[i];
		get("details").textContent = seconds(column[0], digits) + " to " + seconds(column[1], digits) + ", " +
			(data.edges[line] === null ? "from " + value(data.edges[line + 1])
			 : value(data.edges[line + 1]) + " .. " + value(data.edges[line])) +
			": " + count_of(column, line) + " of " + sum;
		const x = (column[0] / end - view.x) / view.width, to = (column[1] / end - view.x) / view.width;
		const y = (line / lines - view.y) / view.height, height = 1 / lines / view.height;

		place(mark, box.x + Math.max(x, 0) * box.width, box.y + Math.max(y, 0) * box.height,
		      (Math.min(to, 1) - Math.max(x, 0)) * box.width, (Math.min(y + height, 1) - Math.max(y, 0)) * box.height);
	}

	function draw_values() {
		const first = Number(plot.dataset.first), octave = Number(plot.dataset.octave);
		const pixels = box.height / (view.height * lines);

		for (const g of document.querySelectorAll(".values > g")) {
			const from_above = (lines - (Number(g.dataset.place) - first)) / lines;
			const at = (from_above - view.y) / view.height;
			const y = box.y + at * box.height;
			const shown = at >= 0 && at <= 1 && (g.dataset.major === "1" || pixels * octave >= 14);

			g.style.display = shown ? "" : "none";
			g.querySelector("line").setAttribute("y1", y);
			g.querySelector("line").setAttribute("y2", y);
			g.querySelector("text").setAttribute("y", y + 4);
		}
	}

	/* The labels are made again: 1, 2, 5, 10, ... */
	function draw_times() {
		const group = document.querySelector(".times"), sample = group.querySelector("g");
		const from = view.x * end / 1e9, width = view.width * end / 1e9;
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
		plot.setAttribute("viewBox", [view.x * 100000, view.y * lines, view.width * 100000, view.height * lines].join(" "));
		draw_values();
		draw_times();
		mark.style.display = "none";
		get("reset").style.display = to === whole ? "none" : "";
	}

	zone.addEventListener("mousedown", function (e) {
		if (e.button === 0)
			began = pointed(e);
		e.preventDefault();
	});
	zone.addEventListener("mousemove", function (e) {
		const p = pointed(e);

		if (!columns.length)
			return;
		show(e);
		if (began)
			place(selection, box.x + Math.min(began.x, p.x) * box.width, box.y + Math.min(began.y, p.y) * box.height,
			      Math.abs(began.x - p.x) * box.width, Math.abs(began.y - p.y) * box.height);
	});
	zone.addEventListener("mouseout", function () {
		mark.style.display = "none";
		get("details").textContent = "";
	});
	window.addEventListener("mouseup", function (e) {
		if (!began)
			return;
		const p = pointed(e), from = began;
		const x = Math.min(from.x, p.x), y = Math.min(from.y, p.y);
		const width = Math.abs(from.x - p.x), height = Math.abs(from.y - p.y);

		began = null;
		selection.style.display = "none";
		/* A click is no selection. */
		if (width * box.width < 4 || height * box.height < 4)
			return;
		zoom({x: view.x + x * view.width, y: view.y + y * view.height,
		      width: width * view.width, height: height * view.height});
	});
	get("reset").addEventListener("click", function () { zoom(whole); });
})();
