// The ledger's controls: sort by a column's header, filter by text, by verdict and by study.
// Without this script the table is whole and readable; the controls then stay hidden.
(function () {
  "use strict";
  const table = document.querySelector("table.ledger");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const original = rows.slice();
  const headers = Array.from(table.tHead.rows[0].cells);
  const input = document.getElementById("filter");
  const toggles = Array.from(document.querySelectorAll("[data-tools] button.toggle"));
  const few = 30; // claims whose words are shown whole
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  function valueOf(row, column) {
    const cell = row.cells[column];
    return (cell.dataset.value !== undefined ? cell.dataset.value : cell.textContent).trim();
  }

  function compare(a, b) {
    if ((a === "") !== (b === "")) return a === "" ? 1 : -1;
    const x = Number(a);
    const y = Number(b);
    return Number.isNaN(x) || Number.isNaN(y) ? collator.compare(a, b) : x - y;
  }

  function sortBy(column) {
    const header = headers[column];
    const before = header.getAttribute("aria-sort");
    const after = before === "ascending" ? "descending" : before === "descending" ? "none" : "ascending";
    headers.forEach((other) => other.setAttribute("aria-sort", other === header ? after : "none"));
    const sorted = original.slice();
    if (after !== "none") {
      const sign = after === "ascending" ? 1 : -1;
      sorted.sort((a, b) => sign * compare(valueOf(a, column), valueOf(b, column)));
    }
    sorted.forEach((row) => body.append(row));
  }

  headers.forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = header.textContent;
    button.addEventListener("click", () => sortBy(column));
    header.replaceChildren(button);
    header.setAttribute("aria-sort", "none");
  });

  function filter() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const pressed = toggles.filter((toggle) => toggle.getAttribute("aria-pressed") === "true");
    const allowed = (name, value) => {
      const wanted = pressed.map((toggle) => toggle.dataset[name]).filter(Boolean);
      return wanted.length === 0 || wanted.includes(value);
    };
    let shown = 0;
    rows.forEach((row) => {
      const text = row.textContent.toLowerCase();
      const fits =
        words.every((word) => text.includes(word)) &&
        allowed("verdict", row.dataset.verdict) &&
        allowed("study", row.dataset.study);
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    });
    table.classList.toggle("few", shown <= few);
    document.querySelector("[data-shown]").textContent = shown + " of " + rows.length + " shown";
    document.querySelector("[data-nothing]").hidden = shown > 0;
  }

  input.addEventListener("input", filter);
  toggles.forEach((toggle) => {
    toggle.addEventListener("click", () => {
      toggle.setAttribute("aria-pressed", String(toggle.getAttribute("aria-pressed") !== "true"));
      filter();
    });
  });
  document.querySelector("[data-tools]").hidden = false;
  filter();
})();
