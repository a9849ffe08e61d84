// The difference of two texts by lines: Myers' algorithm between the common ends. It is bounded, because a manifest can have
// 100,000 lines: where two texts differ in more than `LIMIT` lines, the middle is shown as replaced.

export type Line =
  | { kind: "same"; before: number; after: number; text: string }
  | { kind: "removed"; before: number; text: string }
  | { kind: "added"; after: number; text: string };

/** Edits that are searched for; the work grows with its square. */
const LIMIT = 1000;

export function lines(text: string): string[] {
  if (text === "") return [];
  const all = text.split("\n");
  if (all[all.length - 1] === "") all.pop();
  return all;
}

export function diff(before: string, after: string): Line[] {
  const a = lines(before);
  const b = lines(after);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let tail = 0;
  while (tail < a.length - start && tail < b.length - start && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const result: Line[] = [];
  for (let i = 0; i < start; i++) result.push({ kind: "same", before: i + 1, after: i + 1, text: a[i]! });
  const middle = changes(a.slice(start, a.length - tail), b.slice(start, b.length - tail));
  let x = start;
  let y = start;
  for (const kind of middle) {
    if (kind === "same") result.push({ kind, before: ++x, after: ++y, text: a[x - 1]! });
    else if (kind === "removed") result.push({ kind, before: ++x, text: a[x - 1]! });
    else result.push({ kind, after: ++y, text: b[y - 1]! });
  }
  for (let i = 0; i < tail; i++) result.push({ kind: "same", before: ++x, after: ++y, text: a[x - 1]! });
  return result;
}

/** The steps from one list to the other, removals before additions where both are equally short. */
function changes(a: string[], b: string[]): Line["kind"][] {
  const replaced = (): Line["kind"][] => [...a.map(() => "removed" as const), ...b.map(() => "added" as const)];
  if (a.length === 0 || b.length === 0) return replaced();
  const numbers = new Map<string, number>();
  const number = (line: string) => {
    let id = numbers.get(line);
    if (id === undefined) numbers.set(line, (id = numbers.size));
    return id;
  };
  const left = a.map(number);
  const right = b.map(number);
  const most = Math.min(LIMIT, a.length + b.length);
  const trace: Int32Array[] = [];
  let front = new Int32Array(2 * most + 3);
  const middle = most + 1;
  for (let d = 0; d <= most; d++) {
    trace.push(front.slice(middle - d - 1, middle + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && front[middle + k - 1]! < front[middle + k + 1]!);
      let x = down ? front[middle + k + 1]! : front[middle + k - 1]! + 1;
      let y = x - k;
      while (x < left.length && y < right.length && left[x] === right[y]) {
        x++;
        y++;
      }
      front[middle + k] = x;
      if (x >= left.length && y >= right.length) return walk(trace, left.length, right.length, d);
    }
  }
  return replaced();
}

function walk(trace: Int32Array[], endX: number, endY: number, depth: number): Line["kind"][] {
  const steps: Line["kind"][] = [];
  let x = endX;
  let y = endY;
  for (let d = depth; d > 0; d--) {
    const front = trace[d]!;
    const at = (k: number) => front[k + d + 1]!;
    const k = x - y;
    const down = k === -d || (k !== d && at(k - 1) < at(k + 1));
    const before = down ? k + 1 : k - 1;
    const fromX = at(before);
    const fromY = fromX - before;
    while (x > fromX && y > fromY) {
      steps.push("same");
      x--;
      y--;
    }
    steps.push(down ? "added" : "removed");
    x = fromX;
    y = fromY;
  }
  while (x > 0 && y > 0) {
    steps.push("same");
    x--;
    y--;
  }
  return steps.reverse();
}

export type Part = { kind: "lines"; lines: Line[] } | { kind: "folded"; lines: Line[] };

/** Folds runs of equal lines that are further than `context` lines from a change. */
export function fold(all: Line[], context = 3): Part[] {
  const near = new Uint8Array(all.length);
  all.forEach((line, i) => {
    if (line.kind === "same") return;
    for (let j = Math.max(0, i - context); j <= Math.min(all.length - 1, i + context); j++) near[j] = 1;
  });
  const parts: Part[] = [];
  for (let i = 0; i < all.length; ) {
    let end = i;
    while (end < all.length && near[end] === near[i]) end++;
    // A fold of one or two lines takes as much room as the lines.
    const kind = near[i] || end - i < 3 ? "lines" : "folded";
    const last = parts[parts.length - 1];
    const run = all.slice(i, end);
    if (last && last.kind === "lines" && kind === "lines") last.lines.push(...run);
    else parts.push({ kind, lines: run });
    i = end;
  }
  return parts;
}

export type Pair = { left?: Line; right?: Line };

/** Rows for two columns: removed lines stand beside the lines that were added in their place. */
export function pairs(all: Line[]): Pair[] {
  const rows: Pair[] = [];
  for (let i = 0; i < all.length; ) {
    const line = all[i]!;
    if (line.kind === "same") {
      rows.push({ left: line, right: line });
      i++;
      continue;
    }
    const removed: Line[] = [];
    const added: Line[] = [];
    for (; i < all.length && all[i]!.kind !== "same"; i++) (all[i]!.kind === "removed" ? removed : added).push(all[i]!);
    for (let j = 0; j < Math.max(removed.length, added.length); j++) {
      const row: Pair = {};
      if (removed[j]) row.left = removed[j]!;
      if (added[j]) row.right = added[j]!;
      rows.push(row);
    }
  }
  return rows;
}

/** The part of a line that differs from the line beside it: [start, end), or nothing where they have little in common. */
export function changedSpan(text: string, other: string): [number, number] | undefined {
  let start = 0;
  while (start < text.length && start < other.length && text[start] === other[start]) start++;
  let tail = 0;
  while (tail < text.length - start && tail < other.length - start && text[text.length - 1 - tail] === other[other.length - 1 - tail]) tail++;
  const kept = text.slice(0, start).trim().length + tail;
  return kept === 0 || start >= text.length - tail ? undefined : [start, text.length - tail];
}

export function counts(all: Line[]): { added: number; removed: number } {
  let added = 0;
  let removed = 0;
  for (const line of all) {
    if (line.kind === "added") added++;
    if (line.kind === "removed") removed++;
  }
  return { added, removed };
}
