/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a heat map does when it is looked at: the cell under the pointer says its time, its range
 * and its count; dragging zooms to what is selected; "all" shows the whole again.
 */
"use strict";
(function () {
	const get = picture.get;
	const data = JSON.parse(get("data").textContent);
	const plot = get("plot"), mark = get("mark");
	const box = picture.box_of(get("zone"));
	const lines = data.edges.length - 1;
	const columns = data.columns;
	const end = columns.length ? columns[columns.length - 1][1] : 0;
	let view = picture.whole; /* what is seen, as shares of the whole */

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

	function show(p) {
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

		picture.place(mark, box.x + Math.max(x, 0) * box.width, box.y + Math.max(y, 0) * box.height,
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

	function hide() {
		mark.style.display = "none";
		get("details").textContent = "";
	}

	picture.zooms(get("zone"), true, end, show, hide, function (to) {
		view = to;
		plot.setAttribute("viewBox", [view.x * 100000, view.y * lines, view.width * 100000, view.height * lines].join(" "));
		draw_values();
	});
})();
