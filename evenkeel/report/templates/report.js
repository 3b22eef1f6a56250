"use strict";
(() => {
  const table = document.getElementById("workloads");
  if (!table) return;
  const rendered = 200; // As in page.css: more rows than a picture of a whole page has, which is 16,384 pixels high.
  const [find, show, sort, count] = ["find", "show", "sort", "count"].map((id) => document.getElementById(id));
  const rows = Array.from(table.tBodies, (body, place) => {
    const name = body.rows[0].cells[0];
    return {
      body,
      place,
      text: name.textContent.toLowerCase(),
      name: `${name.lastElementChild.textContent.replace(/^.* in /, "")}/${name.firstElementChild.textContent}`,
      show: body.dataset.show.split(" "),
      order: body.dataset.order.split(" ").map(Number),
    };
  });

  function filter() {
    const words = find.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const row of rows) {
      const fits = words.every((word) => row.text.includes(word)) && (!show.value || row.show.includes(show.value));
      row.body.hidden = !fits;
      shown += fits;
    }
    table.classList.toggle("few", shown <= rendered);
    count.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} workloads`;
  }

  function order() {
    const by = sort.value;
    const compare = (a, b) => (by === "name" ? (a.name < b.name ? -1 : a.name > b.name ? 1 : 0) : b.order[by] - a.order[by]);
    const ordered = by ? rows.slice().sort((a, b) => compare(a, b) || a.place - b.place) : rows;
    table.append(...ordered.map((row) => row.body));
    table.caption.textContent = `Workloads, sorted by ${sort.selectedOptions[0].textContent}`;
  }

  function keep() {
    const chosen = new URLSearchParams();
    for (const control of [find, show, sort]) if (control.value) chosen.set(control.id, control.value);
    history.replaceState(null, "", `#${chosen}`);
  }

  function restore() {
    const chosen = new URLSearchParams(location.hash.slice(1));
    find.value = chosen.get("find") ?? "";
    for (const select of [show, sort]) {
      const value = chosen.get(select.id);
      select.value = Array.from(select.options).some((option) => option.value === value) ? value : "";
    }
    filter();
    order();
  }

  find.addEventListener("input", () => { filter(); keep(); });
  show.addEventListener("change", () => { filter(); keep(); });
  sort.addEventListener("change", () => { order(); keep(); });
  addEventListener("hashchange", restore);
  document.getElementById("controls").hidden = false;
  restore();
})();
