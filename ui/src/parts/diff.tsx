// Differences of one text, as the server computed them or as found here, in one column or two.

import { useMemo, useState } from "preact/hooks";
import type { DiffLine } from "../api.ts";
import { changedSpan, pairs } from "../text/diff.ts";
import type { Line } from "../text/diff.ts";
import { Rows } from "./code.tsx";

type Row = { kind: "fold"; skipped: number } | { kind: "pair"; left?: Line; right?: Line };

/** Numbers the lines, which the server leaves out. */
export function numbered(all: DiffLine[]): (Line | { skipped: number })[] {
  let before = 0;
  let after = 0;
  return all.map((line) => {
    const text = line.text ?? "";
    switch (line.op) {
      case "…":
        before += line.skipped ?? 0;
        after += line.skipped ?? 0;
        return { skipped: line.skipped ?? 0 };
      case "-":
        return { kind: "removed", before: ++before, text };
      case "+":
        return { kind: "added", after: ++after, text };
      default:
        return { kind: "same", before: ++before, after: ++after, text };
    }
  });
}

function rows(all: DiffLine[]): Row[] {
  const found: Row[] = [];
  let run: Line[] = [];
  const flush = () => {
    for (const pair of pairs(run)) found.push({ kind: "pair", ...pair });
    run = [];
  };
  for (const line of numbered(all)) {
    if ("skipped" in line) {
      flush();
      found.push({ kind: "fold", skipped: line.skipped });
    } else run.push(line);
  }
  flush();
  return found;
}

export function counted(all: DiffLine[] | null | undefined): { added: number; removed: number } {
  let added = 0;
  let removed = 0;
  for (const line of all ?? []) {
    if (line.op === "+") added++;
    if (line.op === "-") removed++;
  }
  return { added, removed };
}

export function Counts({ of }: { of: DiffLine[] | null | undefined }) {
  const { added, removed } = counted(of);
  if (added + removed === 0) return null;
  return (
    <span class="counts">
      <span class="plus">
        <span class="hidden">added </span>+{added}
      </span>
      <span class="minus">
        <span class="hidden">removed </span>−{removed}
      </span>
    </span>
  );
}

export function Diff({ lines, label, split }: { lines: DiffLine[]; label: string; split: boolean }) {
  return split ? <Split lines={lines} label={label} /> : <Unified lines={lines} label={label} />;
}

const SIGN = { same: " ", removed: "−", added: "+" };

function Unified({ lines, label }: { lines: DiffLine[]; label: string }) {
  const { all, beside } = useMemo(() => {
    const all = numbered(lines);
    // The line in whose place another one came, to mark what differs inside it.
    const beside = new Map<Line, string>();
    for (const row of rows(lines)) {
      if (row.kind === "pair" && row.left && row.right && row.left !== row.right) {
        beside.set(row.left, row.right.text);
        beside.set(row.right, row.left.text);
      }
    }
    const texts = new Map<string, string>();
    for (const [line, other] of beside) texts.set(id(line), other);
    return { all, beside: texts };
  }, [lines]);
  return (
    <Rows count={all.length} label={label} className="diff">
      {(i) => {
        const line = all[i]!;
        if ("skipped" in line) return <Fold key={i} skipped={line.skipped} />;
        return (
          <div key={i} class={`line ${line.kind}`}>
            <span class="number" aria-hidden="true">
              {line.kind === "added" ? "" : line.before}
            </span>
            <span class="number" aria-hidden="true">
              {line.kind === "removed" ? "" : line.after}
            </span>
            <span class="sign">{SIGN[line.kind]}</span>
            <Marked text={line.text} other={beside.get(id(line))} />
          </div>
        );
      }}
    </Rows>
  );
}

function id(line: Line): string {
  return line.kind === "added" ? `+${line.after}` : `-${line.before}`;
}

function Split({ lines, label }: { lines: DiffLine[]; label: string }) {
  const all = useMemo(() => rows(lines), [lines]);
  return (
    <Rows count={all.length} label={label} className="diff split">
      {(i) => {
        const row = all[i]!;
        if (row.kind === "fold") return <Fold key={i} skipped={row.skipped} />;
        return (
          <div key={i} class="line pair">
            <Half line={row.left} side="left" other={row.right} />
            <Half line={row.right} side="right" other={row.left} />
          </div>
        );
      }}
    </Rows>
  );
}

function Half({ line, side, other }: { line: Line | undefined; side: "left" | "right"; other: Line | undefined }) {
  if (!line) return <span class="half none" />;
  const number = side === "left" ? ("before" in line ? line.before : "") : "after" in line ? line.after : "";
  return (
    <span class={`half ${line.kind}`}>
      <span class="number" aria-hidden="true">
        {number}
      </span>
      <span class="sign">{SIGN[line.kind]}</span>
      <Marked text={line.text} other={line.kind === "same" ? undefined : other?.text} />
    </span>
  );
}

function Marked({ text, other }: { text: string; other: string | undefined }) {
  const span = other === undefined ? undefined : changedSpan(text, other);
  if (!span) return <span class="text">{text || " "}</span>;
  return (
    <span class="text">
      {text.slice(0, span[0])}
      <mark>{text.slice(span[0], span[1])}</mark>
      {text.slice(span[1])}
    </span>
  );
}

function Fold({ skipped }: { skipped: number }) {
  return <div class="line fold">{skipped} equal lines</div>;
}

/** One part of a long comparison, folded until it is wanted. */
export function Part({ open, summary, children }: { open: boolean; summary: preact.ComponentChildren; children: () => preact.ComponentChildren }) {
  const [isOpen, setOpen] = useState(open);
  return (
    <details class="part" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen && children()}
    </details>
  );
}
