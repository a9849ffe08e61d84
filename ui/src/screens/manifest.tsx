// The rendered manifest. A click on a line says where it comes from: template line, values, and the layer of each.

import { useEffect } from "preact/hooks";
import { get, releasePath } from "../api.ts";
import type { ExplainedValue, Explanation, ManifestDocument, Manifest as ManifestData, Origin } from "../api.ts";
import { amend, route, to } from "../router.ts";
import { allowed, context } from "../state.ts";
import { Empty, View, show, useLoad } from "../parts/basic.tsx";
import { Choosable } from "../parts/code.tsx";
import { Icon } from "../parts/icon.tsx";

type Props = { namespace: string; name: string; revision: string | undefined };

export function Manifest({ namespace, name, revision }: Props) {
  const query = route.value.query;
  const reveal = query.get("reveal") === "true";
  const line = query.get("line") ?? "";
  const load = useLoad(`${context.value} ${namespace}/${name} manifest ${revision} ${reveal}`, (signal) => get<ManifestData>(releasePath(namespace, name, "manifest"), { revision, reveal }, signal));
  return (
    <View of={load} what="Reading the manifest…">
      {(manifest) =>
        manifest.documents.length === 0 ? (
          <Empty title="The manifest is empty">No object was rendered with these values.</Empty>
        ) : (
          <Documents manifest={manifest} line={line} chosen={query.get("document") ?? ""} props={{ namespace, name, revision }} reveal={reveal} />
        )
      }
    </View>
  );
}

function split(line: string): { file: string; number: number } | undefined {
  const at = line.lastIndexOf(":");
  const number = Number(line.slice(at + 1));
  return at > 0 && Number.isInteger(number) ? { file: line.slice(0, at), number } : undefined;
}

function holds(document: ManifestDocument, at: { file: string; number: number }): boolean {
  const first = document.line ?? 1;
  return document.source === at.file && at.number >= first && at.number < first + (document.yaml ?? "").replace(/\n$/, "").split("\n").length;
}

function Documents({ manifest, line, chosen, props, reveal }: { manifest: ManifestData; line: string; chosen: string; props: Props; reveal: boolean }) {
  const at = split(line);
  const current = (at && manifest.documents.find((document) => holds(document, at))) ?? manifest.documents.find((document) => document.key === chosen) ?? manifest.documents[0]!;
  const { namespace, name } = props;
  return (
    <div class="panes">
      <nav class="pane-list" aria-label="Objects of the manifest">
        {manifest.documents.map((document) => (
          <a key={document.key} href={to(["releases", namespace, name, "manifest"], { revision: props.revision, document: document.key, reveal: reveal ? "true" : "" })} aria-current={document === current ? "true" : undefined}>
            <span class="kind">{document.kind}</span>
            <span class="name">{document.name}</span>
          </a>
        ))}
      </nav>
      <div class="pane-main">
        <div class="row between wrap">
          <p class="muted mono break">{current.source ?? ""}</p>
          {(manifest.hidden ?? 0) > 0 && (
            <button type="button" class="button small ghost" title={allowed(namespace, "reveal").reason} onClick={() => amend({ reveal: "true" })}>
              <Icon name="eye" /> Reveal {manifest.hidden} hidden
            </button>
          )}
        </div>
        <Text document={current} props={props} at={at} />
      </div>
      <aside class="pane-side" aria-label="Explanation">
        {at ? <Explained line={line} props={props} /> : <Hint />}
      </aside>
    </div>
  );
}

function Text({ document, props, at }: { document: ManifestDocument; props: Props; at: { file: string; number: number } | undefined }) {
  const needed = document.yaml === undefined;
  const load = useLoad(`${document.key} ${needed} ${props.revision}`, (signal) =>
    needed ? get<ManifestData>(releasePath(props.namespace, props.name, "manifest"), { revision: props.revision, key: document.key }, signal) : Promise.resolve<ManifestData>({ documents: [document] }),
  );
  return (
    <View of={load} what="Reading the object…">
      {({ documents }) => (
        <Choosable
          key={document.key}
          text={documents[0]?.yaml ?? ""}
          label={`${document.kind} ${document.name}: choose a line to explain`}
          first={document.line ?? 1}
          chosen={at && at.file === document.source ? at.number : undefined}
          onChoose={(number) => amend({ line: `${document.source ?? ""}:${number}`, document: document.key }, true)}
        />
      )}
    </View>
  );
}

function Hint() {
  return (
    <div class="empty small">
      <h2>Where does a line come from?</h2>
      <p>Click any line. The template line that wrote it is shown here, the values that it used, and which layer set each: your values, a file, a parent chart, or the chart's default.</p>
      <p class="muted">
        With the keyboard: <kbd>↓</kbd> <kbd>↑</kbd> and <kbd>Enter</kbd> in the text.
      </p>
    </div>
  );
}

function Explained({ line, props }: { line: string; props: Props }) {
  const load = useLoad(`${context.value} ${props.namespace}/${props.name} ${props.revision} ${line}`, (signal) => get<Explanation>(releasePath(props.namespace, props.name, "explain"), { revision: props.revision, line }, signal));
  useEffect(() => {
    if (load.data && innerWidth < 1000) document.querySelector(".pane-side")?.scrollIntoView({ block: "nearest" });
  }, [load.data]);
  return (
    <View of={load} what="Explaining…">
      {(found) => (
        <div class="explanation" aria-live="polite">
          <h2>
            Line {found.line} <span class="muted small break">{found.file}</span>
          </h2>
          {found.problem && <p class="note warn pre">{found.problem}</p>}
          <h3>Written by</h3>
          {found.templates.length === 0 && <p class="muted">No template line is known.</p>}
          {found.templates.map((template) => (
            <Place key={`${template.file}:${template.line}`} of={template} />
          ))}
          <h3>With these values</h3>
          {found.values.length === 0 && <p class="muted">None: the text is the same with any values.</p>}
          {found.values.map((value) => (
            <ValueCard key={value.path} of={value} props={props} />
          ))}
          {(found.fields ?? []).length > 0 && (
            <p>
              and{" "}
              {found.fields!.map((field) => (
                <code key={field} class="chip">
                  {field}
                </code>
              ))}
            </p>
          )}
          {(found.conditions ?? []).length > 0 && <h3>Only if</h3>}
          {(found.conditions ?? []).map((condition) => (
            <div key={`${condition.at.file}:${condition.at.line}`}>
              <Place of={condition.at} />
              {condition.values.map((value) => (
                <ValueCard key={value.path} of={value} props={props} />
              ))}
            </div>
          ))}
        </div>
      )}
    </View>
  );
}

export function Place({ of }: { of: { file: string; line: number; text: string } }) {
  return (
    <figure class="place">
      <figcaption class="break">
        {of.file}:{of.line}
      </figcaption>
      <pre tabIndex={0} aria-label={`Line ${of.line} of ${of.file}`}>
        {of.text.trim()}
      </pre>
    </figure>
  );
}

const LAYERS: { [layer: string]: string } = { user: "your values", default: "chart default", parent: "parent chart", set: "--set", file: "values file", script: "a script", unknown: "unknown" };

export function Layer({ of }: { of: Origin | null | undefined }) {
  if (!of) return <span class="layer unknown">not set</span>;
  return (
    <span class={`layer ${of.layer}`} title={of.name}>
      {LAYERS[of.layer] ?? of.layer}
      {of.line ? `, line ${of.line}` : ""}
    </span>
  );
}

export function ValueCard({ of, props }: { of: ExplainedValue; props: Props }) {
  return (
    <div class="value-card">
      <p class="row wrap">
        <a class="mono break" href={to(["releases", props.namespace, props.name, "values"], { value: of.path, revision: props.revision })}>
          {of.path}
        </a>
        <span class="grow" />
        <Layer of={of.origin} />
      </p>
      <p class="mono break">{of.hidden ? "(hidden)" : show(of.value)}</p>
      {of.origin?.name && <p class="muted small break">{of.origin.name}</p>}
      {(of.overridden ?? []).map((origin, i) => (
        <p key={i} class="muted small">
          instead of <s>{show(origin.value)}</s> in <Layer of={origin} />
        </p>
      ))}
    </div>
  );
}
