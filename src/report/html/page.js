"use strict";
(() => {
  const all = (selector, within) => Array.from((within || document).querySelectorAll(selector));
  const sources = JSON.parse(document.getElementById("sources").textContent);
  const races = all(".race");
  const said = document.getElementById("said");
  let race = 0;
  let step = -1;

  const make = (name, className, text) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };

  /* Source lines around one, as far as the page has them. */
  const excerpt = (file, line) => {
    const lines = sources[file];
    if (!lines || lines[line] === undefined) return null;
    const code = make("pre", "code");
    for (let at = line - 5; at <= line + 5; at++) {
      if (lines[at] === undefined) continue;
      const row = make("span", at === line ? "line marked" : "line");
      row.append(make("span", "at", String(at)), lines[at] + "\n");
      code.append(row);
    }
    return code;
  };

  const held = (section, number) => all("rect.lock", section)
    .filter((bar) => Number(bar.dataset.from) <= number && number <= Number(bar.dataset.to))
    .map((bar) => `${bar.dataset.thread} holds ${bar.dataset.name}`);

  const show = (section, row) => {
    const panel = section.querySelector(".source");
    panel.replaceChildren();
    const number = Number(row.dataset.step);
    const total = all(".row.step", section).at(-1).dataset.step;
    const texts = all(".action", row).map((action) => action.textContent);
    const title = row.classList.contains("race-row") ? `${row.dataset.what}: ${texts.join(" — ")}` : `${row.dataset.thread} ${texts[0]}`;
    panel.append(make("h4", "", title));
    const locks = held(section, number);
    panel.append(make("p", "", [`step ${number} of ${total}`, ...(locks.length ? locks : ["no lock is held"])].join(" · ")));
    const places = [[row.dataset.fileA, row.dataset.lineA], [row.dataset.file, row.dataset.line]];
    for (const [file, line] of places) {
      if (!file || !line) continue;
      panel.append(make("p", "", `${file}:${line}`));
      const code = excerpt(file, Number(line));
      if (code) panel.append(code);
    }
    return `Step ${number}: ${title}`;
  };

  /* Goes to a step of the current race; -1 is the whole picture. */
  const go = (to, scroll) => {
    const section = races[race];
    if (!section) return;
    const rows = all(".row.step", section);
    step = Math.max(-1, Math.min(to, rows.length - 1));
    const row = step < 0 ? null : rows[step];
    section.classList.toggle("stepping", row !== null);
    rows.forEach((other, at) => {
      other.classList.toggle("current", at === step);
      other.classList.toggle("future", step >= 0 && at > step);
      if (at === step) other.setAttribute("aria-current", "step"); else other.removeAttribute("aria-current");
    });
    const number = row ? row.dataset.step : "";
    all(".arrow", section).forEach((arrow) =>
      arrow.classList.toggle("lit", arrow.dataset.from === number || arrow.dataset.to === number));
    all(".drawing [data-step]", section).forEach((shape) =>
      shape.classList.toggle("future", row !== null && Number(shape.dataset.step) > Number(number)));
    /* The whole picture is about its end. */
    const text = show(section, row || rows.at(-1));
    if (row) said.textContent = text;
    if (row && scroll !== false) row.scrollIntoView({ block: "nearest" });
  };

  const choose = (to) => {
    if (!races.length) return;
    go(-1);
    race = Math.max(0, Math.min(to, races.length - 1));
    step = -1;
    races[race].scrollIntoView({ block: "start" });
    races[race].focus({ preventScroll: true });
  };

  races.forEach((section, number) => all(".row.step", section).forEach((row, at) =>
    row.addEventListener("click", () => {
      if (number !== race) { go(-1); race = number; }
      go(at, false);
    })));

  document.addEventListener("keydown", (event) => {
    const search = document.querySelector(".filter input[type=search]");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === search && event.key !== "Escape") return;
    const rows = races[race] ? all(".row.step", races[race]).length : 0;
    const keys = {
      j: () => go(step + 1), ArrowDown: () => go(step + 1),
      k: () => go(step < 0 ? rows - 1 : Math.max(0, step - 1)), ArrowUp: () => go(step < 0 ? rows - 1 : Math.max(0, step - 1)),
      Home: () => go(0), End: () => go(rows - 1),
      n: () => choose(race + 1), p: () => choose(race - 1),
      "/": () => search && search.focus(),
      Escape: () => { document.activeElement.blur(); go(-1); },
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });

  all(".filter").forEach((form) => {
    const trace = form.closest(".trace");
    const apply = () => {
      const wanted = form.querySelector("input[type=search]").value.toLowerCase().split(/\s+/);
      const off = all("input[type=checkbox]", form).filter((box) => !box.checked).map((box) => box.name);
      all(".pairs tbody tr", trace).forEach((row) => {
        const text = row.textContent.toLowerCase();
        row.hidden = off.includes(row.dataset.verdict) || !wanted.every((word) => text.includes(word));
        const section = row.dataset.race && document.getElementById(row.dataset.race);
        if (section) section.hidden = row.hidden;
      });
    };
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
  });

  all(".pairs tr[data-race]").forEach((row) => row.addEventListener("click", () =>
    choose(races.findIndex((section) => section.id === row.dataset.race))));

  document.getElementById("theme").addEventListener("click", () => {
    const next = { undefined: "light", light: "dark", dark: undefined }[document.documentElement.dataset.theme];
    if (next) document.documentElement.dataset.theme = next; else delete document.documentElement.dataset.theme;
  });

  races.forEach((section) => show(section, all(".row.step", section).at(-1)));
  const linked = races.findIndex((section) => `#${section.id}` === location.hash);
  if (linked >= 0) race = linked;
})();
