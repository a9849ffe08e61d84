// Markdown to a small tree that has only what is listed here. READMEs are by strangers: there is no HTML in the tree, no image is
// loaded (it would be a request to another machine), and links have only the schemes of `isSafeLink`.

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong" | "em" | "del"; inside: Inline[] }
  | { kind: "link"; href: string; inside: Inline[] }
  | { kind: "picture"; label: string }
  | { kind: "break" };

export type Block =
  | { kind: "heading"; level: number; inside: Inline[] }
  | { kind: "paragraph"; inside: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "list"; ordered: boolean; items: Block[][] }
  | { kind: "quote"; inside: Block[] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

/** Deeper nesting is shown as text, so that a hostile file cannot exhaust the stack. */
const DEEPEST = 8;
/** What is beyond is left out. */
const LONGEST = 400_000;

export function isSafeLink(href: string): boolean {
  return /^(https?:\/\/|mailto:|#)/i.test(href.trim());
}

export function markdown(text: string): Block[] {
  return blocks(withoutComments(text.slice(0, LONGEST).replace(/\r\n?/g, "\n")).split("\n"), 0);
}

// No pattern of this file can match a text in two ways: what strangers write would then take time that grows with its square or worse.

function withoutComments(text: string): string {
  let found = "";
  let at = 0;
  for (;;) {
    const start = text.indexOf("<!--", at);
    const end = start < 0 ? -1 : text.indexOf("-->", start + 4);
    if (end < 0) return found + text.slice(at);
    found += text.slice(at, start);
    at = end + 3;
  }
}

const BULLET = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const FENCE = /^\s{0,3}(`{3,}|~{3,})([^`]*)$/;
const STARTS = /^\s{0,3}(#{1,6}\s|>|```|~~~|([-*_]\s*){3,}$)/;

function blocks(all: string[], depth: number): Block[] {
  const found: Block[] = [];
  let i = 0;
  while (i < all.length) {
    const line = all[i]!;
    if (line.trim() === "") i++;
    else i = block(all, i, depth, found);
  }
  return found;
}

/** Reads one block at line `i` and returns the line after it. */
function block(all: string[], i: number, depth: number, found: Block[]): number {
  const line = all[i]!;
  const heading = /^\s{0,3}(#{1,6})\s/.exec(line);
  if (heading) {
    let title = line.slice(heading[0].length).trim();
    while (title.endsWith("#")) title = title.slice(0, -1);
    found.push({ kind: "heading", level: heading[1]!.length, inside: inline(title.trim()) });
    return i + 1;
  }
  const fence = FENCE.exec(line);
  if (fence) return fenced(all, i, fence, found);
  if (/^\s{0,3}([-*_]\s*){3,}$/.test(line)) {
    found.push({ kind: "rule" });
    return i + 1;
  }
  if (depth < DEEPEST && /^\s{0,3}>/.test(line)) {
    const inside: string[] = [];
    for (; i < all.length && /^\s{0,3}>/.test(all[i]!); i++) inside.push(all[i]!.replace(/^\s{0,3}> ?/, ""));
    found.push({ kind: "quote", inside: blocks(inside, depth + 1) });
    return i;
  }
  if (depth < DEEPEST && BULLET.test(line)) return list(all, i, depth, found);
  if (line.includes("|") && isRuler(all[i + 1] ?? "")) return table(all, i, found);
  if (/^ {4}/.test(line)) {
    const code: string[] = [];
    for (; i < all.length && (/^ {4}/.test(all[i]!) || all[i]!.trim() === ""); i++) code.push(all[i]!.slice(4));
    found.push({ kind: "code", language: "", text: code.join("\n").trimEnd() });
    return i;
  }
  return paragraph(all, i, found);
}

/** Whether the line stands below the head of a table. */
function isRuler(line: string): boolean {
  const cells = line.trim().split("|").map((cell) => cell.trim());
  return line.includes("-") && cells.every((cell, i) => /^:?-+:?$/.test(cell) || (cell === "" && (i === 0 || i === cells.length - 1)));
}

function fenced(all: string[], i: number, fence: RegExpExecArray, found: Block[]): number {
  const code: string[] = [];
  let end = i + 1;
  for (; end < all.length; end++) {
    const close = all[end]!.trim();
    if (close.startsWith(fence[1]!) && close.replaceAll(fence[1]![0]!, "") === "") break;
    code.push(all[end]!);
  }
  found.push({ kind: "code", language: fence[2]!.trim().split(/\s/)[0] ?? "", text: code.join("\n") });
  return end + 1;
}

function paragraph(all: string[], i: number, found: Block[]): number {
  const text: string[] = [all[i]!];
  for (i++; i < all.length && all[i]!.trim() !== "" && !STARTS.test(all[i]!) && !BULLET.test(all[i]!); i++) {
    const under = /^\s{0,3}(=+|-+)\s*$/.exec(all[i]!);
    if (under) {
      found.push({ kind: "heading", level: under[1]![0] === "=" ? 1 : 2, inside: inline(text.join(" ")) });
      return i + 1;
    }
    text.push(all[i]!);
  }
  found.push({ kind: "paragraph", inside: inline(text.map((line) => line.trimStart()).join("\n")) });
  return i;
}

function list(all: string[], i: number, depth: number, found: Block[]): number {
  const first = BULLET.exec(all[i]!)!;
  const indent = first[1]!.length;
  const ordered = /\d/.test(first[2]!);
  const items: Block[][] = [];
  while (i < all.length) {
    const item = BULLET.exec(all[i]!);
    if (!item || item[1]!.length > indent + 1 || item[1]!.length < indent || /\d/.test(item[2]!) !== ordered) break;
    const inside = [item[3]!];
    const column = item[1]!.length + item[2]!.length + 1;
    for (i++; i < all.length; i++) {
      const next = all[i]!;
      const spaces = next.length - next.trimStart().length;
      if (next.trim() === "") {
        const after = all[i + 1] ?? "";
        if (after.trim() === "" || after.length - after.trimStart().length < column) break;
        inside.push("");
      } else if (spaces > indent || (!BULLET.test(next) && !STARTS.test(next))) inside.push(next.slice(Math.min(spaces, column)));
      else break;
    }
    items.push(blocks(inside, depth + 1));
    while (i < all.length && all[i]!.trim() === "" && BULLET.test(all[i + 1] ?? "")) i++;
  }
  found.push({ kind: "list", ordered, items });
  return i;
}

function table(all: string[], i: number, found: Block[]): number {
  const cells = (line: string) =>
    line
      .trim()
      .replace(/^\||\|$/g, "")
      .split(/(?<!\\)\|/)
      .map((cell) => inline(cell.trim().replaceAll("\\|", "|")));
  const head = cells(all[i]!);
  const rows: Inline[][][] = [];
  for (i += 2; i < all.length && all[i]!.includes("|"); i++) rows.push(cells(all[i]!));
  found.push({ kind: "table", head, rows });
  return i;
}

/** The inline marks that are known; each is tried at each place, and none can look back, so the time is bounded. */
const MARKS: [RegExp, (match: RegExpExecArray, depth: number) => Inline][] = [
  [/^(`+)([^`]|[^`][\s\S]{0,2000}?[^`])\1(?!`)/, (m) => ({ kind: "code", text: m[2]! })],
  [/^!\[([^\]]{0,500})\]\([^()\s]{0,2000}(?:\s+"[^"]{0,500}")?\)/, (m) => ({ kind: "picture", label: m[1]! })],
  [/^\[((?:[^[\]!]|!(?!\[)|!?\[[^\]]{0,500}\](?:\([^()]{0,2000}\)|(?!\())){1,1000})\]\(([^()\s]{0,2000})(?:\s+"[^"]{0,500}")?\)/, link],
  [/^<((?:https?:\/\/|mailto:)[^<>\s]{1,2000})>/, (m) => ({ kind: "link", href: m[1]!, inside: [{ kind: "text", text: m[1]! }] })],
  [/^https?:\/\/[^\s<>()"'`]{1,2000}[^\s<>()"'`.,;:!?]/, (m) => ({ kind: "link", href: m[0], inside: [{ kind: "text", text: m[0] }] })],
  [/^\*\*(?=\S)([^*]{1,2000}?|(?:[^*]|\*(?!\*)){1,2000}?)\*\*/, (m, d) => ({ kind: "strong", inside: inline(m[1]!, d + 1) })],
  [/^__(?=\S)([^_]{1,2000}?)__(?!\w)/, (m, d) => ({ kind: "strong", inside: inline(m[1]!, d + 1) })],
  [/^\*(?=\S)([^*]{1,2000}?)\*/, (m, d) => ({ kind: "em", inside: inline(m[1]!, d + 1) })],
  [/^_(?=\S)([^_]{1,2000}?)_(?!\w)/, (m, d) => ({ kind: "em", inside: inline(m[1]!, d + 1) })],
  [/^~~(?=\S)([^~]{1,2000}?)~~/, (m, d) => ({ kind: "del", inside: inline(m[1]!, d + 1) })],
  [/^(?: {2,}|\\)\n/, () => ({ kind: "break" })],
  [/^<br\s*\/?>/i, () => ({ kind: "break" })],
  // Tags of HTML are left out, and what is between them stays.
  [/^<\/?[a-zA-Z][^<>]{0,2000}>/, () => ({ kind: "text", text: "" })],
  [/^\\([!-/:-@[-`{-~])/, (m) => ({ kind: "text", text: m[1]! })],
  [/^&(amp|lt|gt|quot|nbsp|#39);/, (m) => ({ kind: "text", text: { amp: "&", lt: "<", gt: ">", quot: '"', nbsp: "\u00a0", "#39": "'" }[m[1]!]! })],
];

function link(match: RegExpExecArray, depth: number): Inline {
  const inside = inline(match[1]!, depth + 1);
  const href = match[2]!;
  return isSafeLink(href) ? { kind: "link", href, inside } : { kind: "em", inside };
}

export function inline(text: string, depth = 0): Inline[] {
  if (depth > DEEPEST) return [{ kind: "text", text }];
  const found: Inline[] = [];
  let plain = "";
  const flush = () => {
    if (plain !== "") found.push({ kind: "text", text: plain });
    plain = "";
  };
  for (let i = 0; i < text.length; ) {
    const ordinary = /[^!`*_~[\\<&h \n]+|[\s\S]/y;
    ordinary.lastIndex = i;
    const run = ordinary.exec(text)![0];
    const mark = run.length === 1 && !(run === "_" && /\w$/.test(plain)) ? firstMark(text, i, depth) : undefined;
    if (mark) {
      flush();
      if (mark.node.kind !== "text" || mark.node.text !== "") found.push(mark.node);
      i += mark.length;
    } else {
      plain += run;
      i += run.length;
    }
  }
  flush();
  return found;
}

function firstMark(text: string, at: number, depth: number): { node: Inline; length: number } | undefined {
  const rest = text.slice(at, at + 5000);
  for (const [pattern, make] of MARKS) {
    const match = pattern.exec(rest);
    if (match) return { node: make(match, depth), length: match[0].length };
  }
  return undefined;
}

/** The text of inline nodes, for identifiers of headings. */
export function plainText(nodes: Inline[]): string {
  return nodes
    .map((node) => ("text" in node ? node.text : "inside" in node ? plainText(node.inside) : node.kind === "picture" ? node.label : " "))
    .join("");
}
