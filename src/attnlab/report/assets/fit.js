// Makes a Vega-Lite spec fit a width. A single plot takes the width there is, unless its author gave
// it a smaller one. Composed charts know nothing of their container: small multiples become a grid
// over the whole width, and where there is no room, parts go one below the other and are narrowed to
// what is left beside axes and headers.
(function () {
  "use strict";
  const narrow = 560;
  const axes = 90;
  const headers = 60;
  const partWidth = 220;
  const panel = 190; // a panel with its axes
  const leastPanel = 160; // on a phone
  const panelAxes = 62;
  const spacing = 14;
  const leastPlot = 60;
  const leastFacet = 32;
  const facetSpacing = 22;
  const lowPanel = 125; // height of a small multiple
  const growth = 1.6; // by which panels may become wider than their author made them
  const lowPlot = 170; // height of a plot in a column

  const isSingle = (spec) => spec.mark !== undefined || spec.layer !== undefined;
  const channelsOf = (spec) => spec.encoding || {};

  function isFaceted(spec) {
    const channels = channelsOf(spec);
    return Boolean(channels.facet || channels.row || channels.column);
  }

  function hasSteps(spec) {
    const parts = [spec, ...(spec.layer || [])];
    const discrete = parts.some((part) => ["nominal", "ordinal"].includes((channelsOf(part).y || {}).type));
    return discrete && typeof spec.height !== "number";
  }

  function columnsFor(width, part) {
    const wide = typeof part.width === "number" ? part.width : partWidth;
    return Math.max(1, Math.floor((width - axes / 2) / (wide + 20)));
  }

  function narrowedPlot(spec, room) {
    const least = Math.max(room, 120);
    if (typeof spec.width === "number") spec.width = Math.min(spec.width, least);
    else if (room < narrow) spec.width = least;
  }

  // A row of facets wraps like a paragraph.
  function wrapped(spec, width) {
    const channels = channelsOf(spec);
    if (channels.column && !channels.row && width < narrow) {
      channels.facet = Object.assign({ columns: 99 }, channels.column);
      delete channels.column;
    }
    if (channels.facet) {
      const most = columnsFor(width, spec);
      channels.facet.columns = Math.min(channels.facet.columns || most, most);
    }
    narrowedPlot(spec, width - axes - (channels.row ? headers : 0));
  }

  function wrappedFacet(spec, width, root) {
    if (spec.facet.column && !spec.facet.row && width < narrow) spec.facet = spec.facet.column;
    if (!spec.facet.row && !spec.facet.column) {
      const most = columnsFor(width, spec.spec);
      spec.columns = Math.min(spec.columns || most, most);
    }
    const beside = spec.facet.column ? countOf(spec, spec.facet.column.field, root) : spec.columns || 1;
    const room = width - axes - (spec.facet.row ? headers : 0);
    if (beside > 1) fill(spec.spec, Math.floor(room / beside) - facetSpacing, growth);
    else fill(spec.spec, room, width < narrow ? 2 * growth : growth);
  }

  // A panel takes the room there is, up to `most` times the width that its author gave it.
  function fill(spec, room, most) {
    const wide = typeof spec.width === "number" ? spec.width : partWidth;
    const square = spec.height === wide; // and stays one
    spec.width = Math.max(Math.min(Math.round(most * wide), room), leastFacet);
    if (square) spec.height = spec.width;
  }

  const channelsWithin = (part) => [part, ...(part.layer || [])].map(channelsOf);
  const withoutAxes = (part) =>
    ["x", "y"].every((name) => channelsWithin(part).every((found) => !found[name] || found[name].axis === null));

  // How many values a field has in the data of a spec.
  function countOf(spec, field, root) {
    const data = [spec, spec.spec, root].map((part) => part && part.data).find(Boolean) || {};
    const rows = data.values || (root.datasets || {})[data.name] || [];
    return Math.max(1, new Set(rows.map((row) => row[field])).size);
  }

  // Panels in as few rows as have room; where the author's rows mean something, whole ones of them.
  function gridded(spec, width, excess, root) {
    const count = spec.concat.length;
    if (!count) return;
    const own = Math.min(spec.columns || count, count);
    const most = Math.max(1, Math.min(count, Math.floor(width / (width < narrow ? leastPanel : panel))));
    let columns = Math.ceil(count / Math.ceil(count / most));
    if (own < columns && count % own === 0) columns -= columns % own;
    if (columns < own && count % own === 0) {
      const parts = [4, 3, 2].filter((number) => number <= columns && own % number === 0);
      if (parts.length) columns = parts[0]; // a row of the author's becomes whole rows
    }
    spec.spacing = spacing;
    const beside = spec.concat.every(withoutAxes) ? 0 : panelAxes;
    const roomFor = (number, over) => Math.floor((width - over - 8) / number) - beside - spacing;
    const wanted = columns;
    while (columns > 1 && roomFor(columns, excess) < leastPlot) columns -= 1;
    spec.columns = columns;
    const room = roomFor(columns, columns === wanted ? excess : spacing);
    spec.concat.forEach((part) => {
      if (isSingle(part) && !isFaceted(part)) resized(part, Math.max(room, leastPlot));
      else narrowed(part, width, excess, root);
    });
  }

  function resized(part, room) {
    const before = typeof part.width === "number" ? part.width : partWidth;
    const square = part.height === before; // and stays one
    part.width = Math.min(room, Math.round((square ? growth : 2) * before));
    if (square) part.height = part.width;
    else if (typeof part.height === "number") part.height = Math.min(part.height, lowPanel, Math.round(part.width * 1.2));
  }

  function stacked(spec) {
    if (spec.hconcat) {
      spec.vconcat = spec.hconcat;
      delete spec.hconcat;
    }
    if (Array.isArray(spec.repeat)) spec.columns = 1;
    if (spec.repeat && spec.repeat.column && !spec.repeat.row) {
      spec.repeat = { row: spec.repeat.column };
      spec.spec = JSON.parse(
        JSON.stringify(spec.spec).replaceAll('"repeat":"column"', '"repeat":"row"'),
      );
    }
  }

  function narrowed(spec, width, excess, root) {
    if (width < narrow) stacked(spec);
    if (spec.concat) gridded(spec, width, excess, root);
    else if (spec.facet) wrappedFacet(spec, width - excess, root);
    else if (spec.repeat) narrowed(spec.spec, width, excess, root);
    else if (isSingle(spec) && isFaceted(spec)) wrapped(spec, width - excess);
    else if (isSingle(spec)) narrowedPlot(spec, width - excess - axes);
    (spec.vconcat || []).forEach((part) => narrowed(part, width, excess, root));
  }

  // How many columns a legend has is decided by the room there is.
  function withoutLegendColumns(spec) {
    Object.values(channelsOf(spec)).forEach((channel) => {
      if (channel && channel.legend) delete channel.legend.columns;
    });
    ["layer", "hconcat", "vconcat", "concat"].forEach((name) => (spec[name] || []).forEach(withoutLegendColumns));
    if (spec.spec) withoutLegendColumns(spec.spec);
  }

  // `excess` is by how much an earlier drawing was too wide: columns stay, panels become narrower.
  window.attnlabFit = function (spec, width, excess = 0) {
    if (width < narrow) withoutLegendColumns(spec);
    const single = isSingle(spec) && !isFaceted(spec);
    if (!single) {
      narrowed(spec, width, excess, spec);
    } else if (!(typeof spec.width === "number" && spec.width + axes <= width) && hasSteps(spec)) {
      spec.width = Math.max(width - excess - axes, 80); // its height cannot be fitted to anything
    } else if (!(typeof spec.width === "number" && spec.width + axes <= width)) {
      spec.width = width - excess;
      spec.autosize = { type: "fit-x", contains: "padding" };
      if (spec.height === undefined && width < narrow + 80) spec.height = lowPlot;
    }
    return spec;
  };
})();
