// Tests in Chromium. Those of `screens` need only the server with made-up releases; those of `flows` use `pintle ui` itself on an
// embedded cluster, whose address is in PINTLE_UI (the one-time link), with PINTLE_UI_CHART as a chart to install.
// `--pictures FOLDER` takes the pictures of the documentation.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { NOW, start } from "./mock.mjs";
import { flows } from "./flows.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** Ten times and more what anything takes. */
const PATIENCE = 60_000;

const release = (part, query = "") => `/releases/shop/web/${part}${query}`;
export const SCREENS = {
  releases: "/",
  filtered: "/?q=nothing-is-called-that",
  objects: "/releases/shop/checkout?object=apps%2Fv1%2FDeployment%2Fshop%2Fcheckout",
  revisions: release("revisions"),
  values: release("values"),
  "where values come from": release("values", "?value=replicas"),
  manifest: release("manifest"),
  explanation: release("manifest", "?line=web/templates/deployment.yaml:9"),
  compare: release("compare"),
  drift: release("compare", "?to=live&from=4"),
  hooks: release("hooks"),
  logs: release("logs"),
  images: release("images"),
  notes: release("notes"),
  change: release("change"),
  rollback: release("rollback"),
  uninstall: release("uninstall"),
  "no release": "/releases/shop/nobody",
  install: "/install?chart=example/web",
  charts: "/charts",
  chart: "/charts/view?reference=example/web",
  requests: "/requests",
  request: "/requests/shop/web",
  operations: "/operations",
  operation: "/operations/o-7f3a",
  rehearsal: "/operations/o-9b21",
  "no page": "/nowhere",
};

/** What the pictures of the documentation show: name, address, scheme. */
const PICTURES = [
  ["releases", SCREENS.releases, "light"],
  ["releases-dark", SCREENS.releases, "dark"],
  ["objects", SCREENS.objects, "light"],
  ["explain", SCREENS.explanation, "light"],
  ["explain-dark", SCREENS.explanation, "dark"],
  ["values", SCREENS["where values come from"], "light"],
  ["compare", SCREENS.compare, "light"],
  ["compare-dark", SCREENS.compare, "dark"],
  ["change", SCREENS.change, "light"],
  ["operation", SCREENS.operation, "light"],
  ["approve", SCREENS.request, "light"],
  ["chart-dark", SCREENS.chart, "dark"],
];

let failed = 0;
let passed = 0;
async function test(name, run) {
  const started = performance.now();
  try {
    await run();
    passed++;
    console.log(`ok      ${name} (${Math.round(performance.now() - started)} ms)`);
  } catch (error) {
    failed++;
    console.log(`FAILED  ${name}\n${String(error.stack ?? error).split("\n").slice(0, 12).join("\n")}`);
  }
}

/** A page whose errors fail the test at its end. */
async function visit(browser, options, run) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => message.type() === "error" && !/status of 4\d\d|net::ERR_/.test(message.text()) && problems.push(message.text()));
  try {
    const result = await run(page, context);
    assert.deepEqual(problems, [], "errors in the console of the browser");
    return result;
  } finally {
    await context.close();
  }
}

/** Waits until nothing is being loaded, without a fixed time. */
export async function settled(page) {
  await page.waitForFunction(() => document.querySelector("main h1, main h2") && !document.querySelector("main .loading"), undefined, { timeout: PATIENCE });
}

export async function axe(page, name, rules) {
  // Through the driver, because the page itself lets no script in that is not its own.
  await page.evaluate(AXE);
  const runOnly = rules ? { runOnly: { type: "rule", values: rules } } : {};
  const { violations } = await page.evaluate((options) => window.axe.run(document, options), { resultTypes: ["violations"], ...runOnly });
  const bad = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(bad.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`), [], `axe on ${name}`);
}

async function screens(browser, assets) {
  const mock = await start({ assets });
  for (const colorScheme of ["light", "dark"]) {
    await test(`no screen has a serious violation of accessibility in the ${colorScheme} scheme`, () =>
      visit(browser, { colorScheme }, async (page) => {
        for (const [name, path] of Object.entries(SCREENS)) {
          await page.goto(mock.address + path);
          await settled(page);
          // Names, roles and order are the same in both schemes; only colours differ.
          await axe(page, name, colorScheme === "dark" ? ["color-contrast", "link-in-text-block"] : undefined);
          if (colorScheme === "light") assert.equal(await page.locator("h1").count(), 1, `${name} has one title`);
        }
      }));
  }
  await test("at 320 pixels nothing is wider than the window", () =>
    visit(browser, { viewport: { width: 320, height: 640 } }, async (page) => {
      for (const [name, path] of Object.entries(SCREENS)) {
        await page.goto(mock.address + path);
        await settled(page);
        assert.equal(await page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth)), 0, `${name} is too wide`);
      }
    }));
  await test("no request leaves for another machine, and hostile text stays text", () =>
    visit(browser, {}, async (page, context) => {
      const elsewhere = [];
      context.on("request", (request) => !request.url().startsWith(mock.address) && elsewhere.push(request.url()));
      for (const path of [SCREENS.chart, SCREENS.notes, SCREENS.logs, SCREENS.objects]) {
        await page.goto(mock.address + path);
        await settled(page);
        assert.equal(await page.locator("main :is(script, img, iframe, object, embed)").count(), 0);
        assert.equal(await page.locator('main a[href^="javascript:" i]').count(), 0);
      }
      await page.getByText("<script>alert(1)</script>").count();
      assert.notEqual(await page.title(), "owned");
      assert.deepEqual(elsewhere, []);
    }));
  await test("the list is used by keyboard alone, and the back button undoes each step", () => visit(browser, {}, (page) => keyboard(page, mock.address)));
  await test("form and text are in step, and the plan follows what was typed last", () => visit(browser, {}, (page) => editing(page, mock.address)));
  await test("a line is explained, and a value leads back to its lines", () => visit(browser, {}, (page) => explaining(page, mock.address)));
  await test("the switch for the theme wins over the system, and is remembered", () => visit(browser, { colorScheme: "light" }, (page) => themes(page, mock.address)));
  await test("a read-only server's buttons say why they do nothing", async () => {
    const readOnly = await start({ assets, write: false });
    try {
      await visit(browser, {}, async (page) => {
        await page.goto(`${readOnly.address}/releases/shop/web/uninstall`);
        await settled(page);
        await page.getByText("pintle ui was started without --write").first().waitFor();
        assert.equal(await page.getByRole("group", { name: "Actions" }).getByRole("button", { name: "Uninstall" }).getAttribute("aria-disabled"), "true");
      });
    } finally {
      readOnly.close();
    }
  });
  await test("attacks of another page work on a server that lets them in, so that they can be told", async () => {
    const open = await start({ assets, open: true });
    try {
      const context = await browser.newContext();
      const worked = await hostile(context, open.address);
      await context.close();
      for (const name of ["fetch reads", "fetch without CORS sends JSON", "event stream", "frame"]) assert.ok(worked.includes(name), `${name} is not in ${worked}`);
    } finally {
      open.close();
    }
  });
  mock.close();
  for (const count of [500, 10_000]) {
    await test(`${count} releases are listed at once, with few rows in the document`, () => many(browser, assets, count));
  }
}

async function keyboard(page, address) {
  await page.goto(address);
  await settled(page);
  await page.locator("tbody th a").first().waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("ns:shop failed");
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: /checkout/ }).waitFor();
  await page.keyboard.press("5");
  await page.waitForURL("**/checkout/compare");
  await page.goBack();
  await page.waitForURL((url) => url.pathname === "/releases/shop/checkout");
  await page.goBack();
  await page.waitForFunction(() => document.querySelector("input[type=search]")?.value === "ns:shop failed");
  await page.locator("h1").click();
  await page.keyboard.press("g");
  await page.keyboard.press("c");
  await page.waitForURL("**/charts");
  await page.keyboard.press("?");
  await page.getByRole("dialog").getByText("Everywhere").waitFor();
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog"));
}

async function editing(page, address) {
  await page.goto(address + SCREENS.change);
  await settled(page);
  await page.getByLabel("replicas").fill("7");
  await page.locator(".bench-plan").getByText("replicas: 7").first().waitFor();
  const text = page.getByLabel("Values as YAML");
  assert.match(await text.inputValue(), /^# What the shop sets\nreplicas: 7\nimage:/);
  await page.getByRole("button", { name: "YAML" }).click();
  await text.fill((await text.inputValue()).replace("replicas: 7", "replicas: 71"));
  await text.fill((await text.inputValue()).replace("replicas: 71", "replicas: 8"));
  await page.locator(".bench-plan").getByText("replicas: 8").first().waitFor();
  await page.getByRole("button", { name: "Form" }).click();
  assert.equal(await page.getByLabel("replicas").inputValue(), "8");
  await page.getByText("kubectl-scale").waitFor();
  await page.getByRole("button", { name: "YAML" }).click();
  await text.fill("replicas: many\n");
  await page.getByText("the value is a string, not an integer").waitFor();
  assert.equal(await page.getByRole("button", { name: "Apply" }).getAttribute("aria-disabled"), "true");
}

async function explaining(page, address) {
  await page.goto(address + SCREENS.manifest);
  await settled(page);
  await page.getByRole("option", { name: "replicas: 3" }).click();
  await page.getByText("{{ .Values.replicas }}").waitFor();
  await page.getByText("your values, line 2").first().waitFor();
  await page.locator(".value-card a").first().click();
  await page.getByRole("heading", { name: "Lines that it reaches" }).waitFor();
  await page.locator(".reached a").first().click();
  await page.waitForURL("**/manifest?line=**");
  await page.locator('[role=option][aria-selected="true"]').waitFor();
}

async function themes(page, address) {
  await page.goto(address);
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  const button = page.getByRole("button", { name: /^Theme/ });
  await button.click();
  assert.equal(await background(), light);
  await button.click();
  const dark = await background();
  assert.notEqual(dark, light);
  await page.reload();
  await button.waitFor();
  assert.equal(await background(), dark);
}

/** Prints how long it takes, which says something on a machine that has nothing else to do; what is in the document is tested. */
async function many(browser, assets, count) {
  const mock = await start({ assets, count });
  try {
    await visit(browser, {}, async (page) => {
      const times = [];
      for (let round = 0; round < 4; round++) {
        await page.goto(mock.address);
        await page.waitForFunction((wanted) => document.querySelector("h1 .count")?.textContent?.trim() === String(wanted), count);
        times.push(await page.evaluate(() => performance.now()));
      }
      console.log(`        ${count} releases: listed after ${times.map((time) => Math.round(time)).join(", ")} ms`);
      assert.ok((await page.locator("tbody tr").count()) < 60);
      if (count >= 10_000) await scrolling(page);
    });
  } finally {
    mock.close();
  }
}

/** Scrolls through the list and measures the longest time that a frame took. */
async function scrolling(page) {
  const longest = await page.evaluate(async () => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const times = [];
    for (let i = 0; i < 60; i++) {
      const before = performance.now();
      scrollBy(0, 1700);
      await frame();
      times.push(performance.now() - before);
    }
    return times.sort((a, b) => b - a)[3];
  });
  console.log(`        scrolling: a frame in ${Math.round(longest)} ms (the fourth longest of 60)`);
  await page.locator("input[type=search]").fill("redis-9");
  await page.waitForFunction(() => Number(document.querySelector("h1 .count")?.textContent) < 200);
}

/** A page of somebody else, open in the same browser, that tries everything. */
export async function hostile(context, target) {
  const evil = createServer((_, answer) => {
    answer.writeHead(200, { "Content-Type": "text/html" });
    answer.end("<!doctype html><title>evil</title><body></body>");
  });
  await new Promise((resolve) => evil.listen(0, "127.0.0.1", resolve));
  const page = await context.newPage();
  try {
    await page.goto(`http://localhost:${evil.address().port}/`);
    const worked = await page.evaluate(attack, target);
    if (page.frames().some((frame) => frame.url().startsWith(target) && !frame.url().includes("/api/"))) worked.push("frame");
    return worked;
  } finally {
    await page.close();
    evil.closeAllConnections();
    evil.close();
  }
}

/** Runs in the hostile page; answers what worked. */
async function attack(target) {
  const worked = [];
  const attempt = async (name, run) => {
    try {
      if (await run()) worked.push(name);
    } catch {
      // Refused, as it has to be.
    }
  };
  await attempt("fetch reads", async () => (await fetch(`${target}/api/v1/session`, { credentials: "include" })).ok);
  await attempt("fetch without CORS sends JSON", async () => (await fetch(`${target}/api/v1/operations`, { method: "POST", credentials: "include", headers: { "Content-Type": "application/json" }, body: "{}" })).ok);
  await attempt("opaque fetch", async () => (await (await fetch(`${target}/api/v1/releases`, { mode: "no-cors", credentials: "include" })).text()) !== "");
  await attempt("image", () => new Promise((resolve) => Object.assign(new Image(), { onload: () => resolve(true), onerror: () => resolve(false), src: `${target}/api/v1/releases` })));
  await attempt("script", () => new Promise((resolve) => document.head.append(Object.assign(document.createElement("script"), { onload: () => resolve(true), onerror: () => resolve(false), src: `${target}/api/v1/session` }))));
  await attempt("event stream", () => new Promise((resolve) => {
    const source = new EventSource(`${target}/api/v1/releases/watch`, { withCredentials: true });
    source.onopen = () => resolve(true);
    source.onerror = () => resolve(false);
  }));
  await attempt("web socket", () => new Promise((resolve) => {
    const socket = new WebSocket(`${target.replace("http", "ws")}/api/v1/releases/watch`);
    socket.onopen = () => resolve(true);
    socket.onerror = () => resolve(false);
  }));
  // Whether it shows anything is seen from outside.
  await attempt("frame", () => new Promise((resolve) => {
    const frame = Object.assign(document.createElement("iframe"), { src: target });
    frame.onload = () => resolve(false);
    document.body.append(frame);
  }));
  await attempt("form", () => new Promise((resolve) => {
    const frame = Object.assign(document.createElement("iframe"), { name: "answer" });
    const form = Object.assign(document.createElement("form"), { method: "post", action: `${target}/api/v1/operations`, target: "answer", enctype: "text/plain" });
    form.append(Object.assign(document.createElement("input"), { name: '{"operation":"uninstall","namespace":"shop","name":"web","x":"', value: '"}' }));
    document.body.append(frame, form);
    // Whether it changed something is seen in the releases afterwards.
    frame.onload = () => resolve(false);
    form.submit();
  }));
  return worked;
}

async function pictures(browser, assets, folder) {
  mkdirSync(folder, { recursive: true });
  const mock = await start({ assets });
  for (const [name, path, colorScheme] of PICTURES) {
    await visit(browser, { colorScheme, viewport: { width: 1280, height: 760 } }, async (page) => {
      await page.clock.setFixedTime(new Date(NOW));
      await page.goto(mock.address + path);
      await settled(page);
      await page.evaluate(() => document.fonts.ready);
      await page.waitForLoadState("domcontentloaded");
      if (name === "change") {
        await page.getByLabel("replicas").fill("5");
        await page.locator(".bench-plan").getByText("replicas: 5").first().waitFor();
      }
      await page.waitForFunction(() => !document.querySelector(".plan.stale, .loading"));
      await page.screenshot({ path: join(folder, `ui-${name}.png`) });
    });
  }
  mock.close();
}

const words = process.argv.slice(2);
const option = (name) => (words.includes(name) ? words[words.indexOf(name) + 1] : undefined);
const assets = option("--assets") ?? join(here, "../../crates/ui/assets");
const profile = mkdtempSync(join(tmpdir(), "pintle-ui-profile-"));
const browser = await chromium.launch({ executablePath: process.env.PINTLE_CHROMIUM ?? "/usr/bin/chromium", args: [...FLAGS, `--disk-cache-dir=${profile}`] });
try {
  if (option("--pictures")) await pictures(browser, assets, option("--pictures"));
  else {
    if (!words.includes("--flows")) await screens(browser, assets);
    if (process.env.PINTLE_UI) await flows({ browser, test, visit, settled, axe, hostile, link: process.env.PINTLE_UI, chart: process.env.PINTLE_UI_CHART });
    console.log(`${passed} passed, ${failed} failed`);
  }
} finally {
  await browser.close();
  rmSync(profile, { recursive: true, force: true });
}
process.exit(failed === 0 ? 0 : 1);
