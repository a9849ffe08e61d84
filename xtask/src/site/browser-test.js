// Opens every page in a frame of several widths, and looks at what a reader would notice: pages that are wider than the
// window, text that can hardly be read, pictures that are missing, a search that finds nothing.
"use strict";

const WIDTHS = [320, 768, 1600];
const LEAST = 4.5;
const frame = document.getElementById("page");
let checked = 0;

function problem(text) {
  const item = document.createElement("li");
  item.textContent = text;
  document.getElementById("problems").append(item);
}

function load(url) {
  return new Promise((done) => { frame.onload = done; frame.src = url; });
}

function luminance([red, green, blue]) {
  const part = (value) => {
    const share = value / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
}

function colour(text) {
  return text.match(/[\d.]+/g).map(Number);
}

function background(element) {
  for (let at = element; at; at = at.parentElement) {
    const found = colour(frame.contentWindow.getComputedStyle(at).backgroundColor);
    if (found.length < 4 || found[3] > 0) { return found; }
  }
  return [255, 255, 255];
}

function contrast(element) {
  const front = luminance(colour(frame.contentWindow.getComputedStyle(element).color));
  const back = luminance(background(element));
  return (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
}

function look(url, width) {
  const page = frame.contentDocument;
  const wide = page.documentElement.scrollWidth;
  if (wide > width) { problem(`${url}: ${wide} pixels wide in a window of ${width}`); }
  for (const picture of page.images) {
    if (!picture.naturalWidth) { problem(`${url}: no picture ${picture.src}`); }
    if (!picture.alt) { problem(`${url}: a picture without words: ${picture.src}`); }
  }
  const seen = new Set();
  for (const element of page.body.querySelectorAll("a, p, li, td, th, h1, h2, h3, code, b, summary, input")) {
    const style = frame.contentWindow.getComputedStyle(element);
    const kind = `${style.color} ${background(element)}`;
    if (seen.has(kind)) { continue; }
    seen.add(kind);
    const found = contrast(element);
    if (found < LEAST) { problem(`${url}: contrast ${found.toFixed(1)} of <${element.localName}>`); }
  }
  checked += 1;
}

async function search(word, expected) {
  await load(`index.html?q=${encodeURIComponent(word)}`);
  for (let turn = 0; turn < 100; turn += 1) {
    const links = [...frame.contentDocument.querySelectorAll("#results li a")].slice(0, 5);
    if (links.length) {
      const found = links.some((link) => link.href.includes(expected));
      if (!found) { problem(`the search for "${word}" does not offer ${expected} among the first five`); }
      return;
    }
    await new Promise((done) => { setTimeout(done, 20); });
  }
  problem(`the search for "${word}" finds nothing`);
}

async function run() {
  try {
    for (const width of WIDTHS) {
      frame.style.width = `${width}px`;
      frame.style.height = "900px";
      for (const url of window.pages) {
        await load(url);
        look(url, width);
      }
    }
    await search("roll back", "rollback");
    await search("air gap", "guide/air-gap.html");
    await search("exit codes", "reference/exit-codes.html");
  } catch (error) {
    problem(`the test stopped: ${error}`);
  }
  document.title = `checked ${checked}`;
  await fetch("/result", { method: "POST", body: JSON.stringify({
    checked, problems: [...document.querySelectorAll("#problems li")].map((item) => item.textContent),
  }) });
}

run();
