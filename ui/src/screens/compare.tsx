// Two revisions, or a revision and what is in the cluster, object by object.

import { useMemo, useState } from "preact/hooks";
import { get, releasePath } from "../api.ts";
import type { ComparedObject, Comparison, DiffLine, Revision } from "../api.ts";
import { amend, route } from "../router.ts";
import { context, store } from "../state.ts";
import { Check, Empty, Notice, Switch, View, useLoad } from "../parts/basic.tsx";
import { Counts, Diff, Part } from "../parts/diff.tsx";
import { Icon } from "../parts/icon.tsx";
import { FieldList, splitView } from "./plan.tsx";

const SIGNS: { [change: string]: [string, string] } = { added: ["+", "plus"], removed: ["−", "minus"], changed: ["~", "change"], missing: ["!", "danger"], unchecked: ["?", "off"], unchanged: ["=", "off"] };

export function Compare({ namespace, name }: { namespace: string; name: string }) {
  const revisions = useLoad(`${context.value} ${namespace}/${name} revisions`, (signal) => get<{ revisions: Revision[] }>(releasePath(namespace, name, "revisions"), {}, signal));
  return (
    <View of={revisions} what="Reading revisions…">
      {({ revisions: all }) => <Choice namespace={namespace} name={name} all={all} />}
    </View>
  );
}

function Choice({ namespace, name, all }: { namespace: string; name: string; all: Revision[] }) {
  const query = route.value.query;
  const newest = all[0]?.revision;
  const onlyOne = all.length < 2;
  const to = query.get("to") ?? (onlyOne ? "live" : String(newest));
  const from = query.get("from") ?? String(to === "live" ? newest : (all.find((each) => each.revision < Number(to))?.revision ?? newest));
  const [split, setSplit] = useState(splitView());
  const [noise, setNoise] = useState(false);
  const options = all.map((revision) => (
    <option key={revision.revision} value={String(revision.revision)}>
      revision {revision.revision} – {revision.chart} {revision.chartVersion} – {revision.status}
    </option>
  ));
  return (
    <>
      <div class="row wrap filters">
        <label class="grow">
          From
          <select value={from} onChange={(event) => amend({ from: event.currentTarget.value }, true)}>
            {options}
          </select>
        </label>
        <button type="button" class="icon-button swap" aria-label="Exchange both sides" title="Exchange" disabled={to === "live"} onClick={() => amend({ from: to, to: from }, true)}>
          <Icon name="compare" />
        </button>
        <label class="grow">
          To
          <select value={to} onChange={(event) => amend(event.currentTarget.value === "live" ? { to: "live", from: newest } : { to: event.currentTarget.value }, true)}>
            <option value="live">what is in the cluster now</option>
            {options}
          </select>
        </label>
      </div>
      <div class="row between wrap">
        <Check label="Show what makes no difference" checked={noise} onChange={setNoise} />
        <Switch
          label="Layout of differences"
          options={[
            ["unified", "Unified"],
            ["split", "Side by side"],
          ]}
          value={split ? "split" : "unified"}
          onChange={(value) => {
            store("diff", value);
            setSplit(value === "split");
          }}
        />
      </div>
      <Result namespace={namespace} name={name} from={from} to={to} split={split} noise={noise} />
    </>
  );
}

function Result({ namespace, name, from, to, split, noise }: { namespace: string; name: string; from: string; to: string; split: boolean; noise: boolean }) {
  const load = useLoad(`${context.value} ${namespace}/${name} compare ${from} ${to}`, (signal) => get<Comparison>(releasePath(namespace, name, "compare"), { from, to, what: "all" }, signal));
  return (
    <View of={load} what="Comparing…">
      {(found) => {
        const changed = found.objects.filter((object) => noise || (object.change !== "unchanged" && !isNoise(object)));
        const values = found.values?.lines ?? [];
        const notes = found.notes?.lines ?? [];
        const isEqual = changed.length === 0 && !hasChange(values) && !hasChange(notes);
        return (
          <>
            <p class="row wrap" role="status">
              {(["added", "removed", "changed"] as const).map((kind) => (found.summary[kind] > 0 ? <span key={kind} class={`chip ${SIGNS[kind]![1]}`}>{found.summary[kind]} {kind}</span> : null))}
              <span class="muted">{found.summary.unchanged} unchanged</span>
              {(found.hidden ?? 0) > 0 && <span class="muted">{found.hidden} secret values are not shown</span>}
            </p>
            {found.truncated && <Notice tone="warn">The difference is too long to be shown at once; open an object to read its own.</Notice>}
            {isEqual && (
              <Empty title={to === "live" ? "Nothing has drifted" : "Both are equal"}>
                <p>{to === "live" ? "Every field that the release sets is in the cluster as it was applied." : "Objects, values and notes do not differ."}</p>
              </Empty>
            )}
            {hasChange(values) && <Lines title="Values" lines={values} split={split} />}
            {changed.map((object, i) => (
              <One key={object.key} of={object} open={i < 15} split={split} path={releasePath(namespace, name, "compare")} query={{ from, to }} />
            ))}
            {hasChange(notes) && <Lines title="Notes" lines={notes} split={split} />}
          </>
        );
      }}
    </View>
  );
}

function hasChange(lines: DiffLine[]): boolean {
  return lines.some((line) => line.op === "+" || line.op === "-");
}

function isNoise(object: ComparedObject): boolean {
  return object.change === "changed" && (object.fields?.length ?? 0) > 0 && object.fields!.every((field) => field.noise);
}

function Lines({ title, lines, split }: { title: string; lines: DiffLine[]; split: boolean }) {
  return (
    <Part
      open
      summary={
        <>
          <b class="name">{title}</b>
          <span class="grow" />
          <Counts of={lines} />
        </>
      }
    >
      {() => <Diff lines={lines} label={`Changes of ${title.toLowerCase()}`} split={split} />}
    </Part>
  );
}

function One({ of, open, split, path, query }: { of: ComparedObject; open: boolean; split: boolean; path: string; query: { from: string; to: string } }) {
  const [sign, tone] = SIGNS[of.change] ?? ["?", "off"];
  const managed = useMemo(() => (of.fields ?? []).filter((field) => (field.managers ?? []).length > 0), [of]);
  const summary = (
    <>
      <span class={`action ${tone}`} title={of.change}>
        <span aria-hidden="true">{sign}</span>
        <span class="hidden">{of.change}</span>
      </span>
      <span class="kind">{of.kind}</span>
      <b class="name">{of.name}</b>
      {[...new Set(managed.flatMap((field) => field.managers!))].slice(0, 3).map((manager) => (
        <span key={manager} class="chip">
          by {manager}
        </span>
      ))}
      {of.change === "missing" && <span class="chip danger">not in the cluster</span>}
      <span class="grow" />
      {of.lines && <Counts of={of.lines} />}
    </>
  );
  return (
    <Part open={open && of.lines !== null} summary={summary}>
      {() => (
        <>
          {of.problem && <p class="note bad pre">{of.problem}</p>}
          {managed.length > 0 && <FieldList of={managed} />}
          {of.lines === null || of.lines === undefined ? <Later path={path} query={query} object={of} split={split} /> : of.lines.length > 0 ? <Diff lines={of.lines} label={`Changes of ${of.kind} ${of.name}`} split={split} /> : managed.length === 0 && <FieldList of={of.fields ?? []} />}
        </>
      )}
    </Part>
  );
}

function Later({ path, query, object, split }: { path: string; query: { from: string; to: string }; object: ComparedObject; split: boolean }) {
  const load = useLoad(`${path} ${query.from} ${query.to} ${object.key}`, (signal) => get<Comparison>(path, { ...query, what: "manifest", key: object.key }, signal));
  return (
    <View of={load} what="Comparing the object…">
      {(found) => <Diff lines={found.objects[0]?.lines ?? []} label={`Changes of ${object.kind} ${object.name}`} split={split} />}
    </View>
  );
}
