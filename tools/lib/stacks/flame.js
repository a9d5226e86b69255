/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a flame graph does when it is looked at: a click on a frame makes it as wide as the
 * picture, with what it called above it; Ctrl-F or a click on "search" marks the frames
 * whose names match.  Each frame is a <g> with its place in data-*: where it begins and
 * how wide it is, as shares of the whole, and its depth.
 */
"use strict";
(function () {
	const svg = document.documentElement;
	const width = Number(svg.dataset.width);
	const character = Number(svg.dataset.character);
	const frames = Array.from(svg.querySelectorAll("g.frame")).map(function (g) {
		return {
			g: g,
			rect: g.querySelector("rect"),
			text: g.querySelector("text"),
			name: g.dataset.name,
			from: Number(g.dataset.from),
			share: Number(g.dataset.share),
			depth: Number(g.dataset.depth),
		};
	});
	const details = document.getElementById("details");
	const matched = document.getElementById("matched");
	const reset = document.getElementById("reset");
	const edge = 1e-9; /* shares are decimal fractions */

	function label(frame, pixels) {
		const room = Math.floor((pixels - 6) / character);

		if (room < 3)
			return "";
		return frame.name.length <= room ? frame.name : frame.name.slice(0, room - 2) + "..";
	}

	function place(frame, from, share) {
		const pixels = share * width;

		frame.g.style.display = pixels < 0.1 ? "none" : "";
		frame.rect.setAttribute("x", from * width);
		frame.rect.setAttribute("width", pixels);
		frame.text.setAttribute("x", from * width + 3);
		frame.text.textContent = label(frame, pixels);
	}

	function zoom(to) {
		for (const f of frames) {
			const inside = f.from >= to.from - edge && f.from + f.share <= to.from + to.share + edge;

			if (f.depth < to.depth && f.from <= to.from + edge &&
			    f.from + f.share >= to.from + to.share - edge) {
				place(f, 0, 1);
				f.g.classList.add("caller");
			} else if (inside && f.depth >= to.depth) {
				place(f, (f.from - to.from) / to.share, f.share / to.share);
				f.g.classList.remove("caller");
			} else {
				f.g.style.display = "none";
			}
		}
		reset.style.display = to.depth ? "" : "none";
	}

	/* Frames inside one that matches are not counted again. */
	function search(pattern) {
		const hits = [];
		let expression, share = 0, end = -1;

		try {
			expression = new RegExp(pattern);
		} catch (e) {
			matched.textContent = "not a regular expression: " + pattern;
			return;
		}
		for (const f of frames) {
			const hit = pattern !== "" && f.depth > 0 && expression.test(f.name);

			f.g.classList.toggle("match", hit);
			if (hit)
				hits.push(f);
		}
		hits.sort(function (a, b) { return a.from - b.from || b.share - a.share; });
		for (const f of hits) {
			if (f.from < end - edge)
				continue;
			share += f.share;
			end = f.from + f.share;
		}
		matched.textContent = pattern === "" ? "" : "matched: " + (100 * share).toFixed(1) + " %";
	}

	function ask() {
		const pattern = window.prompt("frames whose names match (a regular expression; empty: none):", "");

		if (pattern !== null)
			search(pattern);
	}

	for (const f of frames) {
		f.g.addEventListener("click", function () { zoom(f); });
		f.g.addEventListener("mouseover", function () { details.textContent = f.g.querySelector("title").textContent; });
		f.g.addEventListener("mouseout", function () { details.textContent = ""; });
	}
	reset.addEventListener("click", function () { zoom(frames[0]); });
	document.getElementById("search").addEventListener("click", ask);
	window.addEventListener("keydown", function (e) {
		if (e.key === "f" && (e.ctrlKey || e.metaKey)) {
			e.preventDefault();
			ask();
		}
	});
	if (frames.length) /* a graph of no stacks has none */
		zoom(frames[0]);
})();
