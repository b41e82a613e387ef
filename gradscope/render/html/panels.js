// What stands beside the picture: the source, the parameters with their answers, what is known of a box.
const panels = (() => {
  function element(name, options = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(options)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value !== false && value !== undefined) made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== undefined && child !== ""));
    return made;
  }
  /** Text whose `code` in backticks is code. */
  function coded(text) {
    const parts = text.split("`");
    if (parts.length % 2 === 0) return [text];
    return parts.map((part, at) => at % 2 ? element("code", {}, part) : part);
  }
  function placeButton(file, line) {
    const text = file >= 0 ? `${D.files[file]}:${line}` : `line ${line}`;
    if (file < 0) return text;
    return element("button", { type: "button", class: "place", "data-file": file, "data-line": line }, text);
  }

  // -- source -------------------------------------------------------------------------------

  const files = [...document.querySelectorAll(".file")];
  const chooser = document.getElementById("file");
  function showFile(number) {
    files.forEach((file, at) => { file.hidden = at !== number; });
    if (chooser) chooser.value = String(number);
  }
  /** Marks lines of the source, [file, line], and brings the first into sight. */
  function markLines(places, follow = true) {
    document.querySelectorAll(".line.here").forEach((line) => line.classList.remove("here"));
    const found = places.map(([file, line]) => [file, document.getElementById(`s${file}-${line}`)]).filter(([, line]) => line);
    for (const [, line] of found) line.classList.add("here");
    if (found.length && follow) {
      showFile(found[0][0]);
      found[0][1].scrollIntoView({ block: "center", inline: "nearest" });
    }
  }
  if (chooser) chooser.addEventListener("change", () => showFile(Number(chooser.value)));
  for (const file of files) {
    file.addEventListener("click", (event) => {
      const line = event.target.closest(".worked");
      if (line) page.chooseLine(Number(file.dataset.file), Number(line.dataset.line));
    });
    file.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const lines = [...file.querySelectorAll(".worked")];
      const now = lines.findIndex((line) => line.classList.contains("now"));
      if (step && lines.length) {
        const next = lines[Math.max(0, Math.min(lines.length - 1, now + step))];
        lines.forEach((line) => line.classList.toggle("now", line === next));
        next.scrollIntoView({ block: "nearest" });
        page.say(`line ${next.dataset.line}: ${next.title.split("\n").join("; ")}`);
        event.preventDefault();
      } else if (event.key === "Enter" && now >= 0) {
        page.chooseLine(Number(file.dataset.file), Number(lines[now].dataset.line));
        event.preventDefault();
      }
    });
    file.addEventListener("blur", () => file.querySelectorAll(".now").forEach((line) => line.classList.remove("now")));
  }

  // -- curves ---------------------------------------------------------------------------------

  function curve(points, kind) {
    const [w, h] = kind === "spark" ? [92, 20] : [400, 100];
    const low = Math.min(...points.map(([, y]) => y), 0);
    const span = Math.max(...points.map(([, y]) => y - low), 1e-30);
    const [first, last] = [points[0][0], points[points.length - 1][0]];
    const at = ([x, y]) => [last > first ? (x - first) / (last - first) * w : w / 2, h - 2 - (y - low) / span * (h - 4)];
    const svg = drawing.make("svg", { class: kind, viewBox: `0 0 ${w} ${h}`, preserveAspectRatio: "none", role: "img",
      "aria-label": `from ${points[0][1]} to ${points[points.length - 1][1]}, at most ${low + span}` });
    if (points.length === 1) drawing.make("circle", { cx: at(points[0])[0], cy: at(points[0])[1], r: 2 }, svg);
    else drawing.make("polyline", { points: points.map((p) => at(p).map((n) => n.toFixed(1)).join()).join(" ") }, svg);
    return svg;
  }
  function chart(points) {
    const ends = element("div", { class: "axis" }, element("span", {}, `step ${points[0][0]}: ${points[0][1]}`),
      element("span", {}, `step ${points[points.length - 1][0]}: ${points[points.length - 1][1]}`));
    return element("div", {}, curve(points, "curve"), ends);
  }
  if (D.losses.length) {
    const figure = document.getElementById("loss");
    for (const loss of D.losses) figure.append(element("p", { class: "of" }, loss.name), chart(loss.points));
    figure.hidden = false;
  }

  // -- parameters -------------------------------------------------------------------------------

  const body = document.getElementById("rows");
  const filter = document.getElementById("filter");
  let sorted = { key: "", down: false };
  const received = (p) => p.got === "never" ? -2 : p.got === "frozen" ? -1 : Number(p.got.replace(/[×,]/g, "")) || 0;
  const keys = {
    name: (p) => p.name, size: (p) => p.size, by: (p) => p.by, got: received,
    norm: (p) => p.norm === null ? -1 : Number(p.norm),
  };

  /** A dotted name that may go on in the next line after a dot. */
  const broken = (name) => name.split(/(?<=\.)/).flatMap((part) => [part, element("wbr")]);
  function row(p) {
    const opened = element("button", { type: "button", "aria-expanded": "false", title: "Why it has (no) gradient" }, ...broken(p.name));
    const got = p.got === "never" ? element("span", { class: "never" }, "never") : p.got;
    const made = element("tr", { "data-param": p.id },
      element("td", { class: "name" }, opened, p.codes.length ? element("div", { class: "codes" }, `▽ ${p.codes.join(", ")}`) : ""),
      element("td", {}, p.shape), element("td", { class: p.by === "none" && p.trains ? "bad" : "" }, p.by),
      element("td", {}, got), element("td", {}, p.norm === null ? "" : p.norm),
      element("td", {}, p.norms.length ? curve(p.norms, "spark") : ""));
    opened.addEventListener("click", () => toggleWhy(p, made, opened));
    made.addEventListener("mouseenter", () => page.light(page.nodesOf([p.id])));
    made.addEventListener("mouseleave", () => page.light());
    opened.addEventListener("focus", () => page.light(page.nodesOf([p.id])));
    opened.addEventListener("blur", () => page.light());
    return made;
  }
  function toggleWhy(p, made, opened) {
    const open = opened.getAttribute("aria-expanded") === "true";
    opened.setAttribute("aria-expanded", String(!open));
    if (open) made.nextElementSibling.remove();
    else made.after(element("tr", {}, element("td", { class: "why", colspan: 6 }, ...why(p))));
    if (!open) page.chooseNodes(page.nodesOf([p.id]));
  }
  /** The answer of `gradscope why`. */
  function why(p) {
    if (!p.why) return [element("p", {}, "`gradscope why` tells of this parameter")];
    const steps = p.why.steps.map(([file, line, label, main]) =>
      element("li", { class: main ? "main" : "" }, placeButton(file, line), " ", ...coded(D.texts[label])));
    const facts = element("dl", {});
    for (const text of p.why.seen) facts.append(element("dt", {}, "seen"), element("dd", {}, ...coded(D.texts[text])));
    const fix = D.texts[p.why.fix];
    if (fix) facts.append(element("dt", {}, "fix"), element("dd", {}, ...coded(fix)));
    const norms = p.norms.length > 1 ? [element("p", { class: "axis" }, "norm of its gradient"), chart(p.norms)] : [];
    return [element("h3", {}, ...coded(p.why.head)), element("ol", {}, ...steps), facts, ...norms];
  }
  function fill() {
    const wanted = filter.value.toLowerCase();
    const rows = D.params.filter((p) => `${p.name} ${p.by} ${p.got} ${p.codes.join(" ")}`.toLowerCase().includes(wanted));
    const key = keys[sorted.key];
    if (key) rows.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * (sorted.down ? -1 : 1));
    body.replaceChildren(...rows.map(row));
    if (!rows.length) body.append(element("tr", {}, element("td", { colspan: 6 }, "no parameter has that in its row")));
  }
  filter.addEventListener("input", fill);
  document.querySelectorAll("th button").forEach((button) => button.addEventListener("click", () => {
    sorted = { key: button.dataset.key, down: sorted.key === button.dataset.key && !sorted.down };
    document.querySelectorAll("th button").forEach((other) => other.removeAttribute("aria-sort"));
    button.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
    fill();
  }));
  fill();
  /** Shows the row of a parameter with its answer. */
  function openParameter(id) {
    if (!body.querySelector(`[data-param="${id}"]`)) {
      filter.value = "";
      fill();
    }
    const made = body.querySelector(`[data-param="${id}"]`);
    const opened = made.querySelector("button");
    if (opened.getAttribute("aria-expanded") !== "true") opened.click();
    made.scrollIntoView({ block: "start" });
    opened.focus({ preventScroll: true });
  }

  // -- a box ------------------------------------------------------------------------------------------

  const about = document.getElementById("about");
  function tell(box) {
    if (!box) {
      about.hidden = true;
      return;
    }
    const { data } = box;
    const facts = element("dl", {});
    const say = (label, ...what) => facts.append(element("dt", {}, label), element("dd", {}, ...what));
    if (data.at && !data.cut) say("at", placeButton(...data.at));
    if (data.m && !(data.kids && data.kids.length)) say("in", element("code", {}, data.m));
    if (data.d && data.k === "module") say("class", element("code", {}, data.d));
    if (data.s) say("gives", data.s);
    if (data.c) say("ran", `${data.c.toLocaleString("en")} times`);
    if (data.r) say("under", data.r);
    if (data.cut) say("cut", `${data.cut}: ${data.k === "cut" ? `no gradient ${data.kept ? `for ${data.kept.join(", ")}` : "passes"}` : "inside, the gradient goes past it"}`, ...(data.at ? [", at ", placeButton(...data.at)] : []));
    if (data.severs) say("lost", ...coded(data.severs.slice(0, 6).map((name) => `\`${name}\``).join(", ") + (data.severs.length > 6 ? ` and ${data.severs.length - 6} more` : "")));
    if (data.writes) say("writes", data.writes.join(", "));
    const built = [...new Set(box.nodes.flatMap((node) => model.nodes[node].fn || []))];
    if (built.length) say("grad_fn", element("code", {}, built.slice(0, 8).join(", ") + (built.length > 8 ? `, and ${built.length - 8} more` : "")));
    const codes = [...new Set([...(data.causes || []), ...(data.effects || []), ...box.rows.flatMap((node) => model.nodes[node].effects || [])])];
    const known = D.findings.flatMap((finding, at) => codes.includes(finding.code) ? [[finding, at]] : []);
    const actions = element("div", { class: "actions" });
    if (data.kids && data.kids.length) actions.append(element("button", { type: "button", onclick: () => page.toggle(data.id) }, "Open"));
    for (const [finding, at] of known) actions.append(element("button", { type: "button", onclick: () => page.openFinding(at) }, finding.code));
    for (const node of box.rows.slice(0, 6)) {
      const leaf = model.nodes[node];
      if (leaf.p !== undefined) actions.append(element("button", { type: "button", onclick: () => page.openParameter(leaf.p) }, `why ${leaf.l}`));
    }
    about.replaceChildren(element("h2", {}, data.l), element("button", { type: "button", class: "shutter", "aria-label": "Let go of it", onclick: () => page.choose() }, "×"), facts, actions);
    about.hidden = false;
  }

  return { element, markLines, showFile, openParameter, tell };
})();
