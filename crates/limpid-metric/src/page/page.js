// The viewer of `limpid view`, of `limpid compare` and of the page that denoises: `show` takes the pictures, as often as they change.
const find = (selector) => document.querySelector(selector);
const make = (tag, parent, text = "") => {
  const element = document.createElement(tag);
  element.textContent = text;
  parent.append(element);
  return element;
};
let items = [];
const state = {
  a: 0, b: 0, mode: "single", show: "color", exposure: 0, gain: 2, zoom: null, x: 0.5, y: 0.5, cut: 0.5, flipped: false,
};
// The size that zoom and position are counted in: that of the first image.
const base = { width: 1, height: 1 };
const stage = find("#stage"), bar = find("#bar");
const panes = [...document.querySelectorAll("#stage figure")].map((figure) => {
  const canvas = figure.querySelector("canvas");
  return { figure, canvas, context: canvas.getContext("2d"), caption: figure.querySelector("figcaption") };
});
const scratch = new OffscreenCanvas(1, 1), pen = scratch.getContext("2d", { willReadFrequently: true });

// Values: pictures hold 0 … 255 along a curve; `light` makes linear light of them, `screen` what a screen shows.
const toScreen = (v) => v <= 0 ? 0 : v >= 1 ? 1 : v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055;
const fromScreen = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
function curve(item) {
  const table = new Float32Array(256);
  const { toe, top } = item;
  for (let i = 0; i < 256; i++)
    table[i] = toe ? toe * (Math.exp(i / 255 * Math.log(1 + top / toe)) - 1) : fromScreen(i / 255);
  return table;
}
const LEVELS = 4096;
const screenTable = Uint8ClampedArray.from({ length: LEVELS + 1 }, (_, i) => Math.round(255 * toScreen(i / LEVELS)));
const screen = (v) => screenTable[v >= 1 ? LEVELS : v > 0 ? v * LEVELS | 0 : 0];
const MAGMA = ["000004", "1c1044", "4f127b", "812581", "b5367a", "e55064", "fb8761", "fec287", "fcfdbf"]
  .map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));
const magma = new Uint8ClampedArray(3 * 256);
for (let i = 0; i < 256; i++) {
  const at = i / 255 * (MAGMA.length - 1), k = Math.min(MAGMA.length - 2, Math.floor(at));
  for (let c = 0; c < 3; c++) magma[3 * i + c] = MAGMA[k][c] + (at - k) * (MAGMA[k + 1][c] - MAGMA[k][c]);
}
const weigh = (r, g, b) => 0.2126 * r + 0.7152 * g + 0.0722 * b;

// Pictures are decoded when they are shown. Those of a page that computes them are decoded already.
function picture(item, what) {
  if (what !== "map" && item.decoded) return item.decoded;
  const key = what === "map" ? "mapBitmap" : "bitmap";
  if (!item[key]) {
    item[key] = new Image();
    item[key].onload = () => draw();
    item[key].src = what === "map" ? item.map : item.image;
  }
  return item[key].complete && item[key].naturalWidth ? item[key] : null;
}

const widthOf = (image) => image.naturalWidth ?? image.width, heightOf = (image) => image.naturalHeight ?? image.height;
const fitted = (pane) => Math.min(pane.width / base.width, pane.height / base.height);
const scale = (pane) => state.zoom ?? fitted(pane);

// The pixels of an image as a pane shows them, before exposure, and their place on it. They are kept, two images for each pane,
// because most sliders only change what becomes of them.
function pixels(item, what, pane) {
  const image = picture(item, what);
  if (!image) return null;
  const key = [image, scale(pane), state.x, state.y, pane.width, pane.height, base.width];
  const kept = pane.kept ?? [], same = (other) => key.every((value, i) => value === other.key[i]);
  const made = kept.find(same) ?? { key, ...scaled(image, pane) };
  pane.kept = [made, ...kept.filter((other) => other !== made)].slice(0, 2);
  return made.pixels ? made : null;
}

function scaled(image, pane) {
  const zoom = scale(pane), ratio = widthOf(image) / base.width;
  const left = pane.width / 2 - state.x * base.width * zoom, top = pane.height / 2 - state.y * base.height * zoom;
  const width = base.width * zoom, height = heightOf(image) / ratio * zoom;
  const x0 = Math.max(0, Math.floor(left)), y0 = Math.max(0, Math.floor(top));
  const x1 = Math.min(pane.width, Math.ceil(left + width)), y1 = Math.min(pane.height, Math.ceil(top + height));
  if (x1 <= x0 || y1 <= y0) return {};
  if (scratch.width !== x1 - x0 || scratch.height !== y1 - y0) {
    scratch.width = x1 - x0;
    scratch.height = y1 - y0;
  }
  pen.imageSmoothingEnabled = zoom / ratio < 1;
  pen.imageSmoothingQuality = "high";
  pen.clearRect(0, 0, scratch.width, scratch.height);
  pen.drawImage(image, left - x0, top - y0, width, height);
  return { x: x0, y: y0, pixels: pen.getImageData(0, 0, x1 - x0, y1 - y0) };
}

function paint(pane, item, other) {
  const { context } = pane;
  context.clearRect(0, 0, pane.width, pane.height);
  const map = state.show === "FLIP" && item.map;
  const shown = pixels(item, map ? "map" : "color", pane);
  if (!shown) return;
  const out = new ImageData(shown.pixels.data.slice(), shown.pixels.width), d = out.data, factor = 2 ** state.exposure;
  item.table ??= curve(item);
  const light = item.table;
  if (other) {
    const second = pixels(other, "color", pane);
    if (!second) return;
    const e = second.pixels.data, gain = factor * 2 ** state.gain;
    other.table ??= curve(other);
    for (let i = 0; i < d.length; i += 4) {
      const v = weigh(Math.abs(light[d[i]] - other.table[e[i]]), Math.abs(light[d[i + 1]] - other.table[e[i + 1]]),
        Math.abs(light[d[i + 2]] - other.table[e[i + 2]]));
      const k = 3 * screen(v * gain);
      d[i] = magma[k]; d[i + 1] = magma[k + 1]; d[i + 2] = magma[k + 2];
    }
  } else if (state.show === "false colour") {
    for (let i = 0; i < d.length; i += 4) {
      const k = 3 * screen(factor * weigh(light[d[i]], light[d[i + 1]], light[d[i + 2]]));
      d[i] = magma[k]; d[i + 1] = magma[k + 1]; d[i + 2] = magma[k + 2];
    }
  } else if (!map && (factor !== 1 || item.toe)) {
    const table = light.map((v) => screen(v * factor));
    for (let i = 0; i < d.length; i += 4) {
      d[i] = table[d[i]]; d[i + 1] = table[d[i + 1]]; d[i + 2] = table[d[i + 2]];
    }
  }
  context.putImageData(out, shown.x, shown.y);
}

function press(id, value) {
  for (const button of document.querySelectorAll(`#${id} button`))
    button.setAttribute("aria-pressed", button.dataset.value === String(value));
}

let asked = false;
function draw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; now(); });
}

function now() {
  if (!items.length) return;
  const [first, second] = panes, { mode } = state, pair = mode === "side by side", slide = mode === "slider";
  stage.classList.toggle("one", !pair);
  press("mode", mode);
  press("show", state.show);
  press("zoom", state.zoom === null ? "fit" : state.zoom);
  find("#stops").textContent = (state.exposure > 0 ? "+" : "") + state.exposure;
  find("#exposure").value = state.exposure;
  find("#times").textContent = "×" + (2 ** state.gain).toFixed(state.gain < 2 ? 1 : 0);
  find("#gain").value = state.gain;
  find("#gain-box").hidden = mode !== "difference";
  for (const element of document.querySelectorAll("[data-item]")) {
    element.classList.toggle("is-a", +element.dataset.item === state.a);
    element.classList.toggle("is-b", +element.dataset.item === state.b);
  }
  const alone = mode === "single" || mode === "difference" || (mode === "flip" && !state.flipped);
  first.figure.hidden = mode === "flip" && state.flipped;
  second.figure.hidden = alone;
  for (const pane of panes) {
    if (pane.figure.hidden) continue;
    const box = pane.figure.getBoundingClientRect(), dots = devicePixelRatio || 1;
    const width = Math.round(box.width * dots), height = Math.round(box.height * dots);
    if (pane.canvas.width !== width || pane.canvas.height !== height) {
      pane.canvas.width = width;
      pane.canvas.height = height;
      pane.canvas.style.width = box.width + "px";
      pane.canvas.style.height = box.height + "px";
    }
    Object.assign(pane, { width, height, dots });
  }
  const [a, b] = [items[state.a], items[state.b]];
  if (!first.figure.hidden) paint(first, a, mode === "difference" ? b : null);
  if (!second.figure.hidden) paint(second, b, null);
  first.caption.textContent = mode === "difference" ? `difference of ${a.short} and ${b.short}` : a.short;
  second.caption.textContent = b.short;
  second.figure.style.clipPath = slide ? `inset(0 0 0 ${100 * state.cut}%)` : "";
  bar.hidden = !slide;
  bar.style.left = 100 * state.cut + "%";
  bar.setAttribute("aria-valuenow", Math.round(100 * state.cut));
  const pane = first.figure.hidden ? second : first, factor = scale(pane);
  find("#factor").textContent = (state.zoom === null ? "fit, " : "") + (factor >= 1 ? factor.toFixed(1) : factor.toFixed(2)) + "×";
  Object.assign(document.body.dataset, { ready: "yes", a: a.short, b: b.short, mode, zoom: factor.toFixed(4), x: state.x.toFixed(4),
    y: state.y.toFixed(4), exposure: state.exposure, show: state.show, cut: state.cut.toFixed(3) });
}

function set(change) {
  Object.assign(state, change);
  draw();
  for (const side of ["a", "b"]) {
    if (!(side in change)) continue;
    // The card that was chosen comes into view; the page itself stays where it is.
    const strip = find("#thumbs"), card = strip.children[state[side]];
    if (!card) continue;
    const left = card.offsetLeft - strip.offsetLeft, right = left + card.offsetWidth;
    if (left < strip.scrollLeft) strip.scrollLeft = left;
    else if (right > strip.scrollLeft + strip.clientWidth) strip.scrollLeft = right - strip.clientWidth;
  }
}

function zoomBy(factor, event) {
  const pane = panes.find((p) => !p.figure.hidden), before = scale(pane);
  const after = Math.min(64, Math.max(fitted(pane) / 2, before * factor));
  if (event) {
    // What is under the pointer stays there.
    const under = document.elementsFromPoint(event.clientX, event.clientY).find((e) => e.tagName === "FIGURE");
    const box = (under ?? pane.figure).getBoundingClientRect();
    const dx = (event.clientX - box.left) * pane.dots - pane.width / 2, dy = (event.clientY - box.top) * pane.dots - pane.height / 2;
    state.x += dx / base.width * (1 / before - 1 / after);
    state.y += dy / base.height * (1 / before - 1 / after);
  }
  set({ zoom: after });
}

// The controls.
function choices(id, values) {
  for (const old of document.querySelectorAll(`#${id} button`)) old.remove();
  for (const [value, text = value] of values) {
    const button = make("button", find("#" + id), text);
    button.dataset.value = value;
    button.onclick = () => set(id === "zoom" ? { zoom: value === "fit" ? null : value, ...(value === "fit" && { x: 0.5, y: 0.5 }) }
      : { [id]: value, flipped: false });
  }
}
find("#exposure").oninput = (event) => set({ exposure: +event.target.value });
find("#gain").oninput = (event) => set({ gain: +event.target.value });

// Long names often differ only at their ends.
const middle = (name) => name.length <= 40 ? name : `${name.slice(0, 18)}…${name.slice(-20)}`;
function card(item, index) {
  const card = make("div", find("#thumbs"));
  card.className = "card";
  card.dataset.item = index;
  const image = make("img", card);
  image.src = item.thumb;
  image.alt = item.name;
  image.title = `${item.name}\nclick: A, shift and click: B`;
  image.onclick = (event) => set(event.shiftKey ? { b: index } : { a: index });
  make("span", card, middle(item.short)).title = item.name;
  const line = make("div", card);
  if (items.length > 1)
    for (const side of ["a", "b"]) {
      const button = make("button", line, side.toUpperCase());
      button.className = "to-" + side;
      button.setAttribute("aria-label", `${item.short} as ${side.toUpperCase()}`);
      button.onclick = () => set({ [side]: index });
    }
}

// The table.
function scores(columns) {
  find("#scores").replaceChildren();
  if (!columns.length) return;
  const table = make("table", find("#scores")), head = make("tr", make("thead", table)), body = make("tbody", table);
  let by = null, up = true;
  const fill = () => {
    body.replaceChildren();
    const rows = items.map((item, index) => ({ item, index })).filter(({ item }) => item.scores);
    if (by !== null) rows.sort((a, b) => (up ? 1 : -1) * ((a.item.scores[by] ?? Infinity) - (b.item.scores[by] ?? Infinity)));
    for (const { item, index } of rows) {
      const row = make("tr", body);
      row.dataset.item = index;
      row.onclick = () => set({ a: index });
      make("td", row, item.short);
      item.text.forEach((text, k) => { make("td", row, text).className = item.best[k] ? "best" : ""; });
    }
    draw();
  };
  make("th", head, "image");
  columns.forEach(({ name, greater }, k) => {
    const cell = make("th", head), button = make("button", cell, `${name} ${greater ? "↑" : "↓"}`);
    button.onclick = () => {
      up = by === k ? !up : !greater;
      by = k;
      for (const other of head.children) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", up ? "ascending" : "descending");
      fill();
    };
  });
  fill();
}

// Shows pictures. What was chosen stays, if as many are there as before.
function show(data) {
  const count = items.length;
  items = data.items;
  Object.assign(base, { width: items[0].width, height: items[0].height });
  if (count !== items.length) {
    state.a = 0;
    state.b = data.reference ?? Math.min(1, items.length - 1);
    state.mode = items.length > 1 ? "slider" : "single";
  }
  // Buttons that are pressed at the moment stay.
  if (count !== items.length) {
    choices("mode", items.length > 1 ? [["slider"], ["side by side"], ["flip"], ["difference"], ["single"]] : [["single"]]);
    choices("show", [["color", "colour"], ["false colour"], ...(items.some((i) => i.map) ? [["FLIP"]] : [])]);
    choices("zoom", [["fit"], [1, "1×"], [2, "2×"], [4, "4×"], [8, "8×"]]);
  }
  find("#thumbs").replaceChildren();
  items.forEach(card);
  scores(data.columns);
  draw();
}

// Pointer and wheel: drag moves, the bar slides, two fingers zoom.
const fingers = new Map();
let onBar = false;
stage.onpointerdown = (event) => {
  stage.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, event);
  onBar = event.target === bar;
};
stage.onpointermove = (event) => {
  if (!items.length) return;
  tell(event);
  const before = fingers.get(event.pointerId);
  if (!before) return;
  const box = stage.getBoundingClientRect();
  if (onBar) {
    set({ cut: Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) });
  } else if (fingers.size === 2) {
    const other = [...fingers.values()].find((f) => f.pointerId !== event.pointerId);
    const length = (f) => Math.hypot(f.clientX - other.clientX, f.clientY - other.clientY);
    zoomBy(length(event) / Math.max(1, length(before)), event);
  } else {
    const pane = panes.find((p) => !p.figure.hidden), factor = scale(pane) / pane.dots;
    set({ x: state.x - (event.clientX - before.clientX) / factor / base.width,
      y: state.y - (event.clientY - before.clientY) / factor / base.height });
  }
  fingers.set(event.pointerId, event);
};
stage.onpointerup = stage.onpointercancel = (event) => { fingers.delete(event.pointerId); onBar = false; };
stage.addEventListener("wheel", (event) => {
  event.preventDefault();
  if (items.length) zoomBy(1.0015 ** -event.deltaY, event);
}, { passive: false });
stage.ondblclick = () => set({ zoom: null, x: 0.5, y: 0.5 });

// What lies under the pointer.
function tell(event) {
  const under = document.elementsFromPoint(event.clientX, event.clientY).find((e) => e.tagName === "FIGURE");
  const pane = panes.find((p) => p.figure === under && !p.figure.hidden);
  if (!pane) return;
  const box = pane.figure.getBoundingClientRect(), zoom = scale(pane);
  const x = Math.floor(state.x * base.width + ((event.clientX - box.left) * pane.dots - pane.width / 2) / zoom);
  const y = Math.floor(state.y * base.height + ((event.clientY - box.top) * pane.dots - pane.height / 2) / zoom);
  if (x < 0 || y < 0 || x >= base.width || y >= base.height) return;
  const value = (item) => {
    const image = picture(item, "color");
    if (!image) return "";
    const ratio = widthOf(image) / base.width;
    scratch.width = scratch.height = 1;
    pen.drawImage(image, -Math.floor(x * ratio), -Math.floor(y * ratio));
    const table = item.table ??= curve(item);
    return [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)].map((v) => table[v].toFixed(3)).join(" ");
  };
  find("#pixel").textContent = `(${x}, ${y})  A ${value(items[state.a])}` + (items.length > 1 ? `   B ${value(items[state.b])}` : "");
}

document.onkeydown = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.tagName === "INPUT", button = event.target.tagName === "BUTTON";
  if (!items.length || event.target.tagName === "SELECT") return;
  const turn = (side, by) => set({ [side]: (state[side] + by + items.length) % items.length });
  const digit = /^Digit([1-9])$/.exec(event.code);
  if (digit && digit[1] <= items.length) {
    set({ [event.shiftKey ? "b" : "a"]: digit[1] - 1 });
    event.preventDefault();
    return;
  }
  const keys = {
    ArrowRight: () => turn("a", 1), ArrowLeft: () => turn("a", -1), ArrowDown: () => turn("b", 1), ArrowUp: () => turn("b", -1),
    x: () => set({ a: state.b, b: state.a }), " ": () => set({ mode: "flip", flipped: state.mode === "flip" && !state.flipped }),
    s: () => set({ mode: "slider" }), p: () => set({ mode: "side by side" }), d: () => set({ mode: "difference" }),
    c: () => set({ show: state.show === "false colour" ? "color" : "false colour" }),
    "[": () => set({ exposure: Math.max(-8, state.exposure - 0.5) }), "]": () => set({ exposure: Math.min(8, state.exposure + 0.5) }),
    "+": () => zoomBy(1.25), "=": () => zoomBy(1.25), "-": () => zoomBy(0.8), 0: () => set({ zoom: null, x: 0.5, y: 0.5 }),
    ",": () => set({ cut: Math.max(0, state.cut - 0.05) }), ".": () => set({ cut: Math.min(1, state.cut + 0.05) }),
  };
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (!keys[key] || (typing && key.startsWith("Arrow")) || (button && key === " ")) return;
  if (items.length < 2 && "xspd ".includes(key)) return;
  if (document.activeElement === bar && key.startsWith("Arrow")) {
    set({ cut: Math.min(1, Math.max(0, state.cut + (key === "ArrowRight" || key === "ArrowDown" ? 0.02 : -0.02))) });
  } else {
    keys[key]();
  }
  event.preventDefault();
};
new ResizeObserver(draw).observe(stage);
// The picture takes what the rest leaves of the window.
const measure = () => document.body.style.setProperty("--above", Math.round(stage.getBoundingClientRect().top + scrollY + 12) + "px");
new ResizeObserver(measure).observe(document.body);
measure();
