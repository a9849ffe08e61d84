import assert from "node:assert/strict";
import { test } from "node:test";
import { inline, isSafeLink, markdown } from "../../src/text/markdown.ts";

test("headings, lists, code and tables are known", () => {
  const found = markdown("# Title\n\nSome *text* with `code`.\n\n- one\n- two\n  - inner\n\n```yaml\na: 1\n```\n\n| k | v |\n|---|---|\n| a | `b|c` |\n\n> quoted\n\n---\n");
  assert.deepEqual(found.map((block) => block.kind), ["heading", "paragraph", "list", "code", "table", "quote", "rule"]);
  const list = found[2]!;
  assert.ok(list.kind === "list" && list.items.length === 2 && list.items[1]!.some((block) => block.kind === "list"));
});

test("only links to pages and mail addresses are links", () => {
  for (const href of ["javascript:alert(1)", " JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "//evil.example", "/api/v1/releases", "blob:x"]) {
    assert.equal(isSafeLink(href), false, href);
    assert.ok(inline(`[x](${href.trim()})`).every((node) => node.kind !== "link"), href);
  }
  assert.ok(isSafeLink("https://example.org") && isSafeLink("#values"));
});

test("HTML is text without its tags, and pictures are words", () => {
  const text = JSON.stringify(markdown('<script>alert(1)</script><img src=x onerror=alert(1)> ![badge](https://example.org/b.svg) <!-- hidden --> <a href="javascript:x">y</a>'));
  assert.ok(!text.includes("<") && !text.includes("onerror") && !text.includes("hidden") && !text.includes("b.svg"));
  assert.ok(text.includes("badge"));
});

test("hostile text takes bounded time and depth", () => {
  const started = performance.now();
  for (const text of ["[".repeat(50_000), "*".repeat(50_000), "> ".repeat(20_000), "- ".repeat(20_000), "`".repeat(50_001), "|".repeat(20_000) + "\n" + "|-".repeat(10_000), "<".repeat(50_000), "![".repeat(30_000), "__a".repeat(20_000), "[a](".repeat(20_000), "[" + "![x](y)".repeat(600), "[" + "![x]".repeat(1000), "<!--".repeat(90_000), "# " + " ".repeat(300_000) + "x", "```" + " ".repeat(300_000) + "`", "a|b\n-" + " ".repeat(300_000) + "x", "- " + " ".repeat(300_000) + "x", "<a".repeat(100_000), "h".repeat(300_000), "https://".repeat(40_000)]) markdown(text);
  assert.ok(performance.now() - started < 60_000, `${performance.now() - started} ms`);
});

test("underscores inside of words are no emphasis", () => {
  assert.deepEqual(inline("my_snake_case"), [{ kind: "text", text: "my_snake_case" }]);
});

test("list items that follow each other end, whatever they look like", () => {
  for (const text of ["- a\n\n- b\n\ntext", "1. a\n2. b\n- c", "- a\nb\n\nc", "* a\n    code\n* b", "-   \n- x"]) assert.ok(markdown(text).length > 0);
});
