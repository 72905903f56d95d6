// Asks the server for the figure of an explorer whenever a knob moves. The knobs' values are kept in
// the address, so that a link restores them. A request that was overtaken is given up. A training is
// started and stopped by its buttons, and asked for while it runs.
(function () {
  "use strict";
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const page = String(Math.random()).slice(2);
  const between = 300; // milliseconds between two looks at a training

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
    document.querySelectorAll("[data-link=here]").forEach((here) => (here.href = window.location.href));
  }

  function restore(explorer) {
    const state = new URLSearchParams(window.location.hash.slice(1));
    explorer.querySelectorAll("[name]").forEach((knob) => {
      const value = state.get(prefix(explorer) + knob.name);
      if (value !== null) knob.value = value;
      if (knob.nextElementSibling) knob.nextElementSibling.textContent = knob.value;
    });
  }

  async function asked(address, options) {
    const answer = await fetch(address, options);
    if (answer.status === 409) return null;
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return text;
  }

  function follow(explorer) {
    const chart = explorer.querySelector(".chart");
    const problem = explorer.querySelector(".missing");
    const address = "/explore/" + explorer.dataset.study + "/" + explorer.dataset.explorer;
    const live = explorer.querySelector(".live");
    const fitted = {};
    let serial = 0;
    let waiting = null;
    let view = null;
    let shown = "";
    let training = null;

    function link() {
      const query = new URLSearchParams(valuesOf(explorer));
      ["csv", "py"].forEach((kind) => (explorer.querySelector("[data-link=" + kind + "]").href = address + "." + kind + "?" + query));
      remember();
      return query;
    }

    function tell(reason) {
      problem.textContent = reason.message;
      problem.hidden = false;
    }

    async function show(spec, current) {
      const target = document.createElement("div");
      const drawn = await window.attnlabDraw(spec, target, Math.floor(chart.clientWidth), 0, fitted);
      if (!current()) return drawn.finalize();
      if (view) view.finalize();
      view = drawn;
      shown = spec;
      chart.replaceChildren(target);
      problem.hidden = true;
      explorer.dataset.scheme = dark.matches ? "dark" : "light";
    }

    async function draw() {
      serial += 1;
      const own = serial;
      if (waiting) waiting.abort();
      waiting = new AbortController();
      const query = link();
      query.set("page", page + prefix(explorer));
      query.set("serial", String(own));
      try {
        const spec = await asked(address + ".json?" + query, { signal: waiting.signal });
        if (own !== serial || spec === null) return;
        await show(spec, () => own === serial);
        if (own === serial) explorer.dataset.drawn = String(own);
      } catch (reason) {
        if (reason.name === "AbortError" || own !== serial) return;
        tell(reason);
        explorer.dataset.drawn = String(own);
      }
    }

    function buttons(running, words) {
      live.querySelector("[data-do=start]").disabled = running;
      live.querySelector("[data-do=stop]").disabled = !running;
      live.querySelector("output").textContent = words;
      explorer.dataset.training = running ? "running" : "ended";
    }

    async function watch(own) {
      while (training === own) {
        const found = JSON.parse(await asked(address + ".json?training=" + own));
        if (training !== own) return;
        if (found.spec) await show(JSON.stringify(found.spec), () => training === own);
        buttons(found.running, found.words);
        if (!found.running) return;
        await new Promise((resolve) => setTimeout(resolve, between));
      }
    }

    async function start() {
      const query = link();
      query.set("page", page + prefix(explorer));
      buttons(true, "starting");
      try {
        training = JSON.parse(await asked(address + ".start?" + query, { method: "POST" })).training;
        await watch(training);
      } catch (reason) {
        tell(reason);
        buttons(false, "");
      }
    }

    async function stop() {
      try {
        await asked(address + ".stop?training=" + training, { method: "POST" });
      } catch (reason) {
        tell(reason);
      }
    }

    explorer.addEventListener("input", (event) => {
      const output = event.target.nextElementSibling;
      if (output && output.tagName === "OUTPUT") output.textContent = event.target.value;
      if (live) link();
      else draw();
    });
    // A figure that is there is drawn again; nothing is computed again.
    dark.addEventListener("change", () => shown && show(shown, () => true));
    link();
    if (live) {
      live.querySelector("[data-do=start]").addEventListener("click", start);
      live.querySelector("[data-do=stop]").addEventListener("click", stop);
      window.addEventListener("pagehide", () => {
        if (explorer.dataset.training === "running") navigator.sendBeacon(address + ".stop?training=" + training);
      });
      return;
    }
    // An explorer below the fold is asked for when it comes near.
    const near = new IntersectionObserver((seen) => {
      if (!seen.some((each) => each.isIntersecting)) return;
      near.disconnect();
      draw();
    }, { rootMargin: "400px" });
    near.observe(explorer);
  }

  // The address keeps the knobs, so that a jump must not replace it.
  document.querySelectorAll("[data-jump]").forEach((jump) => {
    jump.addEventListener("click", (event) => {
      event.preventDefault();
      const heading = document.getElementById(jump.dataset.jump);
      heading.scrollIntoView();
      heading.focus({ preventScroll: true });
    });
  });
  const explorers = document.querySelectorAll(".explorer");
  explorers.forEach(restore); // all of them before any writes the address anew
  explorers.forEach(follow);
})();
