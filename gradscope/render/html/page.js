// Keys, clicks, search: what the reader does with the page.
const page = (() => {
  const byId = (id) => document.getElementById(id);
  const [canvas, svg, world, where] = ["canvas", "svg", "world", "where"].map(byId);
  const state = { way: D.way, view: null, chosen: null, finding: -1 };
  const say = (text) => { where.textContent = text; };

  // -- moving and zooming -----------------------------------------------------------------------

  const panzoom = Panzoom(world, { canvas: true, maxScale: 6, minScale: 0.02, step: 0.35, cursor: "", animate: false });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoomAt(Math.exp(-Math.sign(event.deltaY) * 0.18), event.clientX, event.clientY);
  }, { passive: false });
  /** Zooms so that what lies at a point of the window stays there. */
  function zoomAt(factor, x, y) {
    const frame = svg.getBoundingClientRect();
    const [at, to] = [panzoom.getScale(), Math.min(6, Math.max(0.02, panzoom.getScale() * factor))];
    const { x: px, y: py } = panzoom.getPan();
    const [left, top] = [x - frame.left, y - frame.top];
    put(to, left - (left - px * at) * to / at, top - (top - py * at) * to / at);
  }
  const zoomMiddle = (factor) => {
    const frame = svg.getBoundingClientRect();
    zoomAt(factor, frame.left + frame.width / 2, frame.top + frame.height / 2);
  };
  const LEGIBLE = 0.5;
  /** Puts the origin of the picture to a point of the canvas. */
  function put(scale, left, top) {
    panzoom.zoom(scale, { animate: false, force: true });
    panzoom.pan(left / scale, top / scale, { animate: false, force: true });
  }
  const screen = (x, y) => {
    const scale = panzoom.getScale();
    const { x: px, y: py } = panzoom.getPan();
    return [(x + px) * scale, (y + py) * scale];
  };
  /** Shows all of the picture; where that is not legible its top, at the scale `least`. */
  function fit(least = 0) {
    const { width, height } = canvas.getBoundingClientRect();
    const { x, y, w, h } = drawing.bounds(state.view);
    if (!width || !w) return;
    const whole = Math.min(1.25, (width - 24) / w, (height - 24) / h);
    const scale = whole >= LEGIBLE ? whole : Math.max(least, whole);
    const left = Math.max(12, (width - w * scale) / 2);
    const top = Math.max(12, (height - h * scale) / 2);
    put(scale, (w * scale > width ? 12 : left) - x * scale, (h * scale > height ? 12 : top) - y * scale);
  }
  /** Brings boxes into sight, from farther away where they would not fit; the first of them where that is too far. */
  function revealAll(boxes) {
    const { width, height } = canvas.getBoundingClientRect();
    const [x, y] = [Math.min(...boxes.map((b) => b.x)), Math.min(...boxes.map((b) => b.y))];
    const [w, h] = [Math.max(...boxes.map((b) => b.x + b.w)) - x, Math.max(...boxes.map((b) => b.y + b.h)) - y];
    const least = Math.min((width - 84) / w, (height - 84) / h);
    if (least >= 0.45 && least < panzoom.getScale()) zoomMiddle(least / panzoom.getScale());
    reveal(least >= 0.45 ? { x, y, w, h } : boxes[0]);
  }
  function inSight(box) {
    const { width, height } = canvas.getBoundingClientRect();
    const [[left, top], [right, low]] = [screen(box.x, box.y), screen(box.x + box.w, box.y + box.h)];
    return left >= 0 && top >= 0 && right <= width && low <= height;
  }
  /** Brings a box into sight, moving no more than is needed. */
  function reveal(box) {
    const { width, height } = canvas.getBoundingClientRect();
    const scale = panzoom.getScale();
    const [left, top] = screen(box.x, box.y);
    const [right, low] = screen(box.x + box.w, box.y + box.h);
    const by = (start, end, size) => start < 20 ? 40 - start : end > size - 20 ? Math.max(size - 40 - end, 40 - start) : 0;
    const [dx, dy] = [by(left, right, width), by(top, low, height)];
    if (dx || dy) panzoom.pan(dx / scale, dy / scale, { relative: true, animate: false, force: true });
  }

  // -- drawing ------------------------------------------------------------------------------------

  function redraw(keep) {
    state.view = model.visible(state.way);
    drawing.draw(state.view);
    const looks = new Set([...state.view.shown.values()].flatMap((box) => [box.data.look, ...box.rows.map((node) => model.nodes[node].look)]));
    document.querySelectorAll("#legend [data-look]").forEach((item) => { item.hidden = !looks.has(item.dataset.look); });
    const boxes = [...state.view.shown.values()];
    const held = boxes.flatMap((box) => [box.data, ...box.rows.map((node) => model.nodes[node])]).concat(state.view.clusters);
    const marks = { "✂": boxes.some(({ data }) => data.cut && data.k !== "cut"), "▲": held.some((data) => data.causes), "▽": held.some((data) => data.effects), "×n": held.some((data) => data.c) };
    document.querySelectorAll("#legend [data-mark]").forEach((item) => { item.hidden = !marks[item.dataset.mark]; });
    const arrows = new Set(state.view.arrows.map((arrow) => arrow.look));
    document.querySelectorAll("#legend [data-arrow]").forEach((item) => { item.hidden = !arrows.has(item.dataset.arrow); });
    document.querySelectorAll("[data-way]").forEach((button) => {
      const on = button.dataset.way === state.way;
      button.setAttribute("aria-checked", String(on));
      button.tabIndex = on ? 0 : -1;
    });
    if (keep) keep();
    again();
  }
  /** Marks anew what was chosen. */
  function again() {
    const box = state.chosen && find(state.chosen);
    if (box) box.element.classList.add("chosen");
    if (state.finding >= 0) markFinding(state.finding);
    light();
  }
  const find = (node) => state.view.shown.get(state.view.seen[node]) || null;
  const named = (id) => id[0] === "b" ? model.ways[state.way].boxes[id.slice(1)] : model.nodes[id.slice(1)];

  function toggle(id) {
    const { boxes } = model.ways[state.way];
    const box = boxes[id];
    if (!box || !box.kids.length) return;
    const corner = [...state.view.shown.values(), ...state.view.clusters].find((b) => b.id === `b${id}` || b.id === id);
    const [left, top] = corner ? screen(corner.x, corner.y) : [40, 40];
    box.opened = !box.opened;
    redraw(() => {
      const now = box.opened ? box : state.view.shown.get(`b${id}`);
      const scale = panzoom.getScale();
      put(scale, left - now.x * scale, top - now.y * scale);
    });
    const first = box.opened ? [...state.view.shown.values()].filter((b) => within(b, id)).sort((a, b) => a.order - b.order)[0]
      : state.view.shown.get(`b${id}`);
    choose(first, false);
    if (!box.opened) reveal(first);
    say(`${box.l} ${box.opened ? `opened: ${box.kids.length} boxes` : "closed"}`);
  }
  function within(box, id) {
    for (let at = box.up; at !== undefined; at = model.ways[state.way].boxes[at].up) if (at === id) return true;
    return false;
  }
  /** Opens or closes the boxes of one depth, all of them. */
  function level(open) {
    const { boxes } = model.ways[state.way];
    const view = state.view;
    if (open) {
      const closed = [...view.shown.values()].filter((b) => b.id[0] === "b" && b.data.kids.length).map((b) => b.data);
      if (view.shown.size + closed.reduce((sum, b) => sum + b.kids.length, 0) > 900) {
        say("more boxes than can be drawn at once: open single ones");
        return;
      }
      closed.forEach((box) => { box.opened = true; });
    } else {
      const parents = new Set([...view.shown.values()].map((b) => b.up));
      const deepest = view.clusters.filter((c) => parents.has(c.id) && !view.clusters.some((other) => other.up === c.id));
      deepest.forEach((box) => { box.opened = false; });
      boxes.forEach((box) => { if (box.up !== undefined && !boxes[box.up].opened) box.opened = false; });
    }
    redraw(() => fit(0.5));
    const chosen = state.chosen !== null ? find(state.chosen) : null;
    if (chosen) reveal(chosen);
    say(`${state.view.shown.size} boxes`);
  }
  function setWay(way) {
    state.way = way;
    redraw(() => fit(0.8));
    if (state.chosen !== null && find(state.chosen)) reveal(find(state.chosen));
    say(`boxes are ${way}s: ${state.view.shown.size}`);
  }

  // -- choosing ---------------------------------------------------------------------------------------

  function choose(box = null, follow = true) {
    world.querySelectorAll(".chosen").forEach((other) => other.classList.remove("chosen"));
    state.chosen = box ? box.nodes[0] : null;
    panels.tell(box);
    if (box) {
      box.element.classList.add("chosen");
      if (box.data.at) panels.markLines([box.data.at], follow);
      const ways = lit(box.nodes);
      const cut = ways.lost && [...ways.nodes].map((node) => model.nodes[node]).find((node) => node.severs);
      const none = !ways.lost ? "" : cut ? `; no gradient comes here: ${cut.l} (${cut.d}) cuts it off` : "; no gradient comes here";
      say(`${box.data.l}${box.data.d ? `, ${box.data.d}` : ""}${box.data.c ? `, ×${box.data.c}` : ""}${none}`);
    }
    light();
  }
  /** Opens what hides these nodes, chooses the box of the first, and shows it. */
  function chooseNodes(nodes) {
    if (!nodes.length) return;
    const box = find(nodes[0]);
    choose(box, false);
    if (box) reveal(box);
  }
  function uncover(node) {
    const { boxes, owner } = model.ways[state.way];
    if (!owner.has(node)) return false;
    let changed = false;
    for (let at = boxes[owner.get(node)].up; at !== undefined; at = boxes[at].up) {
      changed = changed || !boxes[at].opened;
      boxes[at].opened = true;
    }
    return changed;
  }
  const nodesOf = (ids) => [...new Set(ids.map((id) => D.parameters[id]).filter((node) => node !== undefined))];
  function chooseLine(file, line) {
    panels.markLines([[file, line]], false);
    const atoms = model.nodes.flatMap((node, at) => node.at && node.at[0] === file && node.at[1] === line ? [at] : []);
    const named = state.view && [...state.view.shown.values()].find((b) => b.data.at && b.data.at[0] === file && b.data.at[1] === line);
    const box = named || (atoms.length ? find(atoms[0]) : null);
    if (!box) {
      say(`line ${line}: nothing of it is in the picture`);
      return;
    }
    show("picture");
    choose(box, false);
    panels.markLines([[file, line]], false);
    reveal(box);
  }
  function showLine(file, line) {
    show("source");
    panels.markLines([[file, line]]);
  }
  function openParameter(id) {
    show("parameters");
    panels.openParameter(id);
  }

  // -- ways of gradients -------------------------------------------------------------------------------

  const lit = (nodes) => model.lights(nodes);
  /** Lights the way of the gradient to these nodes; without any, to what is chosen. */
  function light(nodes) {
    world.classList.remove("dimmed");
    world.querySelectorAll(".lit,.lost").forEach((other) => {
      other.classList.remove("lit", "lost");
      const path = other.querySelector("path");
      if (path && other.dataset.end) path.setAttribute("marker-end", other.dataset.end);
      if (path) path.removeAttribute("marker-start");
    });
    const chosen = state.chosen !== null ? find(state.chosen) : null;
    const targets = nodes || (chosen ? chosen.nodes : []);
    if (!targets.length) return;
    const { nodes: found, lost } = lit(targets);
    if (!found.size) return;
    const kind = lost ? "lost" : "lit";
    world.classList.add("dimmed");
    for (const box of state.view.shown.values()) if (box.nodes.some((node) => found.has(node))) box.element.classList.add(kind);
    for (const arrow of state.view.arrows) {
      if (!model.runs(arrow.edges, found, lost)) continue;
      arrow.element.classList.add(kind);
      const path = arrow.element.querySelector("path");
      if (!lost) {
        arrow.element.dataset.end = `url(#a-${arrow.look})`;
        path.setAttribute("marker-start", "url(#a-lit)");
        path.removeAttribute("marker-end");
      }
    }
  }

  // -- findings ------------------------------------------------------------------------------------------

  const articles = [...document.querySelectorAll("details.finding")];
  function markFinding(number) {
    world.querySelectorAll(".told").forEach((other) => other.classList.remove("told"));
    for (const node of findingNodes(number)) {
      const box = find(node);
      if (box) box.element.classList.add("told");
    }
  }
  function findingNodes(number) {
    const [causes, effects] = D.pointed[number] || [[], []];
    return [...new Set([...causes, ...nodesOf(D.findings[number].params), ...effects])];
  }
  /** Shows a finding: its text, its boxes, its lines. */
  function openFinding(number) {
    if (!articles.length) return;
    state.finding = (number + articles.length) % articles.length;
    articles.forEach((article, at) => { article.open = at === state.finding; });
    const article = articles[state.finding];
    article.scrollIntoView({ block: "nearest" });
    article.querySelector("summary").focus({ preventScroll: true });
    tellFinding();
  }
  function tellFinding() {
    const nodes = findingNodes(state.finding);
    choose(null);
    markFinding(state.finding);
    const lines = [...articles[state.finding].querySelectorAll("button.place")].map((b) => [Number(b.dataset.file), Number(b.dataset.line)]);
    panels.markLines(lines);
    const boxes = nodes.map(find).filter(Boolean);
    if (boxes.length) revealAll(boxes);
    say(`${D.findings[state.finding].code}: ${boxes.length ? `${new Set(boxes).size} boxes are outlined` : "nothing of it is in the picture"}`);
  }
  articles.forEach((article, number) => article.addEventListener("toggle", () => {
    if (article.open && state.finding !== number) {
      articles.forEach((other) => { if (other !== article) other.open = false; });
      state.finding = number;
      tellFinding();
    } else if (!article.open && state.finding === number) {
      state.finding = -1;
      world.querySelectorAll(".told").forEach((other) => other.classList.remove("told"));
      panels.markLines([]);
    }
  }));

  // -- search ------------------------------------------------------------------------------------------------

  const [field, hits] = [byId("search"), byId("hits")];
  let found = [];
  let at = -1;
  /** What reads alike is one hit: the first of them. */
  function once(hits) {
    const known = new Map();
    for (const hit of hits) {
      const key = `${hit.text}\n${hit.kind}`;
      const first = known.get(key);
      if (first) first.times += 1;
      else known.set(key, { ...hit, times: 1 });
    }
    return [...known.values()];
  }
  /** The hits that are listed, and how many more there are. */
  function searched(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [[], 0];
    const has = (...texts) => texts.some((t) => t && t.toLowerCase().includes(wanted));
    const boxes = Object.entries(model.ways).sort(([way]) => way === state.way ? -1 : 1).flatMap(([way, all]) => all.boxes
      .filter((box) => has(box.l, box.m, box.k === "module" ? box.d : "", ...(box.of || []).flatMap((n) => model.nodes[n].fn || [])))
      .map((box) => ({ text: box.l, kind: `${box.k === "module" ? box.d : box.k} · ${way}s`, go: () => goBox(way, box) })));
    const named = new Set(D.params.map((p) => p.name));
    const leaves = model.nodes.flatMap((node, number) => !model.ways.line.owner.has(number) && node.p === undefined && has(node.l) && !named.has(node.l)
      ? [{ text: node.l, kind: node.k, go: () => { show("picture"); chooseNodes([number]); } }] : []);
    const parameters = D.params.filter((p) => has(p.name)).map((p) => ({ text: p.name, kind: `parameter · ${p.got}`, go: () => openParameter(p.id) }));
    const findings = D.findings.flatMap((f, number) => has(f.code, articles[number].querySelector(".message").textContent)
      ? [{ text: articles[number].querySelector(".message").textContent, kind: f.code, go: () => { show("findings"); openFinding(number); } }] : []);
    const lines = [...document.querySelectorAll(".line")].filter((line) => has(line.querySelector("code").textContent))
      .map((line) => {
        const [file, number] = line.id.slice(1).split("-").map(Number);
        return { text: line.querySelector("code").textContent.trim(), kind: `line ${number}`, go: () => { chooseLine(file, number); showLine(file, number); } };
      });
    const exact = (hit) => hit.text.toLowerCase() === wanted ? 0 : 1;
    const first = (a, b) => exact(a) - exact(b);
    const kinds = [[parameters, 12], [boxes, 14], [leaves, 6], [findings, 6], [lines, 10]].map(([hits, most]) => [once(hits).sort(first), most]);
    const listed = kinds.flatMap(([hits, most]) => hits.slice(0, most)).sort(first);
    return [listed, kinds.reduce((sum, [hits]) => sum + hits.length, 0) - listed.length];
  }
  function goBox(way, box) {
    show("picture");
    if (way !== state.way) setWay(way);
    const node = box.atoms[0];
    const seen = find(node);
    const hidden = seen && seen.data !== box && !box.opened;
    if (hidden) {
      for (let up = box.up; up !== undefined; up = model.ways[way].boxes[up].up) model.ways[way].boxes[up].opened = true;
      redraw();
    }
    const shown = state.view.shown.get(`b${box.id}`) || find(node);
    choose(shown);
    reveal(shown);
  }
  function list() {
    let more;
    [found, more] = searched(field.value);
    at = found.length ? 0 : -1;
    hits.replaceChildren(...found.map((hit, number) => {
      const item = panels.element("li", { role: "option", id: `hit-${number}` }, panels.element("span", {}, hit.text),
        panels.element("span", {}, hit.times > 1 ? `${hit.kind}, the first of ${hit.times}` : hit.kind));
      item.addEventListener("mousedown", (event) => { event.preventDefault(); go(number); });
      return item;
    }));
    if (field.value.trim() && !found.length) hits.append(panels.element("li", {}, panels.element("span", {}, "nothing is called so")));
    if (more) hits.append(panels.element("li", { class: "more" }, panels.element("span", {}, `and ${more} more: type more of it`)));
    hits.hidden = !field.value.trim();
    field.setAttribute("aria-expanded", String(!hits.hidden));
    mark();
  }
  function mark() {
    [...hits.children].forEach((item, number) => item.setAttribute("aria-selected", String(number === at)));
    if (at >= 0) {
      field.setAttribute("aria-activedescendant", `hit-${at}`);
      hits.children[at].scrollIntoView({ block: "nearest" });
    } else field.removeAttribute("aria-activedescendant");
  }
  function go(number) {
    hits.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.blur();
    canvas.focus({ preventScroll: true });
    found[number].go();
  }
  field.addEventListener("input", list);
  field.addEventListener("focus", () => { if (field.value) list(); });
  field.addEventListener("blur", () => { hits.hidden = true; });
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      at = found.length ? (at + (event.key === "ArrowDown" ? 1 : -1) + found.length) % found.length : -1;
      mark();
      event.preventDefault();
    } else if (event.key === "Enter") {
      event.preventDefault();  // what gets the focus is not pressed by this key
      if (at >= 0) go(at);
    }
    else if (event.key === "Escape") {
      field.value = "";
      list();
      canvas.focus({ preventScroll: true });
    }
  });

  // -- what is beside the picture ---------------------------------------------------------------------------------

  const tabs = [...document.querySelectorAll("[role=tab]")];
  function show(pane) {
    document.body.dataset.pane = pane;
    document.querySelectorAll("nav button").forEach((b) => b.setAttribute("aria-current", String(b.dataset.to === pane)));
    if (["source", "parameters", "steps"].includes(pane)) {
      for (const tab of tabs) {
        const on = tab.id === `tab-${pane}`;
        tab.setAttribute("aria-selected", String(on));
        tab.tabIndex = on ? 0 : -1;
        byId(tab.getAttribute("aria-controls")).hidden = !on;
      }
    }
  }
  tabs.forEach((tab, number) => {
    tab.addEventListener("click", () => show(tab.id.slice(4)));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) {
        const next = tabs[(number + step + tabs.length) % tabs.length];
        show(next.id.slice(4));
        next.focus();
      }
    });
  });
  document.querySelectorAll("nav button").forEach((button) => button.addEventListener("click", () => show(button.dataset.to)));
  document.addEventListener("click", (event) => {
    const place = event.target.closest("button.place");
    if (place) showLine(Number(place.dataset.file), Number(place.dataset.line));
  });

  // -- mouse in the picture -----------------------------------------------------------------------------------------

  let pressed = [0, 0];
  canvas.addEventListener("pointerdown", (event) => {
    pressed = [event.clientX, event.clientY];
    canvas.focus({ preventScroll: true });
  }, true);
  const still = (event) => Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) < 5;
  const target = (event) => {
    const box = event.target.closest("[data-box]");
    if (box) return { box: state.view.shown.get(box.dataset.box), toggle: event.target.closest(".toggle") && Number(box.dataset.box.slice(1)) };
    const cluster = event.target.closest("[data-cluster]");
    return cluster ? { cluster: Number(cluster.dataset.cluster), toggle: event.target.closest(".toggle") && Number(cluster.dataset.cluster) } : {};
  };
  canvas.addEventListener("click", (event) => {
    if (!still(event)) return;
    const { box, toggle: one, cluster } = target(event);
    if (one !== null && one !== undefined && one !== false) toggle(one);
    else if (box) choose(box);
    else if (cluster === undefined) choose();
  });
  canvas.addEventListener("dblclick", (event) => {
    const { box, cluster } = target(event);
    if (event.target.closest(".toggle")) return;
    if (box && box.id[0] === "b") toggle(Number(box.id.slice(1)));
    else if (cluster !== undefined) toggle(cluster);
  });
  canvas.addEventListener("pointerover", (event) => {
    if (event.buttons) return;
    const { box } = target(event);
    light(box ? box.nodes : undefined);
  });
  canvas.addEventListener("pointerleave", () => light());

  // -- keys ------------------------------------------------------------------------------------------------------------

  function step(dx, dy) {
    const boxes = [...state.view.shown.values()];
    const now = state.chosen !== null ? find(state.chosen) : null;
    if (!now) {
      const first = boxes.sort((a, b) => a.y - b.y)[0];
      choose(first);
      reveal(first);
      return;
    }
    const middle = (b) => [b.x + b.w / 2, b.y + b.h / 2];
    const [x, y] = middle(now);
    const far = (b) => {
      const [bx, by] = middle(b);
      const [along, aside] = dx ? [(bx - x) * dx, Math.abs(by - y)] : [(by - y) * dy, Math.abs(bx - x)];
      return along < 4 ? Infinity : along + 2 * aside;
    };
    const next = boxes.filter((b) => b !== now).sort((a, b) => far(a) - far(b))[0];
    if (next && far(next) < Infinity) {
      choose(next);
      reveal(next);
    }
  }
  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const box = state.chosen !== null ? find(state.chosen) : null;
    if (ARROWS[event.key]) {
      const [dx, dy] = ARROWS[event.key];
      if (event.shiftKey) panzoom.pan(-dx * 80 / panzoom.getScale(), -dy * 80 / panzoom.getScale(), { relative: true, force: true });
      else step(dx, dy);
    } else if ((event.key === "Enter" || event.key === " ") && box) {
      if (box.data.kids && box.data.kids.length) toggle(box.data.id);
      else if (box.up !== undefined && event.key === "Enter") toggle(box.up);
    } else if (event.key === "Backspace" && box && box.up !== undefined) toggle(box.up);
    else if (event.key === "s" && box && box.data.at) showLine(...box.data.at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const actions = {
    in: () => zoomMiddle(1.3), out: () => zoomMiddle(1 / 1.3), fit: () => fit(), open: () => level(true), shut: () => level(false),
  };
  const help = byId("help");
  const keyed = {
    "/": () => field.focus(), "?": () => help.showModal(), n: () => openFinding(state.finding + 1),
    p: () => openFinding(state.finding < 0 ? articles.length - 1 : state.finding - 1), m: () => setWay("module"), l: () => setWay("line"), o: actions.open,
    c: actions.shut, f: actions.fit, "+": actions.in, "=": actions.in, "-": actions.out, g: () => { show("picture"); canvas.focus(); },
    1: () => show("source"), 2: () => show("parameters"), 3: () => show("steps"),
    Escape: () => { choose(); if (state.finding >= 0) articles[state.finding].open = false; },
  };
  help.addEventListener("click", (event) => { if (event.target === help) help.close(); });  // beside it
  document.addEventListener("keydown", (event) => {
    if (help.open && event.key === "?") {
      help.close();
      event.preventDefault();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || help.open || event.defaultPrevented) return;
    if (event.target.matches("input,select,textarea")) return;
    const action = keyed[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (action) {
      action();
      event.preventDefault();
    }
  });
  byId("help-button").addEventListener("click", () => help.showModal());
  document.querySelectorAll("[data-do]").forEach((button) => button.addEventListener("click", () => actions[button.dataset.do]()));
  document.querySelectorAll("[data-way]").forEach((button) => {
    button.addEventListener("click", () => setWay(button.dataset.way));
    button.addEventListener("keydown", (event) => {
      if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
      const other = document.querySelector(`[data-way]:not([data-way="${button.dataset.way}"])`);
      setWay(other.dataset.way);
      other.focus();
      event.preventDefault();
    });
  });

  function begin() {
    redraw(() => fit(0.8));
    show("picture");
    if (D.notes.length) say(D.notes.join("; "));
    const told = articles.length ? findingNodes(0).map(find).filter(Boolean) : [];
    if (told.length && !told.some(inSight)) revealAll(told);
    document.body.dataset.ready = "yes";
  }
  return { get way() { return state.way; }, state, begin, say, light, lit, toggle, choose, chooseNodes, chooseLine, nodesOf, openFinding, openParameter, uncover, named };
})();
setTimeout(page.begin);  // Panzoom puts things to their start first
