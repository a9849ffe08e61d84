import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema } from "../../src/api.ts";
import { comments, outline, valueOf } from "../../src/text/edit.ts";
import { fields, resolve, search, typed } from "../../src/form/schema.ts";

const schema: Schema = {
  type: "object",
  required: ["replicas"],
  properties: {
    replicas: { type: "integer", minimum: 1, description: "How many pods" },
    mode: { enum: ["fast", "safe"] },
    image: { $ref: "#/$defs/image" },
    hosts: { type: "array", items: { type: "string" } },
    rules: { type: "array", items: { type: "object" } },
  },
  $defs: { image: { type: "object", properties: { tag: { type: "string" } } } },
};

test("fields have the kind that the schema says", () => {
  const found = fields(schema, { image: { tag: "1" }, extra: true, note: null });
  assert.deepEqual(found.map((field) => [field.name, field.kind]), [["image", "section"], ["extra", "switch"], ["note", "yaml"], ["replicas", "number"], ["mode", "choice"], ["hosts", "list"], ["rules", "yaml"]]);
  assert.ok(found[3]!.required);
  assert.deepEqual(found[0]!.fields[0], { ...found[0]!.fields[0], path: ["image", "tag"], kind: "text", fallback: "1" });
});

test("without a schema the defaults say what can be set", () => {
  assert.deepEqual(fields(null, { a: 1, b: { c: "x" }, d: [1, 2], e: [] }).map((field) => field.kind), ["number", "section", "list", "yaml"]);
});

test("a schema that refers to itself, to others or to nothing ends", () => {
  const loop: Schema = { type: "object", properties: { child: { $ref: "#" } } };
  assert.equal(fields(loop, {}).length, 1);
  assert.deepEqual(resolve(loop, { $ref: "https://example.org/x" }), {});
  assert.deepEqual(resolve(loop, { $ref: "#/nothing/there" }), {});
  assert.deepEqual(resolve({ $defs: { a: { $ref: "#/$defs/a" } } }, { $ref: "#/$defs/a" }).type, undefined);
  assert.deepEqual(resolve(loop, { $ref: "#/__proto__" }), {});
});

test("a search finds fields by path and description, with their sections", () => {
  const all = fields(schema, {});
  assert.deepEqual(search(all, "pods").map((field) => field.name), ["replicas"]);
  assert.deepEqual(search(all, "image tag")[0]!.fields.map((field) => field.name), ["tag"]);
  assert.deepEqual(search(all, "nothing"), []);
});

test("what is typed becomes a value of the field's type", () => {
  const [replicas, mode, , hosts] = fields(schema, {});
  assert.deepEqual([typed(replicas!, "3"), typed(replicas!, "x"), typed(replicas!, "")], [3, undefined, undefined]);
  assert.equal(typed(mode!, "fast"), "fast");
  assert.deepEqual(typed(hosts!, "a\n\n b "), ["a", "b"]);
});

test("what a chart says above its defaults describes fields that the schema does not", () => {
  const defaults = "# How many\n# pods run\nreplicas: 1\n\n# not about image\n\nimage:\n  ## -- The tag\n  tag: x\n";
  const node = outline(defaults);
  const found = fields({ type: "object", properties: { image: { description: "What runs" } } }, node && valueOf(node), comments(defaults, node));
  assert.deepEqual(found.map((field) => field.description), ["How many pods run", "What runs"]);
  assert.equal(found[1]!.fields[0]!.description, "The tag");
});
