// Lays the boxes that are seen out with dagre and draws them.
const drawing = (() => {
  const NS = "http://www.w3.org/2000/svg";
  const world = document.getElementById("world");
  const svg = document.getElementById("svg");
  const SANS = 'system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif';
  const MONO = 'ui-monospace, Menlo, "Liberation Mono", "DejaVu Sans Mono", monospace';
  const TITLE = 20; // room for the title of an opened box
  const ROWS = 3;
  const canvas = document.createElement("canvas").getContext("2d");

  function make(name, attributes = {}, parent = undefined, text = undefined) {
    const element = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  }

  function width(text, size, bold, mono) {
    canvas.font = `${bold ? 600 : 400} ${size}px ${mono ? MONO : SANS}`;
    return canvas.measureText(text).width;
  }

  const crop = (text, most) => text.length <= most ? text : `${text.slice(0, most - 1).trimEnd()}…`;
  function short(name, most = 44) {
    if (name.length <= most) return name;
    const tail = Math.floor(most * 3 / 5);
    return `${name.slice(0, most - tail - 1)}…${name.slice(-tail)}`;
  }
  const two = (names) => names.slice(0, 2).map((name) => short(name, 34)).join(", ")
    + (names.length > 2 ? ` +${names.length - 2}` : "");
  function wrap(text, most = 42) {
    if (text.length <= most) return [text];
    let at = most;
    for (const match of text.slice(0, most).matchAll(/[ ,(]|\.(?!\d)/g)) if (match.index > most / 3) at = match.index + 1;
    if (text.length - at <= 6) return [text];
    return [text.slice(0, at).trimEnd(), `  ${crop(text.slice(at).trim(), most)}`];
  }

  // -- what a box says -------------------------------------------------------------------

  const SIGNS = { parameter: "●", frozen: "■", severed: "×", unreached: "○", buffer: "□" };
  const many = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

  /** Its rows of text: [text, class, size, bold, mono]. */
  function rowsOf(box) {
    const { data } = box;
    const rows = [];
    const leafBox = data.k === "parameter" || data.k === "buffer";
    const mono = data.k === "line" || data.k === "place" || data.k === "backward";
    if (!leafBox) {
      const sign = data.sign ? `${data.sign} ` : "";
      wrap(data.l).forEach((text, at) => rows.push([at ? text : sign + text, "name", 12, !mono, mono]));
      const fine = [data.d, data.earlier && "an earlier pass", data.s && data.k !== "backward" && `→ ${data.s}`,
        data.c && `×${data.c.toLocaleString("en")}`, box.loops && "↺"];
      if (data.k === "input" && data.t) fine.push("requires grad");
      if (fine.some(Boolean)) rows.push([fine.filter(Boolean).join(" · "), "fine", 10.5]);
      if (data.severs) {
        rows.push([`no gradient for ${two(data.severs)}`, "red", 10.5, true]);
      } else if (data.cut) {
        const stops = data.kept ? `no gradient for ${two(data.kept)}` : "no gradient passes";
        rows.push([data.k === "cut" ? `${data.cut}: ${stops}` : `✂ ${data.cut} inside`, "fine", 10.5]);
      }
      if (data.writes) {
        const known = data.writes.join() !== "a value without a name";
        rows.push([known ? `writes ${short(data.writes.slice(0, 3).join(", "), 48)}` : "in place", "amber", 10.5]);
      }
      if (data.r && !data.r.startsWith("checkpoint")) rows.push([short(data.r, 48), "fine", 10.5]);
      const told = signsOf(box.told);
      if (told) rows.push([told, "red", 10.5, true]);
    }
    return [...rows, ...leafRows(box)];
  }

  /** What findings say of a box. */
  const signsOf = ({ causes, effects }) => [...causes.map((code) => `▲ ${code}`),
    ...effects.map((code) => `▽ ${code}`)].join("  ");

  const codesOf = ({ causes, effects }) => [...causes, ...effects];
  /** The classes of what findings with these codes point at: a note is no error. */
  function tone(codes) {
    const noted = codes.every((code) => D.findings.every((f) => f.code !== code || f.severity === "note"));
    return codes.length ? ` flagged${noted ? " noted" : ""}` : "";
  }

  function leafRows(box) {
    const said = (node) => {
      const leaf = model.nodes[node];
      const facts = [leaf.c ? (leaf.s ? `${leaf.c} of ${leaf.s}` : `×${leaf.c}`) : leaf.s, leaf.frozen && "frozen", leaf.effects && `▽ ${leaf.effects.join(", ")}`];
      return [`${SIGNS[leaf.look] || ""} ${short(below(leaf.l, box.data))}  ${facts.filter(Boolean).join(" ")}`,
        `leaf t-${leaf.look}`, 10.5];
    };
    if (box.rows.length <= ROWS) return box.rows.map(said);
    const rank = (node) => ["severed", "unreached"].indexOf(model.nodes[node].look) + 1 || 3;
    const told = box.rows.filter((node) => model.nodes[node].effects || model.nodes[node].causes || rank(node) < 3)
      .sort((a, b) => rank(a) - rank(b));
    const found = told.slice(0, ROWS).map(said);
    const states = new Map();
    for (const node of box.rows) {
      if (told.slice(0, ROWS).includes(node)) continue;
      const { look } = model.nodes[node];
      states.set(look, [...(states.get(look) || []), node]);
    }
    for (const [look, nodes] of states) {
      const sum = (key) => nodes.reduce((total, node) => total + (model.nodes[node][key] || 1), 0);
      const noun = look === "buffer" ? "buffer" : "parameter";
      const state = { frozen: " (frozen)", severed: " (behind a cut)", unreached: " (without gradient)" }[look] || "";
      const count = told.length ? `and ${many(sum("c"), `more ${noun}`)}` : many(sum("c"), noun);
      found.push([`${SIGNS[look] || ""} ${count}${state}, ${many(sum("n"), "element")}`, `leaf t-${look}`, 10.5]);
    }
    return found;
  }

  function below(name, data) {
    const at = name.indexOf(`${data.l}.`);
    return data.k === "module" && at >= 0 && (at === 0 || name[at - 1] === ".") ? name.slice(at + data.l.length + 1) : name;
  }

  function measured(box) {
    const texts = rowsOf(box);
    const [left, right] = [9, box.data.kids && box.data.kids.length ? 26 : 9];
    const inner = Math.max(24, ...texts.map(([text, , size, bold, mono]) => width(text, size, bold, mono)));
    return { texts, width: Math.ceil(inner + left + right), height: texts.length * 15 + 9 };
  }

  // -- layout --------------------------------------------------------------------------------

  // dagre fails on some graphs whose ranks fall together; it then gets one that is easier to rank.
  const WAYS = [{}, { ranker: "longest-path" }, { ranker: "longest-path", least: 1 }, { flat: true }];

  function laidOut(view) {
    for (const box of view.shown.values()) Object.assign(box, measured(box));
    let graph;
    for (const way of WAYS) {
      graph = asked(view, way);
      try {
        dagre.layout(graph);
        break;
      } catch (error) {
        if (way === WAYS[WAYS.length - 1]) throw error;
      }
    }
    take(view, graph);
  }

  /** The graph for dagre. `least`: the least weight of an arrow; `flat`: without the boxes around others. */
  function asked(view, { ranker = "network-simplex", least = 0, flat = false }) {
    const graph = new dagre.graphlib.Graph({ compound: true, multigraph: true });
    graph.setGraph({ rankdir: "TB", nodesep: 22, edgesep: 12, ranksep: 38, marginx: 16, marginy: 16, ranker });
    graph.setDefaultEdgeLabel(() => ({}));
    const clusters = flat ? [] : view.clusters;
    for (const cluster of clusters) graph.setNode(`c${cluster.id}`, {});
    for (const cluster of clusters) if (cluster.up !== undefined) graph.setParent(`c${cluster.id}`, `c${cluster.up}`);
    for (const box of [...view.shown.values()].sort((a, b) => a.order - b.order)) {
      graph.setNode(box.id, { width: box.width, height: box.height });
      if (box.up !== undefined && !flat) graph.setParent(box.id, `c${box.up}`);
    }
    view.arrows.forEach((arrow, number) => {
      const [tail, head] = back(arrow) ? [arrow.head, arrow.tail] : [arrow.tail, arrow.head];
      const weight = arrow.kind === "flow" && !arrow.back ? (arrow.look === "without" ? 1 : 3) : 0;
      graph.setEdge(tail, head, { weight: Math.max(weight, least), minlen: 1 }, String(number));
    });
    return graph;
  }
  const back = (arrow) => arrow.back || arrow.kind === "alias";

  function take(view, graph) {
    for (const box of view.shown.values()) Object.assign(box, place(graph.node(box.id)));
    for (const cluster of [...view.clusters].reverse()) grow(cluster, view);
    view.arrows.forEach((arrow, number) => {
      const [tail, head] = back(arrow) ? [arrow.head, arrow.tail] : [arrow.tail, arrow.head];
      arrow.points = graph.edge(tail, head, String(number)).points;
      if (back(arrow)) arrow.points = [...arrow.points].reverse();
    });
  }
  const place = ({ x, y, width: w, height: h }) => ({ x: x - w / 2, y: y - h / 2, w, h });

  /** An opened box is as large as what is in it, with room for its title. */
  function grow(cluster, view) {
    const inside = [...view.shown.values()].filter((box) => box.up === cluster.id);
    inside.push(...view.clusters.filter((other) => other.up === cluster.id));
    const [left, top] = [Math.min(...inside.map((b) => b.x)), Math.min(...inside.map((b) => b.y))];
    const [right, low] = [Math.max(...inside.map((b) => b.x + b.w)), Math.max(...inside.map((b) => b.y + b.h))];
    const title = width(`${titleOf(cluster)}  ${signsOf(cluster.told)}`, 11.5, true) + 40;
    const w = Math.max(right - left + 16, Math.min(title, right - left + 160));
    Object.assign(cluster, { x: left - 8, y: top - TITLE - 4, w, h: low - top + TITLE + 12 });
  }

  function path(points) {
    const [first, ...rest] = points;
    let d = `M${first.x.toFixed(1)} ${first.y.toFixed(1)}`;
    for (let at = 0; at < rest.length - 1; at += 1) {
      const [a, b] = [rest[at], rest[at + 1]];
      const end = at === rest.length - 2 ? b : { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
      d += `Q${a.x.toFixed(1)} ${a.y.toFixed(1)} ${end.x.toFixed(1)} ${end.y.toFixed(1)}`;
    }
    return rest.length === 1 ? `${d}L${rest[0].x.toFixed(1)} ${rest[0].y.toFixed(1)}` : d;
  }

  // -- drawing ---------------------------------------------------------------------------------

  const markers = make("defs");
  for (const look of ["flow", "without", "severed", "alias", "finding", "lit"]) {
    const marker = make("marker", { id: `a-${look}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7,
      markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" }, markers);
    make("path", { d: "M0 0L8 4L0 8z" }, marker);
  }
  svg.prepend(markers);

  function draw(view) {
    laidOut(view);
    world.replaceChildren();
    view.clusters.forEach((cluster) => drawCluster(cluster));
    for (const arrow of view.arrows) drawArrow(arrow);
    for (const cluster of view.clusters) drawTitle(cluster);
    for (const box of view.shown.values()) drawBox(box);
  }

  function drawCluster(cluster) {
    const depth = depthOf(cluster);
    const flagged = tone(codesOf(cluster.told));
    const group = make("g", { class: `cluster${depth % 2 ? " even" : ""}${flagged}`, "data-cluster": cluster.id }, world);
    make("rect", { x: cluster.x, y: cluster.y, width: cluster.w, height: cluster.h, rx: 7 }, group);
    make("title", {}, group, `${cluster.l}\n${cluster.d || ""}\nEnter or a double click closes it`);
  }
  function drawTitle(cluster) {
    const group = make("g", { class: `title${tone(codesOf(cluster.told))}`, "data-cluster": cluster.id }, world);
    const text = make("text", { x: cluster.x + 26, y: cluster.y + 15 }, group, titleOf(cluster));
    const told = signsOf(cluster.told);
    if (told) make("tspan", { class: "red" }, text, `\u00a0\u00a0${told}`);
    sign(group, cluster.x + 13, cluster.y + 11, "−");
    make("title", {}, group, `${cluster.l}\n${cluster.d || ""}`);
  }
  const titleOf = (cluster) => crop(cluster.l, 60) + (cluster.c ? `  ×${cluster.c}` : "");
  function depthOf(cluster) {
    const { boxes } = model.ways[page.way];
    let depth = 0;
    for (let at = cluster.up; at !== undefined; at = boxes[at].up) depth += 1;
    return depth;
  }
  function sign(group, x, y, text) {
    const button = make("g", { class: "toggle" }, group);
    make("rect", { class: "button", x: x - 7, y: y - 7, width: 14, height: 14, rx: 3 }, button);
    make("text", { class: "plus", x, y: y + 4 }, button, text);
  }

  function drawArrow(arrow) {
    const group = make("g", { class: `edge ${arrow.look}` }, world);
    arrow.element = group;
    make("path", { d: path(arrow.points), "marker-end": `url(#a-${arrow.look})` }, group);
    const names = [...arrow.labels];
    const shown = arrow.kind === "alias" ? `same memory${names.length ? ` as ${names[0]}` : ""}` : arrow.kind === "finding" ? names[0] : "";
    const middle = arrow.points[Math.floor(arrow.points.length / 2)];
    if (shown) make("text", { x: middle.x + 5, y: middle.y }, group, short(shown, 30));
    const told = arrow.kind === "flow" ? `${names.slice(0, 3).join(", ")}${arrow.count > 1 ? ` ×${arrow.count}` : ""}` : shown;
    make("title", {}, group, `${told || "data"}${arrow.look === "severed" ? "\nthe gradient is lost here" : arrow.look === "without" ? "\nwithout a graph" : ""}`);
  }

  function drawBox(box) {
    const { data } = box;
    const opens = Boolean(data.kids && data.kids.length);
    const flagged = tone([...codesOf(box.told), ...box.rows.flatMap((node) => model.nodes[node].effects || [])]);
    const mono = data.k === "line" || data.k === "place" || data.k === "backward";
    const group = make("g", { class: `box o-${data.look}${flagged}${mono ? " mono" : ""}${opens ? " shut" : ""}`,
      "data-box": box.id }, world);
    box.element = group;
    const { x, y, w, h } = box;
    const round = data.k === "constant" ? h / 2 : data.look === "op" ? 0 : 6;
    if (opens) make("rect", { class: "under", x: x + 3, y: y + 3, width: w, height: h, rx: round }, group);
    make("rect", { class: "body", x, y, width: w, height: h, rx: round }, group);
    box.texts.forEach(([text, kind], at) => {
      make("text", { class: kind, x: x + 9, y: y + 16 + at * 15 }, group, text);
    });
    if (opens) sign(group, x + w - 13, y + 12, "+");
    make("title", {}, group, tooltip(box));
  }

  function tooltip({ data, rows }) {
    const at = data.at ? `${D.files[data.at[0]]}:${data.at[1]}` : "";
    const names = rows.slice(0, 8).map((node) => model.nodes[node].l).join(", ");
    return [data.l, at, data.m && `in ${data.m}`, (data.fn || []).join(", "), names].filter(Boolean).join("\n");
  }

  /** All that is drawn, as {x, y, w, h}. */
  function bounds(view) {
    const all = [...view.shown.values(), ...view.clusters];
    const [left, top] = [Math.min(...all.map((b) => b.x)), Math.min(...all.map((b) => b.y))];
    return { x: left, y: top, w: Math.max(...all.map((b) => b.x + b.w)) - left, h: Math.max(...all.map((b) => b.y + b.h)) - top };
  }

  return { draw, bounds, make };
})();
