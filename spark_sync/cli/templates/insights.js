"use strict";
for (const section of document.querySelectorAll("section[data-table]")) {
  const table = section.querySelector("table");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const search = section.querySelector(".search");
  const status = section.querySelector("[role=status]");
  search.hidden = false;
  search.querySelector("input").addEventListener("input", event => {
    const wanted = event.target.value.toLowerCase();
    let shown = 0;
    for (const row of rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
      shown += row.hidden ? 0 : 1;
    }
    status.textContent = wanted ? `${shown} of ${rows.length} rows` : "";
  });
  const value = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent;
  [...table.tHead.rows[0].cells].forEach((cell, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...cell.childNodes);
    cell.append(button);
    button.addEventListener("click", () => {
      const ascending = cell.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const numeric = cell.dataset.kind === "number";
      const order = (a, b) => numeric ? Number(value(a, column) || -1) - Number(value(b, column) || -1)
        : value(a, column).localeCompare(value(b, column));
      rows.sort((a, b) => ascending ? order(a, b) : order(b, a));
      body.append(...rows);
    });
  });
}
