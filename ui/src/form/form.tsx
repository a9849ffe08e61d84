// The form beside the text. The text is what counts: each field reads its value there, and changes only its own place in it.

import { useMemo, useState } from "preact/hooks";
import type { Schema } from "../api.ts";
import { comments, find, outline, remove, set, valueOf } from "../text/edit.ts";
import type { Node, Value } from "../text/edit.ts";
import { say } from "../state.ts";
import { Icon } from "../parts/icon.tsx";
import { Empty } from "../parts/basic.tsx";
import { fields, search, typed } from "./schema.ts";
import type { Field } from "./schema.ts";

type Editing = { root: Node | undefined; change: (field: Field, value: Value | undefined) => void; openAll: boolean };

/** The defaults of a chart with what it says about them; nothing where its file cannot be read here. */
function readDefaults(text: string): { values: Value | undefined; said: Map<string, string> } {
  try {
    const node = outline(text);
    return { values: node && valueOf(node), said: comments(text, node) };
  } catch {
    return { values: undefined, said: new Map() };
  }
}

export function Form({ schema, defaults, text, onInput }: { schema: Schema | null | undefined; defaults: string | undefined; text: string; onInput: (text: string) => void }) {
  const [query, setQuery] = useState("");
  const all = useMemo(() => {
    const { values, said } = readDefaults(defaults ?? "");
    return fields(schema, values, said);
  }, [schema, defaults]);
  const { root, problem } = useMemo(() => read(text), [text]);
  const shown = useMemo(() => search(all, query), [all, query]);
  if (all.length === 0) return <Empty title="No fields">The chart has neither a schema nor default values, so all there is to set is the text.</Empty>;
  if (problem) return <p class="note warn">The form waits until the text is readable: {problem}</p>;
  const change = (field: Field, value: Value | undefined) => {
    try {
      onInput(value === undefined ? remove(text, field.path) : set(text, field.path, value));
    } catch (error) {
      say(error instanceof Error ? error.message : String(error), "bad");
    }
  };
  return (
    <div class="form">
      <label class="search small">
        <Icon name="search" />
        <span class="hidden">Find a value</span>
        <input type="search" placeholder="Find a value" value={query} onInput={(event) => setQuery(event.currentTarget.value)} />
      </label>
      <Fields of={shown} editing={{ root, change, openAll: query !== "" }} />
      {shown.length === 0 && <p class="muted">No value is called that.</p>}
    </div>
  );
}

function read(text: string): { root: Node | undefined; problem?: string } {
  try {
    return { root: outline(text) };
  } catch (error) {
    return { root: undefined, problem: error instanceof Error ? error.message : String(error) };
  }
}

function Fields({ of, editing }: { of: Field[]; editing: Editing }) {
  return (
    <>
      {of.map((field) => (field.kind === "section" ? <Section key={field.path.join(".")} field={field} editing={editing} /> : <One key={field.path.join(".")} field={field} editing={editing} />))}
    </>
  );
}

function Section({ field, editing }: { field: Field; editing: Editing }) {
  const isSet = find(editing.root, field.path) !== undefined;
  const [open, setOpen] = useState(isSet);
  const isOpen = open || editing.openAll;
  return (
    <details class="section" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <b>{field.name}</b>
        {isSet && <span class="chip">set</span>}
        {field.description && <small>{field.description}</small>}
      </summary>
      {isOpen && <Fields of={field.fields} editing={editing} />}
    </details>
  );
}

function One({ field, editing }: { field: Field; editing: Editing }) {
  const node = find(editing.root, field.path);
  const isSet = node !== undefined;
  const value = node ? valueOf(node) : field.fallback;
  const id = `field-${field.path.join("-")}`;
  return (
    <div class={`field${isSet ? " set" : ""}`}>
      <div class="field-head">
        <label for={id}>
          {field.name}
          {field.required && <span class="muted"> (required)</span>}
        </label>
        {isSet && (
          <button type="button" class="link" onClick={() => editing.change(field, undefined)}>
            use the default<span class="hidden"> of {field.path.join(".")}</span>
          </button>
        )}
      </div>
      <Input id={id} field={field} value={value} onChange={(next) => editing.change(field, next)} />
      {field.description && <small id={`${id}-what`}>{field.description}</small>}
    </div>
  );
}

function Input({ id, field, value, onChange }: { id: string; field: Field; value: Value | undefined; onChange: (value: Value) => void }) {
  const accept = (text: string) => {
    const next = typed(field, text);
    if (next !== undefined) onChange(next);
  };
  const described = field.description ? { "aria-describedby": `${id}-what` } : {};
  switch (field.kind) {
    case "switch":
      return (
        <select id={id} value={String(value ?? "")} {...described} onChange={(event) => onChange(event.currentTarget.value === "true")}>
          {value === undefined || value === null ? <option value="">not set</option> : null}
          <option value="true">true</option>
          <option value="false">false</option>
        </select>
      );
    case "choice":
      return (
        <select id={id} value={String(value ?? "")} {...described} onChange={(event) => accept(event.currentTarget.value)}>
          {field.choices.every((choice) => choice !== value) && <option value={String(value ?? "")}>{value === undefined ? "not set" : String(value)}</option>}
          {field.choices.map((choice) => (
            <option key={String(choice)} value={String(choice)}>
              {String(choice)}
            </option>
          ))}
        </select>
      );
    case "number":
      return <input id={id} type="number" step="any" min={field.minimum} max={field.maximum} value={typeof value === "number" ? value : ""} {...described} onInput={(event) => accept(event.currentTarget.value)} />;
    case "list":
      return <textarea id={id} rows={3} placeholder="one in each line" value={Array.isArray(value) ? value.map(String).join("\n") : ""} {...described} onChange={(event) => accept(event.currentTarget.value)} />;
    case "text":
      // An input of one line would throw line breaks away.
      if (typeof value === "string" && value.includes("\n")) return <textarea id={id} rows={Math.min(8, value.split("\n").length)} value={value} {...described} onInput={(event) => accept(event.currentTarget.value)} />;
      return <input id={id} type="text" value={typeof value === "object" ? "" : String(value ?? "")} placeholder={value === null ? "null" : ""} {...described} onInput={(event) => accept(event.currentTarget.value)} />;
    default:
      return (
        <p class="muted small" id={id}>
          <code>{short(value)}</code> – change it in the text
        </p>
      );
  }
}

function short(value: Value | undefined): string {
  const text = value === undefined ? "not set" : JSON.stringify(value);
  return text.length > 80 ? text.slice(0, 80) + "…" : text;
}
