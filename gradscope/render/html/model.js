"use strict";
// What the page shows, as data: which boxes are seen, which arrows run between them, where gradients go.
const D = JSON.parse(document.getElementById("data").textContent);

const model = (() => {
  const { nodes, edges } = D;
  const LEAVES = new Set(["parameter", "buffer"]);
  const ways = {};
  for (const [name, boxes] of Object.entries(D.ways)) {
    const owner = new Map();
    boxes.forEach((box, id) => {
      if (box.of) Object.assign(box, { ...nodes[box.of[0]], ...box });
      Object.assign(box, { id, kids: [], opened: Boolean(box.open) });
      if (box.up !== undefined) boxes[box.up].kids.push(id);
      for (const node of box.of || []) owner.set(node, id);
    });
    for (const box of [...boxes].reverse()) {
      box.atoms = box.of || box.kids.flatMap((kid) => boxes[kid].atoms);
    }
    ways[name] = { boxes, owner };
  }

  // -- what is seen ------------------------------------------------------------------

  /** The box that stands for a node now: "b3" of the way, "n7" for what no box holds. */
  function seenAt(way, node) {
    const { boxes, owner } = ways[way];
    if (!owner.has(node)) return `n${node}`;
    let seen = owner.get(node);
    for (let at = seen; at !== undefined; at = boxes[at].up) if (!boxes[at].opened) seen = at;
    return `b${seen}`;
  }

  /** Whether a box around all that the line of a finding called says so itself, open or not. */
  function toldAround(way, node) {
    const { boxes, owner } = ways[way];
    const { calls, causes = [], effects = [] } = nodes[node];
    if (!calls || !calls.every((one) => owner.has(one))) return false;
    const chains = calls.map((one) => {
      const chain = [];
      for (let at = owner.get(one); at !== undefined; at = boxes[at].up) chain.push(at);
      return chain;
    });
    const says = (box, codes, key) => codes.every((code) => (box[key] || []).includes(code));
    return chains[0].some((at) => chains.every((chain) => chain.includes(at))
      && says(boxes[at], causes, "causes") && says(boxes[at], effects, "effects"));
  }

  function order(node, held) {
    const { k, earlier } = nodes[node];
    if (k === "backward") return nodes.length + 1;
    if (held) return node;  // data that a line makes comes when the line runs
    return LEAVES.has(k) || k === "input" || (earlier && k !== "op") ? -1 : node;
  }

  /** The boxes and arrows that are drawn now. */
  function visible(way) {
    const { boxes } = ways[way];
    const seen = nodes.map((data, node) => seenAt(way, toldAround(way, node) ? data.calls[0] : node));
    const shown = new Map();
    const put = (id, node, data) => {
      if (!shown.has(id)) shown.set(id, { id, data, nodes: [], rows: [], order: Infinity, up: data.up });
      const box = shown.get(id);
      box.nodes.push(node);
      box.order = Math.min(box.order, order(node, id[0] === "b"));
    };
    const leaves = [];
    nodes.forEach((data, node) => {
      if (data.k === "place" && seen[node][0] === "b") return;
      if (LEAVES.has(data.k)) leaves.push(node);
      else put(seen[node], node, seen[node][0] === "b" ? boxes[seen[node].slice(1)] : data);
    });
    const users = new Map(leaves.map((node) => [node, new Set()]));
    const tied = new Set();
    for (const [tail, head, kind] of edges) {
      if (users.has(tail) && (kind === "flow" || kind === "finding")) users.get(tail).add(seen[head]);
      if (users.has(head) && kind === "finding") tied.add(head);
    }
    const alike = new Map();
    for (const node of leaves) {
      const taken = [...users.get(node)];
      if (taken.length === 1 && taken[0][0] === "b" && !tied.has(node)) {
        seen[node] = taken[0];
        shown.get(taken[0]).rows.push(node);
        shown.get(taken[0]).nodes.push(node);
        continue;
      }
      const key = [...taken.sort(), nodes[node].look, ...(nodes[node].effects || [])].join();
      const first = alike.get(key) ?? node;
      alike.set(key, first);
      seen[node] = `n${first}`;
      put(seen[node], node, nodes[first]);
      shown.get(seen[node]).rows.push(node);
    }
    const around = clusters(way, shown);
    for (const key of ["causes", "effects"]) tellOnce(way, shown, around, key);
    return { shown, arrows: arrows(seen, shown), seen, clusters: around };
  }

  function arrows(seen, shown) {
    const found = new Map();
    edges.forEach(([tail, head, kind, label, count, flags], number) => {
      if (kind === "grad" || kind === "made") return;
      const [a, b] = [seen[tail], seen[head]];
      if (nodes[tail].calls && a[0] === "b" && nodes[tail].calls.includes(head)) return;
      if (a === b) {
        if (flags.includes("l")) shown.get(a).loops = true;
        return;
      }
      const look = kind !== "flow" ? kind : flags.includes("s") ? "severed" : flags.includes("t") ? "flow" : "without";
      const key = `${a}>${b}>${look}`;
      if (!found.has(key)) found.set(key, { tail: a, head: b, kind, look, labels: new Set(), count: 0, edges: [] });
      const arrow = found.get(key);
      arrow.edges.push(number);
      arrow.count += count;
      if (label) arrow.labels.add(label);
      arrow.back = kind === "flow" && shown.get(a).order >= shown.get(b).order;
    });
    return [...found.values()];
  }

  /** The opened boxes around what is seen, outer ones first. */
  function clusters(way, shown) {
    const { boxes } = ways[way];
    const found = new Set();
    for (const box of shown.values()) {
      for (let at = box.up; at !== undefined; at = boxes[at].up) found.add(at);
    }
    return [...found].sort((a, b) => a - b).map((id) => boxes[id]);
  }

  /** Which codes of findings an opened box says, and which are left to those in it: a call is told around all that it
   * did, the cause of a finding in it where it is. `told` of both holds them. */
  function tellOnce(way, shown, around, key) {
    const { boxes } = ways[way];
    const above = (box) => {
      const found = [];
      for (let at = box.up; at !== undefined; at = boxes[at].up) found.push(boxes[at]);
      return found;
    };
    const share = (box, code) => box.atoms.filter((node) => (nodes[node][key] || []).includes(code)).length / box.atoms.length;
    for (const cluster of around) {  // outer ones first
      const own = (cluster[key] || []).filter((code) => [0, 1].includes(share(cluster, code)));
      cluster.told = { ...cluster.told, [key]: own };
      for (const outer of above(cluster)) {
        const told = outer.told[key];
        cluster.told[key] = cluster.told[key].filter((code) => !(told.includes(code) && share(outer, code) === 1));
        outer.told[key] = told.filter((code) => !cluster.told[key].includes(code));
      }
    }
    for (const box of shown.values()) {
      const said = above(box.data).flatMap((cluster) => cluster.told[key]);
      box.told = { ...box.told, [key]: (box.data[key] || []).filter((code) => !said.includes(code)) };
    }
  }

  // -- ways of gradients ----------------------------------------------------------------

  const [down, up, onward, sources] = [new Map(), new Map(), new Map(), new Map()];
  const pairs = new Set();
  const add = (map, key, value) => map.has(key) ? map.get(key).push(value) : map.set(key, [value]);
  const starts = [];
  for (const [tail, head, kind, , , flags] of edges) {
    if (kind === "grad" && flags.includes("t")) {
      add(down, tail, head);
      add(up, head, tail);
      pairs.add(`${head}>${tail}`);
    }
    if (kind === "flow") {
      add(onward, tail, head);
      add(sources, head, tail);
      if (nodes[head].k === "backward") {
        starts.push(tail);
        pairs.add(`${tail}>${head}`);
      }
    }
  }
  function walk(from, map, within) {
    const seen = new Set(from);
    for (const node of seen) for (const next of map.get(node) || []) if (!within || within.has(next)) seen.add(next);
    return seen;
  }
  const failed = nodes.some((node) => node.k === "backward" && node.look === "refused");
  const reached = failed ? new Set() : walk(starts, down);
  const passes = nodes.flatMap((node, at) => node.k === "backward" ? [at] : []);
  const towards = walk(passes, sources);

  /** The nodes on the way of the gradient from a backward pass to these; where none reaches them, those on the way of
   * the data from them to where gradients are, as `lost`. */
  function lights(targets) {
    const got = targets.filter((node) => reached.has(node));
    if (got.length) {
      const nodesLit = walk(got, up, reached);
      for (const pass of passes) if ((sources.get(pass) || []).some((n) => nodesLit.has(n))) nodesLit.add(pass);
      return { nodes: nodesLit, lost: false };
    }
    const found = new Set(targets.filter((node) => towards.has(node) && nodes[node].k !== "backward"));
    for (const node of found) {
      if (reached.has(node)) continue;  // from here on a gradient comes, of others
      for (const next of onward.get(node) || []) if (towards.has(next)) found.add(next);
    }
    return { nodes: found, lost: true };
  }
  /** Whether the gradient runs along an arrow that carries these edges. */
  const runs = (numbers, lit, lost) => numbers.some((number) => {
    const [tail, head, kind] = edges[number];
    return kind === "flow" && lit.has(tail) && lit.has(head) && (lost || pairs.has(`${tail}>${head}`));
  });

  return { nodes, edges, ways, visible, lights, runs, reached };
})();
