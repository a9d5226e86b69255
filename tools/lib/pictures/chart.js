/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a chart does when it is looked at: above the percentiles over time the pointer says what they
 * are in that interval, and dragging zooms to a time; above the distribution it says which percentile
 * is there.
 */
"use strict";
(function () {
	const get = picture.get;
	const data = JSON.parse(get("data").textContent);
	const columns = data.columns, ranks = data.ranks, details = get("details"), plot = get("plot");
	const end = columns.length ? columns[columns.length - 1][1] : 0;
	const box = picture.box_of(get("over-time"));
	let view = picture.whole;

	/* SHARE of the width of a frame. */
	function point_at(id, share, what) {
		const frame = picture.box_of(get(id)), pointer = get(id + "-pointer");

		pointer.setAttribute("x1", frame.x + share * frame.width);
		pointer.setAttribute("x2", frame.x + share * frame.width);
		pointer.style.display = "";
		details.textContent = what(share);
	}

	function hide(id) {
		get(id + "-pointer").style.display = "none";
		details.textContent = "";
	}

	function interval_at(share) {
		const column = columns.find(function (c) { return c[1] >= (view.x + share * view.width) * end; });
		const digits = function () { return Math.max(1, Math.ceil(2 - Math.log10((column[1] - column[0]) / 1e9 + 1e-9))); };

		if (!column)
			return "";
		return (column[0] / 1e9).toFixed(digits()) + "s to " + (column[1] / 1e9).toFixed(digits()) + "s: " +
			column[2] + " calls" + (column[2] ? "; " + column.slice(3).join(", ") : "");
	}

	function rank_at(share) {
		const p = 1 - Math.pow(10, -share * data.right);
		const rank = ranks.find(function (r) { return r[0] >= Math.min(p * data.count, data.count - 1e-6); });

		if (!rank)
			return "";
		return "p" + (100 * p).toPrecision(7).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "") + ": at most " + rank[1];
	}

	picture.zooms(get("over-time"), false, end, function (p) { point_at("over-time", p.x, interval_at); },
		      function () { hide("over-time"); }, function (to) {
		view = to;
		plot.setAttribute("viewBox", [box.x + view.x * box.width, box.y, view.width * box.width, box.height].join(" "));
	});
	get("distribution").addEventListener("mousemove", function (e) {
		point_at("distribution", picture.pointed(e, picture.box_of(this)).x, rank_at);
	});
	get("distribution").addEventListener("mouseout", function () { hide("distribution"); });
})();
