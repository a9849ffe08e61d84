// Text with numbered lines: YAML, logs, differences. Long texts have only those lines in the document that are seen.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { reveal, visible } from "../list/window.ts";
import { highlight } from "../text/yaml.ts";
import type { Token } from "../text/yaml.ts";

const ROW = 20;
/** Texts up to this length are all in the document, so that the browser's own search and printing have them. */
const WHOLE = 600;

/** Draws `count` rows of equal height. */
export function Rows({ count, row = ROW, label, children, role, active, onKey, className = "", atEnd = false }: {
  count: number;
  row?: number;
  label: string;
  children: (index: number) => ComponentChildren;
  role?: "listbox" | "log";
  active?: string | undefined;
  onKey?: (event: KeyboardEvent) => void;
  className?: string;
  atEnd?: boolean;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ top: 0, height: 800 });
  const isWhole = count <= WHOLE;
  useEffect(() => {
    if (atEnd && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [count, atEnd]);
  const seen = isWhole ? { first: 0, last: count, before: 0, after: 0 } : visible(count, row, place.top, place.height, 20);
  const measure = () => box.current && setPlace({ top: box.current.scrollTop, height: box.current.clientHeight });
  const indexes = Array.from({ length: seen.last - seen.first }, (_, i) => seen.first + i);
  return (
    <div
      ref={box}
      class={`code ${className}`}
      tabIndex={0}
      role={role ?? "region"}
      aria-label={label}
      aria-activedescendant={active}
      onScroll={isWhole ? undefined : measure}
      onKeyDown={onKey}
    >
      <div class="code-inner" role="presentation">
        {seen.before > 0 && <div role="presentation" style={{ height: seen.before }} />}
        {indexes.map(children)}
        {seen.after > 0 && <div role="presentation" style={{ height: seen.after }} />}
      </div>
    </div>
  );
}

export function Tokens({ of }: { of: Token[] }) {
  return <>{of.map((token, i) => (token.kind === "text" ? token.text : <span key={i} class={`t-${token.kind}`}>{token.text}</span>))}</>;
}

export function Yaml({ text, label, first = 1 }: { text: string; label: string; first?: number }) {
  const all = useMemo(() => highlight(text.replace(/\n$/, "")), [text]);
  return (
    <Rows count={all.length} label={label}>
      {(i) => (
        <div key={i} class="line">
          <span class="number" aria-hidden="true">
            {first + i}
          </span>
          <span class="text">
            <Tokens of={all[i]!} />
          </span>
        </div>
      )}
    </Rows>
  );
}

/** YAML whose lines can be chosen, by mouse, or by arrow keys and Enter. */
export function Choosable({ text, label, first, chosen, marked, onChoose }: { text: string; label: string; first: number; chosen: number | undefined; marked?: Set<number>; onChoose: (line: number) => void }) {
  const all = useMemo(() => highlight(text.replace(/\n$/, "")), [text]);
  const [at, setAt] = useState(chosen ?? first);
  useEffect(() => {
    if (chosen !== undefined) setAt(chosen);
  }, [chosen]);
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = frame.current?.querySelector<HTMLElement>(".code");
    const top = box ? reveal(at - first, ROW, box.scrollTop, box.clientHeight) : undefined;
    if (box && top !== undefined) box.scrollTop = top;
  }, [at, first]);
  const id = (line: number) => `line-${first}-${line}`;
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -all.length, End: all.length }[event.key];
    if (step !== undefined) setAt((old) => Math.min(first + all.length - 1, Math.max(first, old + step)));
    else if (event.key === "Enter" || event.key === " ") onChoose(at);
    else return;
    event.preventDefault();
  };
  return (
    <div ref={frame}>
      <Rows count={all.length} label={label} role="listbox" active={id(at)} onKey={onKey} className="choosable">
        {(i) => {
          const line = first + i;
          return (
            <div
              key={line}
              id={id(line)}
              role="option"
              aria-selected={line === chosen}
              class={`line${line === at ? " at" : ""}${marked?.has(line) ? " marked" : ""}`}
              onClick={() => {
                setAt(line);
                onChoose(line);
              }}
            >
              <span class="number" aria-hidden="true">
                {line}
              </span>
              <span class="text">
                <Tokens of={all[i]!} />
                {all[i]!.length === 0 && " "}
              </span>
            </div>
          );
        }}
      </Rows>
    </div>
  );
}

export function Plain({ lines, label, follow = false }: { lines: { prefix?: string; text: string; tone?: string }[]; label: string; follow?: boolean }) {
  return (
    <Rows count={lines.length} label={label} role="log" atEnd={follow} className="log">
      {(i) => (
        <div key={i} class={`line ${lines[i]!.tone ?? ""}`}>
          {lines[i]!.prefix && <span class="prefix">{lines[i]!.prefix}</span>}
          <span class="text">{lines[i]!.text || " "}</span>
        </div>
      )}
    </Rows>
  );
}
