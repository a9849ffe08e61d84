// Changes one value in a YAML text and leaves all other bytes as they are, so that the form and the text beside it stay in step and
// comments survive. It reads the part of YAML that values files are written in; for the rest (anchors, tags, several documents)
// it says so, and the text is the only way to change it.

export type Scalar = string | number | boolean | null;
export type Value = Scalar | Value[] | { [key: string]: Value };
export type Path = (string | number)[];

export type Node = { start: number; end: number } & (
  | { kind: "map"; entries: Entry[]; indent: number; flow: boolean }
  | { kind: "list"; items: Node[]; indent: number; flow: boolean }
  | { kind: "scalar"; value: Scalar }
  | { kind: "opaque" }
);
export type Entry = { key: string; start: number; end: number; value: Node };

export class Unreadable extends Error {
  constructor(
    readonly line: number,
    what: string,
  ) {
    super(`line ${line}: ${what}`);
  }
}

const DEEPEST = 100;

/** The tree of a text; `undefined` for an empty one. Throws `Unreadable`. */
export function outline(text: string): Node | undefined {
  return new Reader(text).read();
}

export function valueOf(node: Node): Value {
  switch (node.kind) {
    case "map":
      return Object.fromEntries(node.entries.map((entry) => [entry.key, valueOf(entry.value)]));
    case "list":
      return node.items.map(valueOf);
    case "scalar":
      return node.value;
    case "opaque":
      return null;
  }
}

/** The comments right above keys, by their paths joined with NUL: what a chart says about its values. */
export function comments(text: string, node: Node | undefined): Map<string, string> {
  const found = new Map<string, string>();
  const rows = text.split("\n");
  // Entries come in the order of the text, so that lines are counted once.
  let row = 0;
  let end = rows[0]!.length;
  const walk = (at: Node | undefined, path: string[]) => {
    if (at?.kind !== "map" || at.flow) return;
    for (const entry of at.entries) {
      const own = [...path, entry.key];
      const lines: string[] = [];
      while (end < entry.start) end += rows[++row]!.length + 1;
      for (let i = row - 1; i >= 0 && /^\s*#/.test(rows[i]!); i--) lines.unshift(rows[i]!.replace(/^\s*#+\s?(?:-- ?|@\w+.*)?/, ""));
      const said = lines.join(" ").replace(/\s+/g, " ").trim();
      if (said) found.set(own.join("\0"), said.slice(0, 300));
      walk(entry.value, own);
    }
  };
  walk(node, []);
  return found;
}

export function find(node: Node | undefined, path: Path): Node | undefined {
  let at = node;
  for (const step of path) {
    if (at?.kind === "map") at = at.entries.find((entry) => entry.key === String(step))?.value;
    else if (at?.kind === "list") at = at.items[Number(step)];
    else return undefined;
  }
  return at;
}

/** Sets the value at `path`, adding the maps that it needs. */
export function set(text: string, path: Path, value: Value): string {
  const root = outline(text);
  if (!root) return nested(path, value, 0) + (text.trim() === "" ? "" : "\n" + text);
  let node: Node = root;
  for (let i = 0; i < path.length; i++) {
    const next = find(node, [path[i]!]);
    if (!next) return insert(text, node, path.slice(i), value, i);
    node = next;
  }
  const indent = path.length === 0 ? 0 : (keyColumn(root, path) ?? 0) + 2;
  return replace(text, node, value, indent);
}

/** Removes the entry at `path`, and the maps that are empty without it. */
export function remove(text: string, path: Path): string {
  const root = outline(text);
  for (let length = path.length; length > 0; length--) {
    const parent = find(root, path.slice(0, length - 1));
    if (parent?.kind !== "map" || parent.flow) return text;
    const entry = parent.entries.find((each) => each.key === String(path[length - 1]));
    if (!entry) return text;
    if (parent.entries.length > 1 || length === 1) {
      const from = text.lastIndexOf("\n", entry.start - 1) + 1;
      // The first key of a list's item stands behind its dash, which has to stay.
      if (text.slice(from, entry.start).trim() !== "") return set(text, path.slice(0, length), null);
      const newline = text.indexOf("\n", entry.end);
      return text.slice(0, from) + (newline < 0 ? "" : text.slice(newline + 1));
    }
  }
  return text;
}

function keyColumn(root: Node, path: Path): number | undefined {
  const parent = find(root, path.slice(0, -1));
  return parent?.kind === "map" || parent?.kind === "list" ? parent.indent : undefined;
}

function replace(text: string, node: Node, value: Value, indent: number): string {
  const before = text.slice(0, node.start);
  const after = text.slice(node.end);
  const isInline = typeof value !== "object" || value === null || isEmpty(value);
  if (isInline) {
    // A block starts on a line of its own; a scalar goes behind the key.
    const trimmed = /:\s*$/.test(before) ? before.replace(/\s+$/, " ") : before;
    const gap = /[:-]$/.test(trimmed) ? " " : "";
    return trimmed + gap + scalar(value as Scalar, indent) + after;
  }
  return before.replace(/[ \t\n]+$/, "") + "\n" + block(value, indent).replace(/\n$/, "") + after;
}

function insert(text: string, parent: Node, path: Path, value: Value, depth: number): string {
  if (parent.kind === "map" && parent.flow && parent.entries.length > 0) {
    const entry = `, ${scalar(String(path[0]), 0)}: ${flow(wrap(path.slice(1), value))}`;
    return text.slice(0, parent.end - 1) + entry + text.slice(parent.end - 1);
  }
  if (parent.kind === "map" && !parent.flow) {
    const added = nested(path, value, parent.indent);
    const end = parent.end;
    return text.slice(0, end).replace(/\n+$/, "") + "\n" + added.replace(/\n$/, "") + (end < text.length ? text.slice(end).replace(/^(?!\n)/, "\n") : "\n");
  }
  // `key:` and `key: {}` have no entries that would say how far they are indented.
  const isNothing = (parent.kind === "scalar" && parent.value === null) || parent.kind === "map";
  if (!isNothing) throw new Unreadable(lineOf(text, parent.start), "the value is no map; change it in the text");
  const indent = depth * 2;
  return text.slice(0, parent.start).replace(/[ \t]+$/, "") + "\n" + nested(path, value, indent).replace(/\n$/, "") + text.slice(parent.end);
}

function wrap(path: Path, value: Value): Value {
  return path.reduceRight<Value>((inner, key) => ({ [String(key)]: inner }), value);
}

function nested(path: Path, value: Value, indent: number): string {
  return block(wrap(path, value), indent);
}

function isEmpty(value: Value): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** A value as block YAML, each line ended. */
export function block(value: Value, indent = 0): string {
  const pad = " ".repeat(indent);
  if (typeof value !== "object" || value === null || isEmpty(value)) return pad + scalar(value as Scalar, indent) + "\n";
  if (Array.isArray(value)) {
    return value.map((item) => `${pad}- ${block(item, indent + 2).slice(indent + 2)}`).join("");
  }
  return Object.entries(value)
    .map(([key, inner]) => {
      const isInline = typeof inner !== "object" || inner === null || isEmpty(inner);
      return `${pad}${scalar(key, 0)}:${isInline ? ` ${scalar(inner as Scalar, indent + 2)}\n` : `\n${block(inner, indent + 2)}`}`;
    })
    .join("");
}

function flow(value: Value): string {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : scalar(value, 0);
}

/** A scalar, quoted where another reader would take it for something else. */
export function scalar(value: Value, indent: number): string {
  if (value === null) return "null";
  if (typeof value === "object") return Array.isArray(value) ? "[]" : "{}";
  if (typeof value !== "string") return String(value);
  if (value.includes("\n") && indent > 0 && !/^\s|[\t\r\u0000-\u0008]|[ ]\n/.test(value)) {
    const pad = " ".repeat(indent);
    const chomp = value.endsWith("\n") ? (value.endsWith("\n\n") ? "+" : "") : "-";
    const body = value.replace(/\n$/, "").split("\n");
    return `|${chomp}\n${body.map((line) => (line === "" ? "" : pad + line)).join("\n")}`;
  }
  const isPlain =
    /^[A-Za-z0-9_./$(\u00a0-\uffff][^\n\t"\\]*$/.test(value) && !/: |\s#|:$|\s$|^[-?:]\s/.test(value) && !/[{}[\],]/.test(value) && typeof plain(value) === "string";
  return isPlain ? value : JSON.stringify(value);
}

/** What an unquoted scalar means. */
export function plain(text: string): Scalar {
  if (/^(?:|~|null|Null|NULL)$/.test(text)) return null;
  if (/^(?:true|True|TRUE|yes|Yes|YES|on|On|ON|y|Y)$/.test(text)) return true;
  if (/^(?:false|False|FALSE|no|No|NO|off|Off|OFF|n|N)$/.test(text)) return false;
  if (/^[-+]?(?:0|[1-9]\d*)(?:\.\d*)?(?:[eE][-+]?\d+)?$/.test(text) || /^[-+]?\.\d+$/.test(text) || /^0x[\da-fA-F]+$/.test(text)) return Number(text);
  // Octal and other numbers keep their letters: a form that rewrites them would change them.
  return /^[-+]?0\d+$/.test(text) ? Number.parseInt(text, 8) : text;
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

type Row = { start: number; indent: number; end: number };

const KEY = /^(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)'|([^\s#:"'{}[\],&*!|>%@`][^#:]*(?::[^\s#:][^#:]*)*)):(?=\s|$)/;

class Reader {
  private rows: Row[] = [];
  private at = 0;

  constructor(private readonly text: string) {
    let start = 0;
    for (const line of text.split("\n")) {
      const body = line.trimStart();
      const end = start + line.length;
      if (/^\t/.test(line) && body !== "" && !body.startsWith("#")) throw new Unreadable(lineOf(text, start), "a tab indents it");
      this.rows.push({ start, indent: body === "" || body.startsWith("#") ? -1 : line.length - body.length, end });
      start = end + 1;
    }
  }

  read(): Node | undefined {
    this.skip();
    const row = this.rows[this.at];
    if (row && /^---\s*$/.test(this.rest(row))) {
      row.indent = -1;
      this.skip();
    }
    if (!this.rows[this.at]) return undefined;
    const node = this.block(0);
    this.skip();
    if (this.rows[this.at]) this.fail("the line belongs to nothing above it");
    return node;
  }

  private fail(what: string): never {
    throw new Unreadable(this.at + 1, what);
  }

  private skip() {
    while (this.at < this.rows.length && this.rows[this.at]!.indent < 0) this.at++;
  }

  private rest(row: Row): string {
    return this.text.slice(row.start + row.indent, row.end);
  }

  private block(depth: number): Node {
    if (depth > DEEPEST) this.fail("it is nested too deeply");
    const row = this.rows[this.at]!;
    const rest = this.rest(row);
    if (/^-(\s|$)/.test(rest)) return this.list(row.indent, depth);
    if (KEY.test(rest)) return this.map(row.indent, depth);
    const node = this.inline(row, row.start + row.indent, row.indent - 1);
    return node;
  }

  private map(indent: number, depth: number): Node {
    const entries: Entry[] = [];
    const start = this.rows[this.at]!.start + indent;
    let end = start;
    for (this.skip(); this.at < this.rows.length && this.rows[this.at]!.indent === indent; this.skip()) {
      const row = this.rows[this.at]!;
      const match = KEY.exec(this.rest(row));
      if (!match) {
        if (/^(---|\.\.\.)/.test(this.rest(row))) this.fail("a second document starts; values are one document");
        if (/^-(\s|$)/.test(this.rest(row))) break;
        this.fail("it is no `key: value`");
      }
      const key = match[1] !== undefined ? unquote(match[1]) : match[2] !== undefined ? match[2].replaceAll("''", "'") : match[3]!.trimEnd();
      if (entries.some((entry) => entry.key === key)) this.fail(`\`${key}\` is there twice`);
      const value = this.after(row, row.start + indent + match[0].length, indent, depth, true);
      end = Math.max(value.end, row.start + indent + match[0].length);
      entries.push({ key, start: row.start + indent, end, value });
    }
    const row = this.rows[this.at];
    if (row && row.indent > indent) this.fail("it is indented more than the line above it");
    return { kind: "map", entries, start, end, indent, flow: false };
  }

  private list(indent: number, depth: number): Node {
    const items: Node[] = [];
    const start = this.rows[this.at]!.start + indent;
    let end = start;
    for (this.skip(); this.at < this.rows.length && this.rows[this.at]!.indent === indent; this.skip()) {
      const row = this.rows[this.at]!;
      const dash = /^-(\s+|$)/.exec(this.rest(row));
      if (!dash) break;
      const column = indent + dash[0].length;
      const inner = this.text.slice(row.start + column, row.end);
      if (inner !== "" && (KEY.test(inner) || /^-(\s|$)/.test(inner))) {
        // The item's first key stands behind the dash: from here the row is one of the item's.
        row.indent = column;
        items.push(this.block(depth + 1));
      } else items.push(this.after(row, row.start + indent + 1, indent, depth, false));
      end = Math.max(items[items.length - 1]!.end, row.start + indent + 1);
    }
    return { kind: "list", items, start, end, indent, flow: false };
  }

  /** What stands behind `key:` or `-`, on its line or below. */
  private after(row: Row, offset: number, indent: number, depth: number, isKey: boolean): Node {
    const rest = this.text.slice(offset, row.end);
    const gap = rest.length - rest.trimStart().length;
    if (rest.trim() !== "" && !/^\s+#/.test(rest)) return this.inline(row, offset + gap, indent);
    this.at++;
    this.skip();
    const next = this.rows[this.at];
    const isInside = next && (next.indent > indent || (isKey && next.indent === indent && /^-(\s|$)/.test(this.rest(next))));
    return isInside ? this.block(depth + 1) : { kind: "scalar", value: null, start: offset, end: offset };
  }

  private inline(row: Row, offset: number, indent: number): Node {
    const first = this.text[offset]!;
    if (first === "|" || first === ">") return this.blockScalar(row, offset, indent);
    if (first === "{" || first === "[") return this.finish(new FlowReader(this.text, offset).read(0));
    if (first === '"' || first === "'") return this.finish(new FlowReader(this.text, offset).read(0));
    if (/[&*!%@`]/.test(first)) return this.opaque(row, offset, indent);
    return this.plainScalar(row, offset, indent);
  }

  /** Goes on after the line on which `node` ends. */
  private finish(node: Node): Node {
    while (this.at < this.rows.length && this.rows[this.at]!.end < node.end) this.at++;
    const rest = this.text.slice(node.end, this.rows[this.at]?.end ?? node.end);
    if (rest.trim() !== "" && !/^\s+#/.test(rest)) this.fail("something follows the value");
    this.at++;
    return node;
  }

  private deeper(indent: number): number {
    this.at++;
    let last = -1;
    for (let i = this.at; i < this.rows.length; i++) {
      const row = this.rows[i]!;
      const line = this.text.slice(row.start, row.end);
      if (line.trim() === "") continue;
      if (line.length - line.trimStart().length <= indent) break;
      last = i;
    }
    if (last >= 0) this.at = last + 1;
    return last;
  }

  private blockScalar(row: Row, offset: number, indent: number): Node {
    const head = this.text.slice(offset, row.end);
    const from = this.at + 1;
    const last = this.deeper(indent);
    if (last < 0) return { kind: "scalar", value: "", start: offset, end: row.end };
    const all = this.rows.slice(from, last + 1).map((each) => this.text.slice(each.start, each.end));
    const column = Math.min(...all.filter((line) => line.trim() !== "").map((line) => line.length - line.trimStart().length));
    const body = all.map((line) => line.slice(column));
    const joined = head.startsWith("|") ? body.join("\n") : body.join(" ");
    return { kind: "scalar", value: joined + (head.includes("-") ? "" : "\n"), start: offset, end: this.rows[last]!.end };
  }

  private opaque(row: Row, offset: number, indent: number): Node {
    const last = this.deeper(indent);
    return { kind: "opaque", start: offset, end: last < 0 ? row.end : this.rows[last]!.end };
  }

  private plainScalar(row: Row, offset: number, indent: number): Node {
    const cut = (text: string) => withoutComment(text).trimEnd();
    const first = cut(this.text.slice(offset, row.end));
    if (/:\s/.test(first)) this.fail("a second `: ` stands in the value; quote it");
    const from = this.at + 1;
    const last = this.deeper(indent);
    if (last < 0) return { kind: "scalar", value: plain(first), start: offset, end: offset + first.length };
    const more = this.rows.slice(from, last + 1).map((each) => cut(this.text.slice(each.start, each.end).trim()));
    if (more.some((line) => KEY.test(line))) throw new Unreadable(from + 1, "it is indented below a value");
    return { kind: "scalar", value: [first, ...more].join(" ").trim(), start: offset, end: this.rows[last]!.end };
  }
}

/** The text before a `#` that follows a space. */
function withoutComment(text: string): string {
  for (let at = text.indexOf("#"); at >= 0; at = text.indexOf("#", at + 1)) {
    if (at > 0 && /\s/.test(text[at - 1]!)) return text.slice(0, at);
  }
  return text;
}

function unquote(inside: string): string {
  try {
    return JSON.parse(`"${inside}"`) as string;
  } catch {
    return inside;
  }
}

/** Flow collections and quoted scalars, which can go over several lines. */
class FlowReader {
  constructor(
    private readonly text: string,
    private at: number,
  ) {}

  read(depth: number): Node {
    if (depth > DEEPEST) this.fail("it is nested too deeply");
    this.space();
    const start = this.at;
    const first = this.text[this.at];
    if (first === "{") return this.map(start, depth);
    if (first === "[") return this.list(start, depth);
    if (first === '"' || first === "'") {
      const value = this.quoted(first);
      return { kind: "scalar", value, start, end: this.at };
    }
    const word = /[^,{}[\]\n#]*/y;
    word.lastIndex = start;
    const text = (word.exec(this.text)?.[0] ?? "").replace(/:\s.*$/, "").replace(/:$/, "").trimEnd();
    if (text === "" || /^[&*!]/.test(text)) this.fail("a value is missing or has an anchor or a tag");
    this.at = start + text.length;
    return { kind: "scalar", value: plain(text), start, end: this.at };
  }

  private fail(what: string): never {
    throw new Unreadable(lineOf(this.text, this.at), what);
  }

  private space() {
    const gap = /(?:\s|(?<=\s)#.*)*/y;
    gap.lastIndex = this.at;
    gap.exec(this.text);
    this.at = Math.max(this.at, gap.lastIndex);
  }

  private quoted(mark: string): string {
    const pattern = mark === '"' ? /"((?:[^"\\]|\\[\s\S])*)"/y : /'((?:[^']|'')*)'/y;
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.text);
    if (!match) this.fail("a quote is not closed");
    this.at = pattern.lastIndex;
    const inside = match[1]!.replace(/\s*\n\s*/g, " ");
    return mark === '"' ? unquote(inside) : inside.replaceAll("''", "'");
  }

  private map(start: number, depth: number): Node {
    this.at++;
    const entries: Entry[] = [];
    for (this.space(); this.text[this.at] !== "}"; this.space()) {
      const key = this.read(depth + 1);
      if (key.kind !== "scalar") this.fail("a key is no scalar");
      this.space();
      if (this.text[this.at] !== ":") this.fail("a `:` is missing");
      this.at++;
      const value = this.read(depth + 1);
      entries.push({ key: String(key.value), start: key.start, end: value.end, value });
      this.comma("}");
    }
    this.at++;
    return { kind: "map", entries, start, end: this.at, indent: 0, flow: true };
  }

  private list(start: number, depth: number): Node {
    this.at++;
    const items: Node[] = [];
    for (this.space(); this.text[this.at] !== "]"; this.space()) {
      items.push(this.read(depth + 1));
      this.comma("]");
    }
    this.at++;
    return { kind: "list", items, start, end: this.at, indent: 0, flow: true };
  }

  private comma(close: string) {
    this.space();
    if (this.text[this.at] === ",") this.at++;
    else if (this.text[this.at] !== close) this.fail(`\`${close}\` is missing`);
  }
}
