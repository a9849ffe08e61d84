// What a change would do, as the server planned it.

import { useEffect, useRef, useState } from "preact/hooks";
import { send } from "../api.ts";
import type { ApiError, ChartChoice, Plan, PlanBody, PlannedObject } from "../api.ts";
import { asError, stored, store } from "../state.ts";
import { Command, Empty, Failure, LeaseLine, Loading, Notice, Switch, show } from "../parts/basic.tsx";
import { Counts, Diff, Part } from "../parts/diff.tsx";
import { Icon } from "../parts/icon.tsx";

export type Planning = { plan: Plan | undefined; error: ApiError | undefined; busy: boolean; again: () => void };

/** Keeps a plan of `body` up to date: it waits for a pause in typing, stops the request before, and drops what comes too late. */
export function usePlan(body: PlanBody | undefined, pause = 200): Planning {
  const [state, setState] = useState<{ plan?: Plan; error?: ApiError; busy: boolean }>({ busy: body !== undefined });
  const [round, setRound] = useState(0);
  const text = body && JSON.stringify(body);
  const first = useRef(true);
  useEffect(() => {
    if (text === undefined) {
      setState({ busy: false });
      return;
    }
    const abort = new AbortController();
    setState((old) => ({ ...old, busy: true }));
    const ask = () =>
      send<Plan>("POST", "plans", JSON.parse(text), abort.signal).then(
        (plan) => !abort.signal.aborted && setState({ plan, busy: false }),
        (error: unknown) => !abort.signal.aborted && setState({ error: asError(error), busy: false }),
      );
    const timer = setTimeout(() => void ask(), first.current ? 0 : pause);
    first.current = false;
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, round]);
  return { plan: state.plan, error: state.error, busy: state.busy, again: () => setRound((value) => value + 1) };
}

export const ACTIONS: { [action: string]: [string, string, string] } = {
  create: ["+", "plus", "Create"],
  update: ["~", "change", "Update"],
  recreate: ["±", "danger", "Recreate"],
  delete: ["−", "minus", "Delete"],
  adopt: ["⇥", "change", "Adopt"],
  keep: ["=", "off", "Keep"],
  forget: ["○", "off", "Forget"],
  unchanged: ["=", "off", "Unchanged"],
};

export function splitView(width = 1100): boolean {
  return stored("diff") !== "unified" && innerWidth > width;
}

export function PlanView({ of, planning, chartNeeded }: { of: Plan | undefined; planning: Planning; chartNeeded?: (error: ApiError) => preact.ComponentChildren }) {
  if (planning.error) {
    if (planning.error.problem.kind === "chart-needed" && chartNeeded) return <>{chartNeeded(planning.error)}</>;
    return <Failure of={planning.error} again={planning.again} />;
  }
  if (!of) return planning.busy ? <Loading what="Planning with the API server…" /> : <Empty title="No plan yet">What the change would do is shown here as soon as there is enough to plan.</Empty>;
  return (
    <div class={`plan${planning.busy ? " stale" : ""}`} aria-busy={planning.busy}>
      <Head of={of} busy={planning.busy} />
      <Warnings of={of} />
      <Changes of={of} />
      <Hooks of={of} />
      {of.command && <Command label="The same on the command line" text={of.command} />}
      {of.valuesFile && of.command?.includes("values.yaml") && (
        <p class="muted small">
          with <code>values.yaml</code> as in the text
        </p>
      )}
    </div>
  );
}

function Head({ of, busy }: { of: Plan; busy: boolean }) {
  const some = Object.entries(of.summary).filter(([action, count]) => count > 0 && action !== "unchanged");
  return (
    <div class="plan-head" role="status">
      {some.length === 0 && <span class="chip">{of.hasChanges ? "No object changes" : "Nothing would change"}</span>}
      {some.map(([action, count]) => (
        <span key={action} class={`chip ${ACTIONS[action]?.[1] ?? ""}`}>
          {count} to {action}
        </span>
      ))}
      {of.summary["unchanged"] ? <span class="muted">{of.summary["unchanged"]} unchanged</span> : null}
      <span class="grow" />
      <span class="muted small">
        {of.from ? `revision ${of.from}` : "nothing"} → {of.to ?? "nothing"}
        {of.milliseconds !== undefined && ` · ${of.milliseconds} ms`}
        {busy && " · planning…"}
      </span>
    </div>
  );
}

function Warnings({ of }: { of: Plan }) {
  const conflicts = of.objects.flatMap((object) => (object.conflicts ?? []).map((conflict) => ({ object, ...conflict })));
  const immutable = of.objects.filter((object) => (object.immutable ?? []).length > 0);
  const crds = of.objects.filter((object) => object.isCrd && object.action !== "unchanged");
  return (
    <>
      {of.lease && (
        <Notice tone="warn">
          <p>Somebody else is changing this release.</p>
          <LeaseLine of={of.lease} />
        </Notice>
      )}
      {(of.problems ?? []).map((problem) => (
        <Notice key={problem} tone="bad">
          <p class="pre">{problem}</p>
        </Notice>
      ))}
      {immutable.length > 0 && (
        <Notice tone="bad">
          <p>Fields that cannot be changed in place: the object has to be deleted and created again.</p>
          <ul>
            {immutable.map((object) => (
              <li key={object.key}>
                {object.kind} <b>{object.name}</b>: <code>{object.immutable!.join(", ")}</code>
              </li>
            ))}
          </ul>
        </Notice>
      )}
      {conflicts.length > 0 && (
        <Notice tone="warn">
          <p>Fields that others manage:</p>
          <ul>
            {conflicts.slice(0, 50).map((conflict) => (
              <li key={conflict.object.key + conflict.field + conflict.manager}>
                {conflict.object.kind} <b>{conflict.object.name}</b>: <code>{conflict.field}</code> by <b>{conflict.manager}</b>
              </li>
            ))}
          </ul>
        </Notice>
      )}
      {crds.length > 0 && (
        <Notice tone="warn">
          <p>Definitions of resources change for the whole cluster: {crds.map((object) => object.name).join(", ")}</p>
        </Notice>
      )}
      {of.deferred && (
        <Notice>
          <p>
            What the script does at {of.deferred.event} is not planned: {of.deferred.reason}
          </p>
        </Notice>
      )}
      {of.truncated && <Notice tone="warn">The plan is too long to be shown at once: some differences are left out.</Notice>}
      {(of.unread ?? []).length > 0 && (
        <Notice tone="warn">
          <p>No template reads these values:</p>
          <ul>
            {of.unread!.slice(0, 50).map((value) => (
              <li key={value.path}>
                <code>{value.path}</code>
                {value.hint && ` – ${value.hint}`}
              </li>
            ))}
          </ul>
        </Notice>
      )}
      {(of.warnings ?? []).map((warning) => (
        <Notice key={warning} tone="warn">
          <p class="pre">{warning}</p>
        </Notice>
      ))}
    </>
  );
}

function Changes({ of }: { of: Plan }) {
  const [split, setSplit] = useState(splitView(1500));
  const [all, setAll] = useState(false);
  const shown = of.objects.filter((object) => all || object.action !== "unchanged");
  const quiet = of.objects.length - of.objects.filter((object) => object.action !== "unchanged").length;
  if (of.objects.length === 0) return null;
  return (
    <section aria-label="Objects">
      <div class="row between">
        <h3>Objects</h3>
        <div class="row">
          {quiet > 0 && (
            <button type="button" class="link" onClick={() => setAll(!all)}>
              {all ? "hide" : "show"} {quiet} unchanged
            </button>
          )}
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
      </div>
      {shown.map((object, i) => (
        <PlannedPart key={object.key} of={object} split={split} open={i < 20 && object.action !== "unchanged"} />
      ))}
    </section>
  );
}

function PlannedPart({ of, split, open }: { of: PlannedObject; split: boolean; open: boolean }) {
  const [sign, tone, text] = ACTIONS[of.action] ?? ["?", "off", of.action];
  const quiet = of.insignificant?.length ?? 0;
  const summary = (
    <>
      <span class={`action ${tone}`} title={text}>
        <span aria-hidden="true">{sign}</span>
        <span class="hidden">{text}</span>
      </span>
      <span class="kind">{of.kind}</span>
      <b class="name">{of.name}</b>
      {of.namespace && <span class="muted">{of.namespace}</span>}
      {of.recreation && <span class="chip danger">{of.recreation}</span>}
      {of.keptBecause && <span class="chip">{of.keptBecause}</span>}
      <span class="grow" />
      {of.lines && <Counts of={of.lines} />}
    </>
  );
  const hasMore = of.problem || quiet > 0 || (of.lines ?? []).length > 0 || (of.changes ?? []).length > 0;
  if (!hasMore) return <div class="part flat">{summary}</div>;
  return (
    <Part open={open} summary={summary}>
      {() => (
        <>
          {of.problem && <p class="note bad pre">{of.problem}</p>}
          {of.lines && of.lines.length > 0 ? <Diff lines={of.lines} label={`Changes of ${of.kind} ${of.name}`} split={split} /> : <FieldList of={of.changes ?? []} />}
          {quiet > 0 && (
            <details class="quiet">
              <summary>{quiet} insignificant</summary>
              <FieldList of={of.insignificant!} />
            </details>
          )}
        </>
      )}
    </Part>
  );
}

export function FieldList({ of }: { of: { path: string; before?: unknown; after?: unknown; managers?: string[] }[] }) {
  if (of.length === 0) return <p class="muted pad">No field changes.</p>;
  return (
    <ul class="fields">
      {of.map((change) => (
        <li key={change.path}>
          <code>{change.path}</code>
          <span class="from">{show(change.before)}</span>
          <span aria-hidden="true">→</span>
          <span class="hidden">becomes</span>
          <span class="into">{show(change.after)}</span>
          {(change.managers ?? []).map((manager) => (
            <span key={manager} class="chip">
              by {manager}
            </span>
          ))}
        </li>
      ))}
    </ul>
  );
}

function Hooks({ of }: { of: Plan }) {
  const hooks = of.hooks ?? [];
  if (hooks.length === 0) return null;
  return (
    <section aria-label="Hooks">
      <h3>Hooks that would run</h3>
      <ol class="hooks">
        {hooks.map((hook, i) => (
          <li key={i}>
            <span class="chip">{hook.event}</span> <span class="kind">{hook.kind}</span> <b>{hook.name}</b>
            {hook.weight ? <span class="muted"> weight {hook.weight}</span> : null}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The buttons that every plan has beside its own. */
export function PrintButton() {
  return (
    <button type="button" class="icon-button" aria-label="Print the plan" title="Print" onClick={() => print()}>
      <Icon name="print" />
    </button>
  );
}

export function ChartForm({ onChoose, local, initial }: { onChoose: (chart: ChartChoice) => void; local: boolean; initial?: { reference?: string; version?: string } }) {
  const [reference, setReference] = useState(initial?.reference ?? "");
  const [version, setVersion] = useState(initial?.version ?? "");
  return (
    <form
      class="chart-form"
      onSubmit={(event) => {
        event.preventDefault();
        const isPath = /^[/.~]/.test(reference.trim());
        if (reference.trim() !== "") onChoose(isPath ? { path: reference.trim() } : { reference: reference.trim(), version: version.trim() });
      }}
    >
      <label class="grow">
        Chart
        <input type="text" required value={reference} placeholder={local ? "repo/name, oci://…, https://….tgz or /folder" : "repo/name, oci://… or https://….tgz"} onInput={(event) => setReference(event.currentTarget.value)} />
      </label>
      <label>
        Version
        <input type="text" value={version} placeholder="newest" onInput={(event) => setVersion(event.currentTarget.value)} />
      </label>
      <button type="submit" class="button">
        Use this chart
      </button>
    </form>
  );
}
