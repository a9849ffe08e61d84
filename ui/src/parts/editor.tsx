// A text area with colours below it: the same text twice, the upper one see-through. Everything that a text area has (undo, spell
// checkers, screen readers, the keyboard of a phone) stays.

import { useMemo, useRef } from "preact/hooks";
import { highlight } from "../text/yaml.ts";
import { Tokens } from "./code.tsx";

/** Beyond this, colours would make typing slow. */
const COLOURED = 200_000;

export function Editor({ value, onInput, label, invalid, describedBy }: { value: string; onInput: (text: string) => void; label: string; invalid?: boolean; describedBy?: string }) {
  const below = useRef<HTMLPreElement>(null);
  const lines = useMemo(() => (value.length > COLOURED ? undefined : highlight(value)), [value]);
  const count = value.split("\n").length;
  const onKey = (event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }) => {
    const area = event.currentTarget;
    if (event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.metaKey && area.selectionStart === area.selectionEnd) {
      const line = value.slice(value.lastIndexOf("\n", area.selectionStart - 1) + 1, area.selectionStart);
      const indent = /^ */.exec(line)![0] + (/:\s*$/.test(line) ? "  " : "");
      if (indent === "") return;
      event.preventDefault();
      area.setRangeText(`\n${indent}`, area.selectionStart, area.selectionEnd, "end");
      onInput(area.value);
    }
  };
  return (
    <div class={`editor${invalid ? " invalid" : ""}`}>
      <div class="editor-inner" style={{ "--lines": count }}>
        <pre ref={below} aria-hidden="true">
          {lines ? lines.map((tokens, i) => (
            <div key={i} class="line">
              <Tokens of={tokens} />
              {"\n"}
            </div>
          )) : value}
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
          onKeyDown={onKey}
          onScroll={(event) => {
            if (below.current) below.current.scrollLeft = event.currentTarget.scrollLeft;
          }}
        />
      </div>
    </div>
  );
}
