import assert from "node:assert/strict";
import { test } from "node:test";
import { matches, terms } from "../../src/list/filter.ts";
import { reveal, visible } from "../../src/list/window.ts";
import { age } from "../../src/time.ts";
import { build, parse } from "../../src/router.ts";
import { counted, numbered } from "../../src/parts/diff.tsx";

test("of 10,000 rows only those in sight and a few around are drawn", () => {
  const seen = visible(10_000, 50, 100_000, 800);
  assert.ok(seen.first <= 2000 && seen.last >= 2016 && seen.last - seen.first < 40);
  assert.equal(seen.before + seen.after + (seen.last - seen.first) * 50, 500_000);
});

test("a list shorter than the screen, an empty one and a place behind its end are drawn", () => {
  assert.deepEqual(visible(3, 50, 0, 800), { first: 0, last: 3, before: 0, after: 0 });
  assert.deepEqual(visible(0, 50, 0, 800), { first: 0, last: 0, before: 0, after: 0 });
  assert.equal(visible(10, 50, 90_000, 800).first, 10);
});

test("a row that is in sight is not scrolled to", () => {
  assert.equal(reveal(3, 50, 0, 800), undefined);
  assert.equal(reveal(100, 50, 0, 800), 4250);
  assert.equal(reveal(1, 50, 500, 800), 50);
});

test("words are looked for everywhere, and with a field in one column", () => {
  const release = { "": "web\nshop\nnginx 1.2.3\nfailed", ns: "shop", chart: "nginx 1.2.3", status: "failed" };
  const found = (query: string) => matches(release, terms(query));
  assert.ok(found("") && found("WEB shop") && found("ns:sho status:failed") && found("-deployed"));
  assert.ok(!found("web other") && !found("ns:web") && !found("-ns:shop"));
  assert.ok(!found("unknown:x"), "an unknown field is a word with a colon");
});

test("ages are told in one or two units", () => {
  const now = Date.parse("2026-11-19T12:00:00Z");
  const ago = (seconds: number) => age(new Date(now - seconds * 1000).toISOString(), now);
  assert.deepEqual([5, 90, 3700, 90_000, 86_400 * 10, 86_400 * 400].map(ago), ["5s", "1m", "1h 1m", "1d 1h", "10d", "1y 35d"]);
  assert.deepEqual([age(undefined, now), age("nonsense", now), ago(-5)], ["–", "–", "0s"]);
});

test("addresses keep names with any character and the context", () => {
  const address = build(["releases", "shop", "a/b c"], { from: 3, to: undefined }, "kind shop");
  assert.equal(address, "/releases/shop/a%2Fb%20c?from=3&context=kind+shop");
  const { path, query } = parse(address);
  assert.deepEqual([path, query.get("context")], [["releases", "shop", "a/b c"], "kind shop"]);
  assert.deepEqual(parse("/a/%").path, ["a", "%"]);
});

test("lines of the server's differences are numbered over folds", () => {
  const lines = numbered([{ op: "…", skipped: 10 }, { op: "=", text: "a" }, { op: "-", text: "b" }, { op: "+", text: "c" }]);
  assert.deepEqual(lines.slice(1).map((line) => ["before" in line ? line.before : 0, "after" in line ? line.after : 0]), [[11, 11], [12, 0], [0, 12]]);
  assert.deepEqual(counted(null), { added: 0, removed: 0 });
});
