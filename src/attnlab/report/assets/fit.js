// Makes a Vega-Lite spec fit a width. A single plot takes the width there is, unless its author gave
// it a smaller one. Composed charts know nothing of their container: where there is no room, their
// parts go one below the other and are narrowed to what is left beside axes and headers.
(function () {
  "use strict";
  const narrow = 560;
  const axes = 90;
  const headers = 60;
  const partWidth = 220;

  const isSingle = (spec) => spec.mark !== undefined || spec.layer !== undefined;
  const channelsOf = (spec) => spec.encoding || {};

  function isFaceted(spec) {
    const channels = channelsOf(spec);
    return Boolean(channels.facet || channels.row || channels.column);
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

  function wrappedFacet(spec, width) {
    if (spec.facet.column && !spec.facet.row && width < narrow) spec.facet = spec.facet.column;
    if (!spec.facet.row && !spec.facet.column) {
      const most = columnsFor(width, spec.spec);
      spec.columns = Math.min(spec.columns || most, most);
    }
    narrowedPlot(spec.spec, width - axes - (spec.facet.row ? headers : 0));
  }

  function stacked(spec) {
    if (spec.hconcat) {
      spec.vconcat = spec.hconcat;
      delete spec.hconcat;
    }
    if (spec.concat) spec.columns = 1;
    if (Array.isArray(spec.repeat)) spec.columns = 1;
    if (spec.repeat && spec.repeat.column && !spec.repeat.row) {
      spec.repeat = { row: spec.repeat.column };
      spec.spec = JSON.parse(
        JSON.stringify(spec.spec).replaceAll('"repeat":"column"', '"repeat":"row"'),
      );
    }
  }

  function narrowed(spec, width) {
    if (width < narrow) stacked(spec);
    if (spec.facet) wrappedFacet(spec, width);
    else if (spec.repeat) narrowed(spec.spec, width);
    else if (isSingle(spec) && isFaceted(spec)) wrapped(spec, width);
    else if (isSingle(spec)) narrowedPlot(spec, width - axes);
    (spec.vconcat || (width < narrow && spec.concat) || []).forEach((part) => narrowed(part, width));
  }

  window.attnlabFit = function (spec, width) {
    const single = isSingle(spec) && !isFaceted(spec);
    if (!single) {
      narrowed(spec, width);
    } else if (!(typeof spec.width === "number" && spec.width + axes <= width)) {
      spec.width = width;
      spec.autosize = { type: "fit-x", contains: "padding" };
    }
    return spec;
  };
})();
