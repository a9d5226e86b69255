/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a percentile chart does when it is looked at: above the percentiles over time the pointer
 * says what they are in that interval, above the distribution which percentile is there.
 */
"use strict";
(function () {
	const get = function (id) { return document.getElementById(id); };
	const data = JSON.parse(get("data").textContent);
	const columns = data.columns, ranks = data.ranks, details = get("details");
	const end = columns.length ? columns[columns.length - 1][1] : 0;

	/* The place of the pointer in FRAME, from 0 to 1. */
	function pointed(frame, e) {
		const point = new DOMPoint(e.clientX, e.clientY)
			.matrixTransform(document.documentElement.getScreenCTM().inverse());
		const x = Number(frame.getAttribute("x")), width = Number(frame.getAttribute("width"));

		return Math.min(Math.max((point.x - x) / width, 0), 1);
	}

	function say(id, what) {
		const frame = get(id), pointer = get(id + "-pointer");

		frame.addEventListener("mousemove", function (e) {
			const share = pointed(frame, e);
			const x = Number(frame.getAttribute("x")) + share * Number(frame.getAttribute("width"));

			pointer.setAttribute("x1", x);
			pointer.setAttribute("x2", x);
			pointer.style.display = "";
			details.textContent = what(share);
		});
		frame.addEventListener("mouseout", function () {
			pointer.style.display = "none";
			details.textContent = "";
		});
	}

	say("over-time", function (share) {
		const column = columns.find(function (c) { return c[1] >= share * end; });
		const digits = function () { return Math.max(1, Math.ceil(2 - Math.log10((column[1] - column[0]) / 1e9 + 1e-9))); };

		if (!column)
			return "";
		return (column[0] / 1e9).toFixed(digits()) + "s to " + (column[1] / 1e9).toFixed(digits()) + "s: " +
			column[2] + " calls" + (column[2] ? "; " + column.slice(3).join(", ") : "");
	});
	say("distribution", function (share) {
		const p = 1 - Math.pow(10, -share * data.right);
		const rank = ranks.find(function (r) { return r[0] >= Math.min(p * data.count, data.count - 1e-6); });

		if (!rank)
			return "";
		return "p" + (100 * p).toPrecision(7).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "") + ": at most " + rank[1];
	});
})();
