// The values of a release: as YAML, and one by one with the layer of each and all lines that it reaches.

import { useMemo, useState } from "preact/hooks";
import { get, releasePath } from "../api.ts";
import type { ExplainedValue, Values as ValuesData } from "../api.ts";
import { amend, route, to } from "../router.ts";
import { allowed, context } from "../state.ts";
import { Empty, Switch, View, show, useLoad } from "../parts/basic.tsx";
import { Rows, Yaml } from "../parts/code.tsx";
import { Icon } from "../parts/icon.tsx";
import { Layer, Place } from "./manifest.tsx";

type Props = { namespace: string; name: string; revision: string | undefined };

export function Values(props: Props) {
  const query = route.value.query;
  const value = query.get("value") ?? "";
  const view = value ? "explain" : (query.get("view") ?? "user");
  return (
    <>
      <div class="row between wrap">
        <Switch
          label="Which values"
          value={view}
          options={[
            ["user", "Set for this release"],
            ["all", "All, with defaults"],
            ["explain", "Where each comes from"],
          ]}
          onChange={(next) => amend({ view: next, value: "" }, true)}
        />
        <a class="button small" href={to(["releases", props.namespace, props.name, "change"])}>
          <Icon name="edit" /> Change
        </a>
      </div>
      {view === "explain" ? <Explain {...props} value={value} /> : <Text {...props} all={view === "all"} />}
    </>
  );
}

function Text({ namespace, name, revision, all }: Props & { all: boolean }) {
  const [reveal, setReveal] = useState(false);
  const load = useLoad(`${context.value} ${namespace}/${name} values ${revision} ${all} ${reveal}`, (signal) => get<ValuesData>(releasePath(namespace, name, "values"), { revision, all, reveal }, signal));
  return (
    <View of={load} what="Reading values…">
      {(values) => {
        if (/^\s*(\{\}|null)?\s*$/.test(values.yaml)) {
          return (
            <Empty title="All values are the chart's defaults">
              <p>Nothing was set when this revision was made. “All, with defaults” shows what the chart uses.</p>
            </Empty>
          );
        }
        return (
          <>
            {(values.hidden ?? []).length > 0 && (
              <p class="row wrap muted">
                {values.hidden!.length} hidden: {values.hidden!.slice(0, 5).join(", ")}
                <button type="button" class="button small ghost" title={allowed(namespace, "reveal").reason} onClick={() => setReveal(true)}>
                  <Icon name="eye" /> Reveal
                </button>
              </p>
            )}
            <Yaml text={values.yaml} label="Values" />
          </>
        );
      }}
    </View>
  );
}

function Explain({ value, ...props }: Props & { value: string }) {
  const [filter, setFilter] = useState("");
  const load = useLoad(`${context.value} ${props.namespace}/${props.name} explain values ${props.revision}`, (signal) => get<{ values: ExplainedValue[] }>(releasePath(props.namespace, props.name, "explain"), { revision: props.revision, value: "" }, signal));
  return (
    <View of={load} what="Explaining values…">
      {({ values }) => <List values={values} value={value} props={props} filter={filter} onFilter={setFilter} />}
    </View>
  );
}

function List({ values, value, props, filter, onFilter }: { values: ExplainedValue[]; value: string; props: Props; filter: string; onFilter: (text: string) => void }) {
  const shown = useMemo(() => {
    const words = filter.toLowerCase();
    return values.filter((each) => words === "" || each.path.toLowerCase().includes(words) || show(each.value).toLowerCase().includes(words));
  }, [values, filter]);
  return (
    <div class={`master${value ? " with-detail" : ""}`}>
      <div>
        <label class="search small">
          <Icon name="search" />
          <span class="hidden">Find a value</span>
          <input type="search" placeholder={`Find one of ${values.length} values`} value={filter} onInput={(event) => onFilter(event.currentTarget.value)} />
        </label>
        <Rows count={shown.length} row={36} label="Values with their layers" className="values">
          {(i) => {
            const each = shown[i]!;
            return (
              <a key={each.path} class="value-row" aria-current={each.path === value ? "true" : undefined} href={to(["releases", props.namespace, props.name, "values"], { value: each.path, revision: props.revision })}>
                <span class="mono path">{each.path}</span>
                <span class="mono value">{each.hidden ? "(hidden)" : show(each.value)}</span>
                <Layer of={each.origin} />
              </a>
            );
          }}
        </Rows>
        {shown.length === 0 && <p class="muted pad">No value is called that.</p>}
      </div>
      {value && <Reaches value={value} of={values.find((each) => each.path === value)} props={props} />}
    </div>
  );
}

type Reached = { lines: { file: string; line: number; text: string }[]; truncated?: boolean };

function Reaches({ value, of, props }: { value: string; of: ExplainedValue | undefined; props: Props }) {
  const load = useLoad(`${context.value} ${props.namespace}/${props.name} reaches ${props.revision} ${value}`, (signal) => get<Reached>(releasePath(props.namespace, props.name, "explain/reaches"), { revision: props.revision, value }, signal));
  return (
    <aside class="detail" aria-label={`Value ${value}`}>
      <header class="row between">
        <h2 class="mono break">{value}</h2>
        <button type="button" class="icon-button" aria-label="Close the details" onClick={() => amend({ value: "", view: "explain" }, true)}>
          <Icon name="close" />
        </button>
      </header>
      {of && (
        <>
          <p class="row wrap">
            <span class="mono break">{of.hidden ? "(hidden)" : show(of.value)}</span> <Layer of={of.origin} />
          </p>
          {(of.overridden ?? []).map((origin, i) => (
            <p key={i} class="muted small">
              instead of <s>{show(origin.value)}</s> in <Layer of={origin} />
            </p>
          ))}
        </>
      )}
      <h3>Lines that it reaches</h3>
      <View of={load} what="Looking for lines…">
        {(reached) => (
          <>
            {reached.lines.length === 0 && <p class="muted">No rendered line changes with it now.</p>}
            <ul class="reached">
              {reached.lines.slice(0, 300).map((line) => (
                <li key={`${line.file}:${line.line}`}>
                  <a href={to(["releases", props.namespace, props.name, "manifest"], { line: `${line.file}:${line.line}`, revision: props.revision })}>
                    <span class="muted small break">
                      {line.file}:{line.line}
                    </span>
                    <code>{line.text.trim()}</code>
                  </a>
                </li>
              ))}
            </ul>
            {reached.truncated && <p class="muted">There are more.</p>}
          </>
        )}
      </View>
      {(of?.readers ?? []).length > 0 && <h3>Templates that read it</h3>}
      {(of?.readers ?? []).slice(0, 50).map((reader) => (
        <Place key={`${reader.file}:${reader.line}`} of={reader} />
      ))}
    </aside>
  );
}
