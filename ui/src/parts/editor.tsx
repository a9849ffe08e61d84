// A text area with colours below it: the same text twice, the upper one see-through. Everything that a text area has (undo, spell
// checkers, screen readers, the keyboard of a phone) stays.

import { useMemo, useRef, useState } from "preact/hooks";
import { visible } from "../list/window.ts";
import { START, tokens } from "../text/yaml.ts";
import type { State, Token } from "../text/yaml.ts";
import { Tokens } from "./code.tsx";

const ROW = 20;

type Coloured = { line: string; before: State; tokens: Token[]; after: State };

/** Colours the lines, with those of the text before: typing changes few of them. */
export function recolour(old: Coloured[], text: string): Coloured[] {
  let state = START;
  const all = text.split("\n");
  const moved = all.length - old.length;
  return all.map((line, i) => {
    const same = [old[i], old[i - moved]].find((each) => each?.line === line && each.before.block === state.block);
    if (same) {
      state = same.after;
      return same;
    }
    const before = state;
    const [found, after] = tokens(line, state);
    state = after;
    return { line, before, tokens: found, after };
  });
}

export function Editor({ value, onInput, label, invalid, describedBy }: { value: string; onInput: (text: string) => void; label: string; invalid?: boolean; describedBy?: string }) {
  const box = useRef<HTMLDivElement>(null);
  const below = useRef<HTMLPreElement>(null);
  const last = useRef<Coloured[]>([]);
  const [place, setPlace] = useState({ top: 0, height: 1000 });
  const lines = useMemo(() => (last.current = recolour(last.current, value)), [value]);
  const seen = visible(lines.length, ROW, place.top, place.height, 30);
  return (
    <div ref={box} class={`editor${invalid ? " invalid" : ""}`} onScroll={() => box.current && setPlace({ top: box.current.scrollTop, height: box.current.clientHeight })}>
      <div class="editor-inner" style={{ "--lines": lines.length }}>
        <pre ref={below} aria-hidden="true">
          <div style={{ height: seen.before }} />
          {lines.slice(seen.first, seen.last).map((line, i) => (
            <div key={seen.first + i} class="line">
              <Tokens of={line.tokens} />
              {"\n"}
            </div>
          ))}
        </pre>
        <textarea
          aria-label={label}
          aria-invalid={invalid ?? false}
          aria-describedby={describedBy}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          wrap="off"
          value={value}
          onInput={(event) => onInput(event.currentTarget.value)}
          onKeyDown={(event) => indent(event, value, onInput)}
          onScroll={(event) => {
            if (below.current) below.current.scrollLeft = event.currentTarget.scrollLeft;
          }}
        />
      </div>
    </div>
  );
}

/** A new line is indented as the one above it, and deeper below a key without a value. */
function indent(event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }, value: string, onInput: (text: string) => void) {
  const area = event.currentTarget;
  if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.metaKey || area.selectionStart !== area.selectionEnd) return;
  const line = value.slice(value.lastIndexOf("\n", area.selectionStart - 1) + 1, area.selectionStart);
  const spaces = /^ */.exec(line)![0] + (/:\s*$/.test(line) ? "  " : "");
  if (spaces === "") return;
  event.preventDefault();
  area.setRangeText(`\n${spaces}`, area.selectionStart, area.selectionEnd, "end");
  onInput(area.value);
}
