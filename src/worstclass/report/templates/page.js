"use strict";
(() => {
  // tables: the heads become buttons that sort; numbers by their full value
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    const value = cell.dataset.value ?? cell.textContent.trim();
    return value === "" || isNaN(value) ? value : Number(value);
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true }));
  for (const table of document.querySelectorAll("table[data-sortable]")) {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((head, column, heads) => {
      if (!head.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const first = column === 0 ? "ascending" : "descending";
        const other = first === "ascending" ? "descending" : "ascending";
        const order = head.getAttribute("aria-sort") === first ? other : first;
        heads.forEach((one) => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const rows = [...body.rows].sort((a, b) => sign * compare(valueOf(a, column), valueOf(b, column)));
        body.append(...rows);
      });
    });
  }

  // the slider over the rounds
  const slider = document.getElementById("round");
  if (slider) {
    const data = JSON.parse(document.getElementById("rounds-data").textContent);
    const cursor = document.querySelector("#weights .cursor");
    const items = [...document.querySelectorAll(".weights li")];
    const percent = (rate) => (100 * rate).toFixed(1) + "%";
    const { numbers } = data;
    slider.addEventListener("input", () => {
      const i = Number(slider.value);
      const x = (640 * (numbers[i] - numbers[0])) / (numbers[numbers.length - 1] - numbers[0] || 1);
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      document.getElementById("round-number").textContent = numbers[i];
      slider.setAttribute("aria-valuetext", "round " + numbers[i]);
      items.forEach((item, k) => {
        item.querySelector("i").style.width = (100 * data.weights[i][k]) / data.top + "%";
        item.querySelector(".value").textContent = data.weights[i][k].toFixed(3);
      });
      const texts = data.edges.length ? ["Edge " + data.edges[i].toFixed(3) + "."] : [];
      for (const [part, values] of Object.entries(data.errors)) {
        texts.push(`Vote so far, ${part} rows: worst class ${percent(values[i][0])}, all rows ${percent(values[i][1])}.`);
      }
      document.getElementById("round-facts").textContent = texts.join(" ");
    });
  }

  // light and dark
  const button = document.getElementById("theme");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const name = () => (button.textContent = isDark() ? "Light" : "Dark");
  button.hidden = false;
  name();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
})();
