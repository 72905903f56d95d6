// Draws a spec into an element of the page, to the width there is and in the scheme in use. How wide
// a legend or an axis is shows only when it is drawn: what is too wide is drawn again.
(function () {
  "use strict";
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const manyRows = 5000;
  const axis = 70; // a legend begins to the right of the axis

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
    if (width < 560) {
      config.axis.labelLimit = 140;
      config.legend.layout = { top: { direction: "vertical" } }; // one legend below the other
    }
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

  function embed(text, target, width, rows, columns, excess) {
    const spec = window.attnlabFit(JSON.parse(text), width, excess);
    return window.vegaEmbed(target, dark.matches ? inverted(spec) : spec, {
      actions: false,
      renderer: rows > manyRows ? "canvas" : "svg",
      config: look(columns, width),
      logLevel: 1, // errors; an empty panel is no news
      tooltip: { theme: dark.matches ? "dark" : "light" },
    });
  }

  // `fitted` remembers what an earlier drawing of the same figure needed, so that one drawing is
  // enough while the figure follows a knob. The view that is returned has to be finalized.
  window.attnlabDraw = async function (text, target, width, rows = 0, fitted = {}) {
    if (fitted.width !== width) Object.assign(fitted, { width: width, columns: Math.max(1, Math.floor(width / 120)), excess: 0 });
    let result = await embed(text, target, width, rows, fitted.columns, fitted.excess);
    for (let again = 0; again < 4; again += 1) {
      const over = Math.ceil(widthOf(target) - width);
      const legend = fitted.columns > 1 && widestLegend(result.view.scenegraph().root) + axis > width;
      if (!legend && over <= 0) break;
      if (legend) fitted.columns = Math.floor(fitted.columns / 2);
      else fitted.excess += over + 2;
      result.finalize();
      result = await embed(text, target, width, rows, fitted.columns, fitted.excess);
    }
    return result;
  };
})();
