// The fields of a form from a JSON schema and the defaults of a chart.

import type { Schema } from "../api.ts";
import type { Path, Value } from "../text/edit.ts";

export type Field = {
  path: Path;
  name: string;
  kind: "text" | "number" | "switch" | "choice" | "list" | "section" | "yaml";
  description: string;
  required: boolean;
  choices: Value[];
  minimum?: number;
  maximum?: number;
  fallback: Value | undefined;
  fields: Field[];
};

/** Deeper values are changed in the text: a form of ten levels helps nobody, and a schema can refer to itself. */
const DEEPEST = 8;

export function fields(schema: Schema | null | undefined, defaults: Value | undefined, comments: Map<string, string> = new Map()): Field[] {
  const all = below(schema ?? {}, schema ?? {}, isMap(defaults) ? defaults : {}, [], 0);
  const describe = (field: Field) => {
    field.description ||= comments.get(field.path.join("\0")) ?? "";
    field.fields.forEach(describe);
  };
  all.forEach(describe);
  return all;
}

function isMap(value: Value | undefined): value is { [key: string]: Value } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function below(root: Schema, schema: Schema, defaults: { [key: string]: Value }, path: Path, depth: number): Field[] {
  const properties = schema.properties ?? {};
  // In the order of the file: whoever wrote it had a reason.
  const names = [...Object.keys(defaults), ...Object.keys(properties).filter((name) => !Object.hasOwn(defaults, name))];
  return names.map((name) => {
    const own = resolve(root, Object.hasOwn(properties, name) ? properties[name]! : {});
    const required = schema.required?.includes(name) ?? false;
    return field(root, own, Object.hasOwn(defaults, name) ? defaults[name] : (own.default as Value | undefined), [...path, name], required, depth);
  });
}

function field(root: Schema, schema: Schema, fallback: Value | undefined, path: Path, required: boolean, depth: number): Field {
  const result: Field = {
    path,
    name: schema.title ?? String(path[path.length - 1]),
    kind: "yaml",
    description: schema.description ?? "",
    required,
    choices: (schema.enum ?? []) as Value[],
    fallback,
    fields: [],
  };
  if (schema.minimum !== undefined) result.minimum = schema.minimum;
  if (schema.maximum !== undefined) result.maximum = schema.maximum;
  const type = typeOf(schema, fallback);
  if (result.choices.length > 0 && result.choices.every((choice) => typeof choice !== "object")) result.kind = "choice";
  else if (type === "boolean") result.kind = "switch";
  else if (type === "number" || type === "integer") result.kind = "number";
  else if (type === "string") result.kind = "text";
  else if (type === "array") result.kind = isListOfScalars(root, schema, fallback) ? "list" : "yaml";
  else if (type === "object" && depth < DEEPEST) {
    result.fields = below(root, schema, isMap(fallback) ? fallback : {}, path, depth + 1);
    if (result.fields.length > 0) result.kind = "section";
  }
  return result;
}

function typeOf(schema: Schema, fallback: Value | undefined): string {
  const types = Array.isArray(schema.type) ? schema.type.filter((type) => type !== "null") : schema.type ? [schema.type] : [];
  if (types.length === 1) return types[0]!;
  // Of several types a form can offer none; what the default is decides.
  if (fallback === null || fallback === undefined) return types.length > 0 || !schema.properties ? "any" : "object";
  if (Array.isArray(fallback)) return "array";
  return typeof fallback;
}

function isListOfScalars(root: Schema, schema: Schema, fallback: Value | undefined): boolean {
  const type = schema.items ? resolve(root, schema.items).type : undefined;
  if (type) return type === "string" || type === "number" || type === "integer";
  return Array.isArray(fallback) && fallback.length > 0 && fallback.every((item) => typeof item !== "object");
}

/** Follows references inside the schema; others would be requests to somebody. */
export function resolve(root: Schema, schema: Schema): Schema {
  let at = schema;
  for (let i = 0; i < 10 && typeof at.$ref === "string"; i++) {
    if (!at.$ref.startsWith("#/")) return {};
    let target: unknown = root;
    for (const part of at.$ref.slice(2).split("/")) {
      const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
      target = typeof target === "object" && target !== null && Object.hasOwn(target, name) ? (target as { [name: string]: unknown })[name] : undefined;
    }
    if (typeof target !== "object" || target === null) return {};
    const { $ref: _, ...own } = at;
    at = { ...(target as Schema), ...own };
  }
  return at;
}

/** The fields whose path or description has all words, with the sections around them. */
export function search(all: Field[], query: string): Field[] {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return all;
  const keep = (field: Field): Field[] => {
    const text = `${field.path.join(".")} ${field.name} ${field.description}`.toLowerCase();
    if (words.every((word) => text.includes(word))) return [field];
    const inside = field.fields.flatMap(keep);
    return inside.length > 0 ? [{ ...field, fields: inside }] : [];
  };
  return all.flatMap(keep);
}

/** What was typed, as the value that the field holds; `undefined` where it is not one. */
export function typed(field: Field, text: string): Value | undefined {
  if (field.kind === "number") {
    const value = Number(text);
    return text.trim() === "" || Number.isNaN(value) ? undefined : value;
  }
  if (field.kind === "choice") return field.choices.find((choice) => String(choice) === text);
  if (field.kind === "list") {
    return text.split("\n").map((line) => line.trim()).filter((line) => line !== "").map((line) => (isNumeric(field) && !Number.isNaN(Number(line)) ? Number(line) : line));
  }
  return text;
}

function isNumeric(field: Field): boolean {
  return Array.isArray(field.fallback) && field.fallback.length > 0 && field.fallback.every((item) => typeof item === "number");
}
