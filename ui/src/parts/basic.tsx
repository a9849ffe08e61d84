// Small parts that most views use.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api.ts";
import type { Lease, Problem } from "../api.ts";
import { asError, now, say } from "../state.ts";
import { age, moment } from "../time.ts";
import { Icon } from "./icon.tsx";

/** The tone of a status; its text always stands beside the colour. */
export function tone(status: string | undefined | null): "good" | "bad" | "busy" | "off" {
  switch (status) {
    case "deployed":
    case "current":
    case "succeeded":
    case "Succeeded":
    case "ready":
    case "verified":
      return "good";
    case "failed":
    case "Failed":
    case "error":
    case "notfound":
    case "missing":
      return "bad";
    case "progressing":
    case "running":
    case "Running":
    case "terminating":
    case "uninstalling":
    case "warning":
      return "busy";
    default:
      return status?.startsWith("pending") ? "busy" : "off";
  }
}

export function Status({ of, text }: { of: string | undefined | null; text?: string }) {
  return (
    <span class={`status ${tone(of)}`}>
      <i aria-hidden="true" />
      {text ?? of ?? "unknown"}
    </span>
  );
}

export function Age({ of }: { of: string | undefined | null }) {
  return (
    <time dateTime={of ?? ""} title={moment(of)}>
      {age(of, now.value)}
    </time>
  );
}

export function Failure({ of, again }: { of: unknown; again?: () => void }) {
  const error = asError(of);
  return <ProblemBox of={error.problem} {...(again ? { again } : {})} />;
}

/** An error with the words of the command line: what, where, and what to do. */
export function ProblemBox({ of, again }: { of: Problem; again?: () => void }) {
  return (
    <div class="note bad" role="alert">
      <Icon name="alert" />
      <div>
        <p class="pre">{of.message}</p>
        {of.where && <p class="muted mono">{of.where}</p>}
        {of.lease && <LeaseLine of={of.lease} />}
        {of.hint && <p class="hint">{of.hint}</p>}
        {of.command && <Command text={of.command} />}
        {again && (
          <p>
            <button type="button" class="button small" onClick={again}>
              Try again
            </button>
          </p>
        )}
      </div>
    </div>
  );
}

export function LeaseLine({ of }: { of: Lease }) {
  return (
    <p class="muted">
      Held by <b>{of.holder}</b> since <Age of={of.since} />
      {of.expired ? ", and not renewed any more" : ""}
    </p>
  );
}

export function Notice({ tone: kind = "plain", children }: { tone?: "plain" | "warn" | "good" | "bad"; children: ComponentChildren }) {
  return (
    <div class={`note ${kind}`}>
      <Icon name={kind === "good" ? "check" : kind === "plain" ? "info" : "alert"} />
      <div>{children}</div>
    </div>
  );
}

export function Empty({ title, children, level = 2 }: { title: string; children?: ComponentChildren; level?: 1 | 2 }) {
  const Title = `h${level}` as const;
  return (
    <div class="empty">
      <Title>{title}</Title>
      {children}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> {what}
    </p>
  );
}

export async function copy(text: string) {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied", "good");
  } catch {
    say("The browser does not let pages copy here; select the text instead", "bad");
  }
}

/** The command that does the same, which can be copied. */
export function Command({ text, label }: { text: string; label?: string }) {
  return (
    <div class="command">
      {label && <span class="label">{label}</span>}
      <code tabIndex={0}>{text}</code>
      <button type="button" class="icon-button" aria-label="Copy the command" title="Copy" onClick={() => void copy(text)}>
        <Icon name="copy" />
      </button>
    </div>
  );
}

export function Tabs({ label, items, current }: { label: string; items: { id: string; text: string; href: string; count?: number | string | undefined }[]; current: string }) {
  return (
    <nav class="tabs" aria-label={label}>
      {items.map((item) => (
        <a key={item.id} href={item.href} aria-current={item.id === current ? "page" : undefined}>
          {item.text}
          {item.count !== undefined && <span class="count">{item.count}</span>}
        </a>
      ))}
    </nav>
  );
}

/** A choice between two or three views of the same thing. */
export function Switch<T extends string>({ label, options, value, onChange }: { label: string; options: [T, string][]; value: T; onChange: (value: T) => void }) {
  return (
    <div class="switch" role="group" aria-label={label}>
      {options.map(([id, text]) => (
        <button key={id} type="button" aria-pressed={id === value} onClick={() => onChange(id)}>
          {text}
        </button>
      ))}
    </div>
  );
}

export function Check({ label, hint, checked, onChange, disabled }: { label: string; hint?: string; checked: boolean; onChange: (value: boolean) => void; disabled?: boolean }) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} disabled={disabled ?? false} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>
        {label}
        {hint && <small>{hint}</small>}
      </span>
    </label>
  );
}

/** A dialog of the browser, which keeps the focus inside and gives it back. */
export function Dialog({ title, onClose, children, actions }: { title: string; onClose: () => void; children: ComponentChildren; actions?: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    element.current?.showModal();
  }, []);
  return (
    <dialog ref={element} class="dialog" aria-labelledby="dialog-title" onClose={onClose} onClick={(event) => event.target === element.current && element.current?.close()}>
      <header>
        <h2 id="dialog-title">{title}</h2>
        <button type="button" class="icon-button" aria-label="Close" onClick={() => element.current?.close()}>
          <Icon name="close" />
        </button>
      </header>
      <div class="dialog-body">{children}</div>
      {actions && <footer>{actions}</footer>}
    </dialog>
  );
}

export type Loaded<T> = { data: T | undefined; error: ApiError | undefined; loading: boolean; again: () => void };

/** Loads when `key` changes; what was loaded before stays until the new answer is there, and late answers are dropped. */
export function useLoad<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: ApiError; loading: boolean }>({ key, loading: true });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    setState((old) => (old.key === key && old.data !== undefined ? { key, data: old.data, loading: true } : { key, loading: true }));
    load(abort.signal).then(
      (data) => !abort.signal.aborted && setState({ key, data, loading: false }),
      (error: unknown) => !abort.signal.aborted && setState({ key, error: asError(error), loading: false }),
    );
    return () => abort.abort();
  }, [key, round]);
  const isCurrent = state.key === key;
  return { data: isCurrent ? state.data : undefined, error: isCurrent ? state.error : undefined, loading: !isCurrent || state.loading, again: () => setRound((value) => value + 1) };
}

/** What is asked for, or why it is not there. */
export function View<T>({ of, what, children }: { of: Loaded<T>; what: string; children: (data: T) => ComponentChildren }): JSX.Element {
  if (of.error) return <Failure of={of.error} again={of.again} />;
  if (of.data === undefined) return <Loading what={what} />;
  return <>{children(of.data)}</>;
}

/** A button for what may not be allowed: then it says why, and is still found by the keyboard. */
export function Act({ allowed, onClick, children, kind = "" }: { allowed: { allowed: boolean; reason?: string }; onClick: () => void; children: ComponentChildren; kind?: string }) {
  return (
    <button
      type="button"
      class={`button ${kind}`}
      aria-disabled={!allowed.allowed}
      title={allowed.allowed ? undefined : allowed.reason}
      onClick={() => (allowed.allowed ? onClick() : say(allowed.reason ?? "This is not allowed", "bad"))}
    >
      {children}
    </button>
  );
}

export function Facts({ of }: { of: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function show(value: unknown): string {
  if (value === undefined) return "not set";
  if (typeof value === "string") return value === "" ? '""' : value;
  const text = JSON.stringify(value);
  return text.length > 300 ? text.slice(0, 300) + "…" : text;
}

export function stringProblem(error: unknown): string {
  const { problem } = asError(error);
  return [problem.message, problem.hint].filter(Boolean).join(" – ");
}
