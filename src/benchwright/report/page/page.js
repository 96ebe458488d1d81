"use strict";
(() => {
  const tip = document.getElementById("tip");
  const SVG = "http://www.w3.org/2000/svg";

  function show(words, x, y) {
    tip.textContent = words;
    tip.style.visibility = "visible";
    const box = tip.getBoundingClientRect();
    const left = x + 14 + box.width > innerWidth ? x - 14 - box.width : x + 14;
    tip.style.left = Math.max(4, left) + "px";
    tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - box.height - 4)) + "px";
  }

  function hide() {
    tip.style.visibility = "hidden";
    for (const dot of document.querySelectorAll("svg.plot .cursor")) dot.remove();
  }

  function beside(mark) {
    const box = mark.getBoundingClientRect();
    show(mark.dataset.tip, box.right, box.top);
  }

  // The points of every line in a drawing, read once, when the pointer first enters it.
  const read = new WeakMap();
  function lines(svg) {
    if (!read.has(svg)) {
      read.set(svg, [...svg.querySelectorAll("[data-tips]")].map((line) => ({
        line,
        x: line.dataset.x.split(" ").map(Number),
        y: line.dataset.y.split(" ").map(Number),
        words: line.dataset.tips.split("|"),
      })));
    }
    return read.get(svg);
  }

  function nearest(svg, at) {
    let best = null;
    for (const { line, x, y, words } of lines(svg)) {
      if (line.closest(".off")) continue;
      for (let i = 0; i < x.length; i++) {
        const distance = Math.hypot(x[i] - at.x, (y[i] - at.y) / 2);
        if (!best || distance < best.distance) best = { distance, x: x[i], y: y[i], words: words[i] };
      }
    }
    return best && best.distance < 60 ? best : null;
  }

  function mark(svg, point) {
    let dot = svg.querySelector(".cursor");
    if (!dot) {
      dot = document.createElementNS(SVG, "circle");
      dot.setAttribute("class", "cursor");
      dot.setAttribute("r", "3.5");
      svg.append(dot);
    }
    dot.setAttribute("cx", point.x);
    dot.setAttribute("cy", point.y);
  }

  for (const svg of document.querySelectorAll("svg.plot")) {
    const look = (event) => {
      const own = event.target.closest("[data-tip]");
      if (own) return hide(), show(own.dataset.tip, event.clientX, event.clientY);
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const point = nearest(svg, at);
      if (!point) return hide();
      mark(svg, point);
      show(point.words, event.clientX, event.clientY);
    };
    svg.addEventListener("pointermove", look);
    svg.addEventListener("pointerdown", look);
    svg.addEventListener("pointerleave", hide);
    for (const own of svg.querySelectorAll("[data-tip][tabindex]")) {
      own.addEventListener("focus", () => beside(own));
      own.addEventListener("blur", hide);
    }
  }
  addEventListener("scroll", () => {
    const focused = document.activeElement?.closest("svg.plot [data-tip]");
    focused ? beside(focused) : hide();
  }, { passive: true });
  addEventListener("keydown", (event) => event.key === "Escape" && hide());

  // A key switches its case on and off in every overview plot of its run.
  function set(key, on) {
    key.setAttribute("aria-pressed", String(on));
    const run = key.closest("[data-run]");
    for (const part of run.querySelectorAll(`.overview [data-series="${key.dataset.key}"]`)) part.classList.toggle("off", !on);
  }
  for (const keys of document.querySelectorAll(".keys")) {
    const all = [...keys.querySelectorAll("button[data-key]")];
    for (const key of all) key.addEventListener("click", () => set(key, key.getAttribute("aria-pressed") !== "true"));
    all.slice(Number(keys.dataset.most)).forEach((key) => set(key, false));
    keys.querySelector("[data-all]")?.addEventListener("click", () => all.forEach((key) => set(key, true)));
    keys.querySelector("[data-none]")?.addEventListener("click", () => all.forEach((key) => set(key, false)));
    keys.hidden = false;
  }

  // A phone folds what is long behind its headings. Without this script, on a desk and on paper everything is there.
  if (matchMedia("(max-width: 640px)").matches) {
    const several = document.querySelectorAll("[data-run]").length > 1;
    for (const head of document.querySelectorAll("main h2")) {
      const inside = document.createElement("div");
      while (head.nextElementSibling && !head.nextElementSibling.matches("h1, h2")) inside.append(head.nextElementSibling);
      head.after(inside);
      const folds = "fold" in head.dataset || (several && head.closest("[data-run]"));
      foldable(head, inside, !folds);
      shorten(inside, inside.querySelectorAll(".results:not(.compared) tbody tr"), 5);
      shorten(inside, inside.querySelectorAll(".compared tbody"), 2);
    }
  }

  function foldable(head, inside, open) {
    const button = document.createElement("button");
    const count = inside.querySelectorAll(":scope > details").length || inside.querySelectorAll("figure").length;
    button.type = "button";
    button.className = "fold";
    button.append(...head.childNodes);
    if (count) button.append(Object.assign(document.createElement("span"), { className: "soft", textContent: count }));
    const show = (on) => {
      button.setAttribute("aria-expanded", String(on));
      inside.classList.toggle("folded", !on);
    };
    button.addEventListener("click", () => show(inside.classList.contains("folded")));
    show(open);
    head.append(button);
  }

  // The first of many cards, and a button for the others.
  function shorten(inside, cards, most) {
    if (cards.length <= most) return;
    const rest = [...cards].slice(most);
    for (const card of rest) card.classList.add("folded");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `Show all ${cards.length}`;
    button.addEventListener("click", () => {
      for (const card of rest) card.classList.remove("folded");
      button.remove();
    });
    cards[0].closest(".results").after(button);
  }

  // Of a log the end matters most.
  for (const log of document.querySelectorAll(".note pre")) log.scrollTop = log.scrollHeight;

  // Paper cannot be clicked: print everything, and fold again what was folded.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of folded) one.open = false; });

  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", () => {
      navigator.clipboard.writeText(button.previousElementSibling.textContent).then(
        () => { button.textContent = "Copied"; },
        () => { button.textContent = "Copy failed"; },
      );
    });
  }
})();
