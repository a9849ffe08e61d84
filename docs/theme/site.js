// The search, and the navigation of wide windows. All pages work without this.
"use strict";

(function () {
  const root = document.body.dataset.root;
  const field = document.querySelector("input[type=search]");
  const results = document.getElementById("results");
  const article = document.querySelector("article");

  const menu = document.getElementById("menu");
  const wide = window.matchMedia("(min-width: 60rem)");
  const openMenu = () => { menu.open = wide.matches; };
  wide.addEventListener("change", openMenu);
  openMenu();

  // The index is loaded when somebody searches. It is a script, because pages on a disk may not read data.
  let index;
  function withIndex(work) {
    if (index) { work(); return; }
    const script = document.createElement("script");
    script.src = root + "search-index.js";
    script.onload = () => { index = window.searchIndex; work(); };
    document.head.append(script);
  }

  // Every word has to be in a section; titles count more than text.
  function score(section, words) {
    const [, page, heading, text] = section.map((part) => part.toLowerCase());
    let sum = 0;
    for (const word of words) {
      let found = 0;
      if (heading.includes(word)) { found += heading.split(/\W+/).includes(word) ? 12 : 6; }
      if (page.includes(word)) { found += 4; }
      if (text.includes(word)) { found += Math.min(3, text.split(word).length - 1); }
      if (!found) { return 0; }
      sum += found;
    }
    return sum;
  }

  // The text around the first word, with all words marked. Only text nodes are made: nothing of it is read as HTML.
  function excerpt(text, words) {
    const lower = text.toLowerCase();
    const first = Math.max(0, Math.min(...words.map((word) => lower.indexOf(word)).filter((at) => at >= 0)));
    const from = Number.isFinite(first) ? Math.max(0, first - 60) : 0;
    const line = document.createElement("p");
    const part = text.slice(from, from + 200);
    const pattern = new RegExp(words.map((word) => word.replace(/[^\w]/g, "\\$&")).join("|"), "gi");
    let end = 0;
    for (const match of part.matchAll(pattern)) {
      line.append(part.slice(end, match.index));
      const mark = document.createElement("mark");
      mark.textContent = match[0];
      line.append(mark);
      end = match.index + match[0].length;
    }
    line.append(part.slice(end));
    return line;
  }

  function show() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    results.hidden = words.length === 0;
    article.hidden = words.length > 0;
    results.replaceChildren();
    if (!words.length) { return; }
    const found = index.map((section) => [score(section, words), section]).filter(([sum]) => sum > 0);
    found.sort((one, other) => other[0] - one[0]);
    const title = document.createElement("h2");
    title.textContent = found.length ? found.length + " sections" : "Nothing found";
    const list = document.createElement("ol");
    for (const [, [url, page, heading, text]] of found.slice(0, 30)) {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = root + url;
      link.textContent = page === heading ? page : page + " › " + heading;
      item.append(link, excerpt(text, words));
      list.append(item);
    }
    results.append(title, list);
  }

  field.addEventListener("input", () => withIndex(show));
  field.form.addEventListener("submit", (event) => {
    event.preventDefault();
    const first = results.querySelector("a");
    if (first) { window.location = first.href; }
  });
  results.addEventListener("click", () => { field.value = ""; results.hidden = true; article.hidden = false; });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== field) { event.preventDefault(); field.focus(); }
    if (event.key === "Escape" && field.value) { field.value = ""; show(); }
  });
  const asked = new URLSearchParams(window.location.search).get("q");
  if (asked) { field.value = asked; withIndex(show); }
}());
