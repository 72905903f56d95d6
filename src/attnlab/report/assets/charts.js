// Draws each figure from the spec inside the page, and again when width or scheme change.
// A figure that cannot be drawn keeps its static picture.
(function () {
  "use strict";
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  const figures = Array.from(document.querySelectorAll("figure.figure"))
    .filter((figure) => figure.querySelector("script.spec"))
    .map((figure) => ({
      figure: figure,
      chart: figure.querySelector(".chart"),
      spec: figure.querySelector("script.spec").textContent,
      view: null,
      width: 0,
    }));

  // Charts are not as high as the pictures that they replace. What an address points at stays in
  // view until the reader moves on.
  let aim = null;
  function follow() {
    if (aim) aim.scrollIntoView({ behavior: "instant", block: "start" });
  }
  function takeAim() {
    aim = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
    follow();
  }
  ["wheel", "touchmove", "keydown", "pointerdown"].forEach((moved) => {
    window.addEventListener(moved, () => (aim = null), { passive: true });
  });
  window.addEventListener("hashchange", takeAim);
  takeAim();

  // A figure in a part that is folded away is drawn when that is opened.
  const folded = (item) => item.figure.closest("details:not([open])") !== null;

  async function draw(item) {
    if (folded(item)) return;
    item.chart.hidden = false;
    item.width = Math.floor(item.chart.clientWidth);
    const target = document.createElement("div");
    try {
      const result = await window.attnlabDraw(item.spec, target, item.width, Number(item.chart.dataset.rows));
      if (item.view) item.view.finalize();
      item.view = result;
      item.chart.replaceChildren(target);
      item.figure.classList.add("drawn");
      item.figure.dataset.scheme = dark.matches ? "dark" : "light";
      follow();
    } catch (reason) {
      item.figure.classList.add("broken");
      item.chart.hidden = true;
      console.error("Figure " + item.figure.id + " could not be drawn: " + reason);
    }
  }

  let queue = Promise.resolve();
  function drawAll(which) {
    which.forEach((item) => {
      queue = queue.then(() => draw(item));
    });
    queue = queue.then(() => {
      document.documentElement.dataset.charts = "drawn";
    });
  }

  drawAll(figures);
  dark.addEventListener("change", () => drawAll(figures));
  document.querySelectorAll("details.folded").forEach((part) => {
    part.addEventListener("toggle", () => drawAll(figures.filter((item) => part.contains(item.figure) && !item.view)));
  });

  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const stale = (item) => item.view && item.chart.clientWidth > 0 &&
        Math.abs(item.chart.clientWidth - item.width) > 1;
      drawAll(figures.filter(stale));
    }, 150);
  });

  // Paper cannot be clicked open.
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = Array.from(document.querySelectorAll("details:not([open])"));
    opened.forEach((details) => (details.open = true));
  });
  window.addEventListener("afterprint", () => opened.forEach((details) => (details.open = false)));
})();
