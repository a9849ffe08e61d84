import assert from "node:assert/strict";
import { test } from "node:test";
import { recolour } from "../../src/parts/editor.tsx";
import { highlight, tokens, START } from "../../src/text/yaml.ts";

const kinds = (line: string) => tokens(line, START)[0].filter((token) => token.kind !== "text").map((token) => `${token.kind} ${token.text}`);

test("a key, its colon and its value have colours of their own", () => {
  assert.deepEqual(kinds("replicas: 3"), ["key replicas", "mark :", "number 3"]);
  assert.deepEqual(kinds('  "a b": true # why'), ['key "a b"', "mark :", "word true", "comment  # why"]);
  assert.deepEqual(kinds("- name: web"), ["mark -", "key name", "mark :", "string web"]);
});

test("an address is not taken for a key", () => {
  assert.deepEqual(kinds("image: docker.io/library/nginx:1.27"), ["key image", "mark :", "string docker.io/library/nginx:1.27"]);
});

test("the lines of a block are text until it ends", () => {
  const found = highlight("script: |\n  key: no\n  # no comment\nnext: 1");
  assert.deepEqual(found[1]!.map((token) => token.kind), ["string"]);
  assert.deepEqual(found[2]!.map((token) => token.kind), ["string"]);
  assert.equal(found[3]![0]!.kind, "key");
});

test("no character is lost, whatever the line is", () => {
  for (const line of ["", "   ", "{a: [1, 'b', \"c\"], d: e}", "- - - x", ": :", "'open", "a: 'it''s' # c", "\u0000<script>", "x".repeat(5000), "a: *b", "? k", "- {", "]", ", ,"]) {
    assert.equal(tokens(line, START)[0].map((token) => token.text).join(""), line);
  }
});

test("hostile lines take bounded time", () => {
  const started = performance.now();
  for (const line of ["a" + " ".repeat(1990) + "x", "a:".repeat(990), "- ".repeat(990), "{".repeat(1990), "'".repeat(1990), "a" + " #".repeat(990), "&".repeat(1990)]) {
    for (let i = 0; i < 300; i++) tokens(line, START);
  }
  assert.ok(performance.now() - started < 60_000);
});

test("lines that are typed between others are coloured as in a new text", () => {
  const before = "a: 1\nb: |\n  text: x\nc: 2\nd: 3";
  for (const after of ["a: 1\nnew: 0\nb: |\n  text: x\nc: 2\nd: 3", "a: 1\n  text: x\nc: 2\nd: 3", "", "b: |\n  a: 1\nc: 2", before + "\n"]) {
    assert.deepEqual(recolour(recolour([], before), after).map((line) => line.tokens), highlight(after));
  }
});
