// Draws each figure from the spec inside the page, to the width there is and in the scheme in use.
// A figure that cannot be drawn keeps its static picture.
(function () {
  "use strict";
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const manyRows = 5000;
  const axis = 70; // a legend begins to the right of the axis

  const figures = Array.from(document.querySelectorAll("figure.figure"))
    .filter((figure) => figure.querySelector("script.spec"))
    .map((figure) => ({
      figure: figure,
      chart: figure.querySelector(".chart"),
      spec: figure.querySelector("script.spec").textContent,
      view: null,
      width: 0,
    }));

  // Black on white was the draughtsman's default, not a choice: it follows the scheme.
  const opposite = { black: "#e4e8ee", "#000": "#e4e8ee", "#000000": "#e4e8ee", white: "#161b22" };
  const inks = new Set(["color", "fill", "stroke", "value"]);

  function inverted(given) {
    if (Array.isArray(given)) return given.map(inverted);
    if (given === null || typeof given !== "object") return given;
    const result = {};
    Object.entries(given).forEach(([key, item]) => {
      if (key === "datasets" || key === "values") result[key] = item;
      else if (inks.has(key) && typeof item === "string") result[key] = opposite[item] || item;
      else result[key] = inverted(item);
    });
    return result;
  }

  function look(columns, width) {
    const config = structuredClone(window.attnlabTheme[dark.matches ? "dark" : "light"]);
    config.background = "transparent";
    config.legend.columns = columns;
    if (width < 560) config.axis.labelLimit = 110;
    return config;
  }

  function widestLegend(mark) {
    const own = mark.role === "legend" ? mark.items.map((i) => i.bounds.x2 - i.bounds.x1) : [];
    const groups = mark.marktype === "group" ? mark.items.flatMap((group) => group.items) : [];
    return Math.max(0, ...own, ...groups.map(widestLegend));
  }

  function widthOf(target) {
    const picture = target.querySelector("svg, canvas");
    return picture ? Number.parseFloat(picture.getAttribute("width")) / (picture.tagName === "CANVAS" ? window.devicePixelRatio : 1) : 0;
  }

  function embed(item, target, columns, excess) {
    const spec = window.attnlabFit(JSON.parse(item.spec), item.width, excess);
    return window.vegaEmbed(target, dark.matches ? inverted(spec) : spec, {
      actions: false,
      renderer: Number(item.chart.dataset.rows) > manyRows ? "canvas" : "svg",
      config: look(columns, item.width),
      logLevel: 1, // errors; an empty panel is no news
      tooltip: { theme: dark.matches ? "dark" : "light" },
    });
  }

  async function draw(item) {
    item.chart.hidden = false;
    item.width = Math.floor(item.chart.clientWidth);
    const target = document.createElement("div");
    try {
      let columns = Math.max(1, Math.floor(item.width / 120));
      let excess = 0;
      let result = await embed(item, target, columns, excess);
      // How wide a legend or an axis is shows only when it is drawn.
      for (let again = 0; again < 4; again += 1) {
        const over = Math.ceil(widthOf(target) - item.width);
        const legend = columns > 1 && widestLegend(result.view.scenegraph().root) + axis > item.width;
        if (!legend && over <= 0) break;
        if (legend) columns = Math.floor(columns / 2);
        else excess += over + 2;
        result.finalize();
        result = await embed(item, target, columns, excess);
      }
      if (item.view) item.view.finalize();
      item.view = result;
      item.chart.replaceChildren(target);
      item.figure.classList.add("drawn");
      item.figure.dataset.scheme = dark.matches ? "dark" : "light";
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
