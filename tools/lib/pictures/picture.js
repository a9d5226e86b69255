/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the scripts of pictures share: places, the axis of time, and a zone in which dragging zooms to
 * what is selected, and "all" shows the whole again.
 */
"use strict";
const picture = (function () {
	const get = function (id) { return document.getElementById(id); };
	const whole = {x: 0, y: 0, width: 1, height: 1};

	function box_of(rect) {
		const box = {};

		for (const name of ["x", "y", "width", "height"])
			box[name] = Number(rect.getAttribute(name));
		return box;
	}

	function place(element, x, y, width, height) {
		element.setAttribute("x", x);
		element.setAttribute("y", y);
		element.setAttribute("width", Math.max(width, 0));
		element.setAttribute("height", Math.max(height, 0));
		element.style.display = "";
	}

	/* Where the pointer is in BOX: shares of it from 0 to 1. */
	function pointed(e, box) {
		const point = new DOMPoint(e.clientX, e.clientY)
			.matrixTransform(document.documentElement.getScreenCTM().inverse());
		const share = function (at, from, size) { return Math.min(Math.max((at - from) / size, 0), 1); };

		return {x: share(point.x, box.x, box.width), y: share(point.y, box.y, box.height)};
	}

	/* The labels below BOX are made again for VIEW, of NS as a whole: 1, 2, 5, 10, ... */
	function draw_times(box, view, ns) {
		const group = document.querySelector(".times"), sample = group.querySelector("g");
		const from = view.x * ns / 1e9, width = view.width * ns / 1e9;
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

	/*
	 * Makes ZONE one that zooms, in time only or (BOTH) in values, too.  NS is the whole time.  MOVED is called
	 * with the place of the pointer, LEFT when it leaves, DRAWN with the view, which is shares of the whole.
	 */
	function zooms(zone, both, ns, moved, left, drawn) {
		const box = box_of(zone), selection = get("selection");
		let view = whole, began = null;

		function zoom(to) {
			view = to;
			drawn(view);
			draw_times(box, view, ns);
			left();
			get("reset").style.display = to === whole ? "none" : "";
		}

		/* From where dragging began to P. */
		function selected(p) {
			return {x: Math.min(began.x, p.x), width: Math.abs(began.x - p.x),
				y: both ? Math.min(began.y, p.y) : 0, height: both ? Math.abs(began.y - p.y) : 1};
		}

		zone.addEventListener("mousedown", function (e) {
			if (e.button === 0)
				began = pointed(e, box);
			e.preventDefault();
		});
		zone.addEventListener("mousemove", function (e) {
			const p = pointed(e, box);

			if (!ns)
				return;
			moved(p);
			if (!began)
				return;
			const s = selected(p);

			place(selection, box.x + s.x * box.width, box.y + s.y * box.height, s.width * box.width, s.height * box.height);
		});
		zone.addEventListener("mouseout", left);
		window.addEventListener("mouseup", function (e) {
			if (!began)
				return;
			const s = selected(pointed(e, box));

			began = null;
			selection.style.display = "none";
			/* A click is no selection. */
			if (!ns || s.width * box.width < 4 || s.height * box.height < 4)
				return;
			zoom({x: view.x + s.x * view.width, y: view.y + s.y * view.height,
			      width: s.width * view.width, height: s.height * view.height});
		});
		get("reset").addEventListener("click", function () { zoom(whole); });
	}

	return {get: get, whole: whole, box_of: box_of, place: place, pointed: pointed, zooms: zooms};
})();
