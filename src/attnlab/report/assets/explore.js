// Asks the server for the figure of an explorer whenever a knob moves. The knobs' values are kept in
// the address, so that a link restores them. A request that was overtaken is given up.
(function () {
  "use strict";
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const page = String(Math.random()).slice(2);

  function valuesOf(explorer) {
    const found = {};
    explorer.querySelectorAll("[name]").forEach((knob) => (found[knob.name] = knob.value));
    return found;
  }

  function prefix(explorer) {
    return explorer.dataset.study + "." + explorer.dataset.explorer + ".";
  }

  function remember() {
    const state = new URLSearchParams();
    document.querySelectorAll(".explorer").forEach((explorer) => {
      Object.entries(valuesOf(explorer)).forEach(([name, value]) => state.set(prefix(explorer) + name, value));
    });
    window.history.replaceState(null, "", "#" + state);
  }

  function restore(explorer) {
    const state = new URLSearchParams(window.location.hash.slice(1));
    explorer.querySelectorAll("[name]").forEach((knob) => {
      const value = state.get(prefix(explorer) + knob.name);
      if (value !== null) knob.value = value;
      if (knob.nextElementSibling) knob.nextElementSibling.textContent = knob.value;
    });
  }

  function follow(explorer) {
    const chart = explorer.querySelector(".chart");
    const problem = explorer.querySelector(".missing");
    const address = "/explore/" + explorer.dataset.study + "/" + explorer.dataset.explorer;
    let serial = 0;
    let waiting = null;
    let view = null;

    async function draw() {
      serial += 1;
      const own = serial;
      if (waiting) waiting.abort();
      waiting = new AbortController();
      const values = valuesOf(explorer);
      const query = new URLSearchParams(values);
      ["csv", "py"].forEach((kind) => (explorer.querySelector("[data-link=" + kind + "]").href = address + "." + kind + "?" + query));
      remember();
      explorer.querySelector("[data-link=here]").href = window.location.href;
      query.set("page", page + prefix(explorer));
      query.set("serial", String(own));
      try {
        const answer = await fetch(address + ".json?" + query, { signal: waiting.signal });
        if (own !== serial || answer.status === 409) return;
        if (!answer.ok) throw new Error(await answer.text());
        const spec = window.attnlabFit(await answer.json(), chart.clientWidth);
        const config = structuredClone(window.attnlabTheme[dark.matches ? "dark" : "light"]);
        config.background = "transparent";
        const target = document.createElement("div");
        const drawn = await window.vegaEmbed(target, spec, { actions: false, renderer: "svg", config: config, logLevel: 1 });
        if (own !== serial) return;
        if (view) view.finalize();
        view = drawn;
        chart.replaceChildren(target);
        problem.hidden = true;
        explorer.dataset.drawn = String(own);
      } catch (reason) {
        if (reason.name === "AbortError" || own !== serial) return;
        problem.textContent = reason.message;
        problem.hidden = false;
        explorer.dataset.drawn = String(own);
      }
    }

    explorer.addEventListener("input", (event) => {
      const shown = event.target.nextElementSibling;
      if (shown && shown.tagName === "OUTPUT") shown.textContent = event.target.value;
      draw();
    });
    dark.addEventListener("change", draw);
    restore(explorer);
    draw();
  }

  document.querySelectorAll(".explorer").forEach(follow);
})();
