import assert from "node:assert/strict";
import { test } from "node:test";
import { changedSpan, counts, diff, fold, lines, pairs } from "../../src/text/diff.ts";

function apply(before: string, after: string) {
  const found = diff(before, after);
  const side = (drop: string) => found.filter((line) => line.kind !== drop).map((line) => line.text);
  assert.deepEqual(side("added"), lines(before));
  assert.deepEqual(side("removed"), lines(after));
  return found;
}

test("a changed line is removed and added, and its neighbours stay", () => {
  const found = apply("a\nb\nc\n", "a\nx\nc\n");
  assert.deepEqual(found.map((line) => line.kind), ["same", "removed", "added", "same"]);
  assert.deepEqual(counts(found), { added: 1, removed: 1 });
});

test("both sides can be put together again, whatever the texts are", () => {
  let seed = 7;
  const random = (below: number) => (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
  for (let round = 0; round < 300; round++) {
    const text = () => Array.from({ length: random(30) }, () => "abcd"[random(4)]).join("\n");
    apply(text(), text());
  }
});

test("the shortest difference is found", () => {
  const { added, removed } = counts(apply("a\nb\nc\na\nb\nb\na", "c\nb\na\nb\na\nc"));
  assert.equal(added + removed, 5);
});

test("texts of 100,000 lines that have nothing in common take bounded time", () => {
  const text = (mark: string) => Array.from({ length: 100_000 }, (_, i) => `${mark}${i}`).join("\n");
  const started = performance.now();
  assert.equal(counts(diff(text("a"), text("b"))).added, 100_000);
  assert.ok(performance.now() - started < 60_000);
});

test("equal lines far from a change are folded", () => {
  const before = Array.from({ length: 40 }, (_, i) => `line ${i}`);
  const after = [...before];
  after[20] = "changed";
  const parts = fold(diff(before.join("\n"), after.join("\n")), 3);
  assert.deepEqual(parts.map((part) => [part.kind, part.lines.length]), [["folded", 17], ["lines", 8], ["folded", 16]]);
});

test("in two columns a line stands beside what replaced it", () => {
  const rows = pairs(diff("a\nold\nz", "a\nnew\nmore\nz"));
  assert.deepEqual(rows.map((row) => [row.left?.text, row.right?.text]), [["a", "a"], ["old", "new"], [undefined, "more"], ["z", "z"]]);
});

test("the changed part of a line is marked, and not all of it", () => {
  assert.deepEqual(changedSpan("  replicas: 2", "  replicas: 13"), [12, 13]);
  assert.equal(changedSpan("abc", "xyz"), undefined);
});
