import assert from "node:assert/strict";
import { test } from "node:test";
import type { Value } from "../../src/text/edit.ts";
import { Unreadable, find, outline, remove, scalar, set, valueOf } from "../../src/text/edit.ts";

const read = (text: string) => {
  const node = outline(text);
  return node && valueOf(node);
};

test("values files are read as they are meant", () => {
  const text = `# comment
replicas: 2
image:
  tag: "1.27"   # quoted
  pull: 'it''s'
list:
- a
- b: 1
  c: [1, {d: e}]
-
  deep: yes
empty:
none: ~
flow: {a: 1, "b": [x, 'y']}
text: |
  one
   two

  three
folded: >-
  a
  b
url: http://example.org:80/x#y
`;
  assert.deepEqual(read(text), {
    replicas: 2,
    image: { tag: "1.27", pull: "it's" },
    list: ["a", { b: 1, c: [1, { d: "e" }] }, { deep: true }],
    empty: null,
    none: null,
    flow: { a: 1, b: ["x", "y"] },
    text: "one\n two\n\nthree\n",
    folded: "a b",
    url: "http://example.org:80/x#y",
  });
});

test("a value is changed in its place, and comments stay", () => {
  assert.equal(set("a: 1 # one\nb: 2\n", ["a"], 5), "a: 5 # one\nb: 2\n");
  assert.equal(set("a:\n  b: x\n  c: y\n", ["a", "c"], "true"), 'a:\n  b: x\n  c: "true"\n');
});

test("a missing value is added where its neighbours are", () => {
  assert.equal(set("a:\n    b: 1\nz: 2\n", ["a", "c"], 3), "a:\n    b: 1\n    c: 3\nz: 2\n");
  assert.equal(set("", ["a", "b"], true), "a:\n  b: true\n");
  assert.equal(set("a:\nz: 1\n", ["a", "b"], 1), "a:\n  b: 1\nz: 1\n");
  assert.equal(set("a: {}\n", ["a", "b"], 1), "a:\n  b: 1\n");
  assert.equal(set("a: {x: 1}\n", ["a", "b"], "c"), "a: {x: 1, b: c}\n");
});

test("maps and lists replace scalars and each other", () => {
  assert.equal(set("a: 1\nb: 2\n", ["a"], ["x", "z"]), "a:\n  - x\n  - z\nb: 2\n");
  assert.equal(set("a:\n  - x\nb: 2\n", ["a"], 3), "a: 3\nb: 2\n");
});

test("a removed value leaves no empty maps behind", () => {
  assert.equal(remove("a:\n  b:\n    c: 1\nz: 2\n", ["a", "b", "c"]), "z: 2\n");
  assert.equal(remove("a:\n  b: 1\n  c: 2\n", ["a", "b"]), "a:\n  c: 2\n");
  assert.equal(remove("a: 1\n", ["a"]), "");
  assert.equal(remove("a: 1\n", ["b"]), "a: 1\n");
});

test("what is set is what is read again", () => {
  const texts = ["", "a: 1\n", "# only a comment\n", "a:\n  b:\n  - x\n  c: {d: 1}\n", "a:\n  # why\n\n  b: 2\n# end\n"];
  const values: Value[] = [1, "x", "true", "1.0", "", "with: colon", "# no", "two\nlines\n", "a\nb", null, true, [], {}, ["a", 1], { k: { l: [1, { m: "n" }] } }, "- x", "~", "é", " lead", "0123", "1e3", "null"];
  for (const text of texts) {
    for (const value of values) {
      for (const path of [["a"], ["a", "new"], ["x", "y", "z"]]) {
        let next: string;
        try {
          next = set(text, path, value);
        } catch (error) {
          assert.ok(error instanceof Unreadable);
          continue;
        }
        const found = find(outline(next), path);
        assert.deepEqual(found && valueOf(found), value, `${JSON.stringify(text)} ${path.join(".")} ${JSON.stringify(value)} gave ${JSON.stringify(next)}`);
      }
    }
  }
});

test("text that is no values file is refused with its line", () => {
  for (const [text, line] of [["a: 1\n b: 2\n", 2], ["a: 1\na: 2\n", 2], ["\ta: 1\n", 1], ["a: [1\n", 2], ["a: 1\nx\n", 2], ["a: b: c\n", 1], ["a: 1\n---\nb: 2\n", 2]] as const) {
    assert.throws(() => outline(text), (error: unknown) => error instanceof Unreadable && error.line === line, text);
  }
});

test("anchors and tags are left alone, and what is around them can be changed", () => {
  assert.equal(set("a: &x\n  b: 1\nc: *x\nd: 1\n", ["d"], 2), "a: &x\n  b: 1\nc: *x\nd: 2\n");
});

test("deep nesting is refused, and no stack is exhausted", () => {
  assert.throws(() => outline("[".repeat(100_000)), Unreadable);
  assert.throws(() => outline("- ".repeat(50_000)), Unreadable);
});

test("hostile texts take bounded time", () => {
  const started = performance.now();
  for (const text of ["a" + " ".repeat(300_000) + "x", "a: b" + " ".repeat(300_000) + "x", "a: [" + "1,".repeat(100_000) + "1]", "a:".repeat(100_000), "a: '" + "''".repeat(100_000), "a: b" + "#".repeat(300_000), "- a\n".repeat(20_000)]) {
    try {
      outline(text);
    } catch (error) {
      assert.ok(error instanceof Unreadable);
    }
  }
  assert.ok(performance.now() - started < 60_000);
});

test("strings that would be read as something else are quoted", () => {
  assert.deepEqual(["yes", "1.0", "a: b", "a #b", "", "null", "plain text"].map((text) => scalar(text, 0)), ['"yes"', '"1.0"', '"a: b"', '"a #b"', '""', '"null"', "plain text"]);
});
