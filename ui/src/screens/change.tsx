// Changing the values of a release, or its chart: form and text in step, and the plan beside them.

import { useMemo, useState } from "preact/hooks";
import { get, releasePath, send } from "../api.ts";
import type { ChartChoice, DiffLine, Operation, PlanBody, Release, SchemaAnswer, Values } from "../api.ts";
import { Form } from "../form/form.tsx";
import { go, route, to } from "../router.ts";
import { allowed, asError, context, say, session } from "../state.ts";
import { diff, fold } from "../text/diff.ts";
import { Act, Check, Notice, Switch, View, stringProblem, useLoad } from "../parts/basic.tsx";
import { Counts, Diff, Part } from "../parts/diff.tsx";
import { Editor } from "../parts/editor.tsx";
import { Icon } from "../parts/icon.tsx";
import { ChartForm, PlanView, PrintButton, usePlan } from "./plan.tsx";
import { operate } from "./release.tsx";

type Start = { values: string; schema: SchemaAnswer };

export function Change({ namespace, name, release }: { namespace: string; name: string; release: Release | undefined }) {
  const load = useLoad(`${context.value} ${namespace}/${name} change`, async (signal): Promise<Start> => {
    const [values, schema] = await Promise.all([
      get<Values>(releasePath(namespace, name, "values"), {}, signal),
      // Without the schema there is still the text.
      get<SchemaAnswer>(releasePath(namespace, name, "schema"), {}, signal).catch((error: unknown): SchemaAnswer => ({ problem: asError(error).message })),
    ]);
    return { values: /^\s*(\{\}|null)\s*$/.test(values.yaml) ? "" : values.yaml, schema };
  });
  return (
    <View of={load} what="Reading values and schema…">
      {(start) => <Workbench key={`${namespace}/${name}`} namespace={namespace} name={name} start={start} release={release} />}
    </View>
  );
}

function Workbench({ namespace, name, start, release }: { namespace: string; name: string; start: Start; release: Release | undefined }) {
  const version = route.value.query.get("version");
  const [text, setText] = useState(start.values);
  const known = release?.source?.url;
  const [chart, setChart] = useState<ChartChoice>(version && known ? { reference: known, version } : { release: true });
  const [choosing, setChoosing] = useState(false);
  const [options, setOptions] = useState({ wait: true, atomic: false, forceConflicts: false });
  const body: PlanBody = { operation: "upgrade", namespace, name, chart, values: text, ...options };
  const planning = usePlan(body);
  return (
    <>
      <div class="row between wrap">
        <h2>Change values</h2>
        <div class="row wrap">
          <button type="button" class="link" aria-expanded={choosing} onClick={() => setChoosing(!choosing)}>
            {"release" in chart ? "Another chart or version" : `Chart: ${"path" in chart ? chart.path : `${chart.reference} ${chart.version ?? ""}`}`}
          </button>
          {text !== start.values && (
            <button type="button" class="link" onClick={() => setText(start.values)}>
              Undo all changes
            </button>
          )}
        </div>
      </div>
      {choosing && <ChartForm local={session.value?.localCharts ?? false} initial={{ reference: known ?? "" }} onChoose={(choice) => {
          setChart(choice);
          setChoosing(false);
        }} />}
      {start.schema.problem && <Notice tone="warn">{start.schema.problem}</Notice>}
      <Bench
        text={text}
        setText={setText}
        schema={start.schema}
        plan={
          <>
            <TextChanges before={start.values} after={text} />
            <PlanView
              of={planning.plan}
              planning={planning}
              chartNeeded={(error) => (
                <Notice tone="warn">
                  <p class="pre">{error.message}</p>
                  {error.problem.hint && <p class="hint">{error.problem.hint}</p>}
                  <ChartForm local={session.value?.localCharts ?? false} onChoose={setChart} />
                </Notice>
              )}
            />
          </>
        }
        isInvalid={planning.error?.problem.kind === "invalid-input"}
      />
      <Bar planning={planning} body={body} options={options} setOptions={setOptions} action="upgrade" label="Apply" />
    </>
  );
}

/** What was changed in the text itself. */
function TextChanges({ before, after }: { before: string; after: string }) {
  const lines = useMemo(
    () =>
      fold(diff(before, after), 2).flatMap((part): DiffLine[] =>
        part.kind === "folded" ? [{ op: "…", skipped: part.lines.length }] : part.lines.map((line) => ({ op: OPS[line.kind], text: line.text })),
      ),
    [before, after],
  );
  if (before === after) return null;
  return (
    <Part
      open={false}
      summary={
        <>
          <b class="name">Your values</b>
          <span class="grow" />
          <Counts of={lines} />
        </>
      }
    >
      {() => <Diff lines={lines} label="Changes of your values" split={false} />}
    </Part>
  );
}

const OPS = { same: "=", removed: "-", added: "+" } as const;

export function Bench({ text, setText, schema, plan, isInvalid }: { text: string; setText: (text: string) => void; schema: SchemaAnswer; plan: preact.ComponentChildren; isInvalid: boolean }) {
  const [side, setSide] = useState<"form" | "text">(schema.schema || schema.defaults ? "form" : "text");
  return (
    <div class="bench">
      <section class="bench-edit" aria-label="Values">
        <Switch
          label="How to edit"
          options={[
            ["form", "Form"],
            ["text", "YAML"],
          ]}
          value={side}
          onChange={setSide}
        />
        <div class="bench-pair" data-side={side}>
          <div class="bench-form">
            <Form schema={schema.schema} defaults={schema.defaults} text={text} onInput={setText} />
          </div>
          <div class="bench-text">
            <Editor value={text} onInput={setText} label="Values as YAML" invalid={isInvalid} />
          </div>
        </div>
      </section>
      <section class="bench-plan" aria-label="Plan">
        <div class="row between">
          <h2>Plan</h2>
          <PrintButton />
        </div>
        {plan}
      </section>
    </div>
  );
}

type Options = { wait: boolean; atomic: boolean; forceConflicts: boolean };

/** What can be done with a plan; always in sight. */
export function Bar({ planning, body, options, setOptions, action, label, danger }: {
  planning: ReturnType<typeof usePlan>;
  body: PlanBody;
  options?: Options;
  setOptions?: (options: Options) => void;
  action: string;
  label: string;
  danger?: boolean;
}) {
  const [busy, setBusy] = useState(false);
  const { plan } = planning;
  const right = allowed(body.namespace, action);
  const ready = !!plan?.plan && !planning.busy && !planning.error && !busy;
  const may = !right.allowed ? right : { allowed: ready, reason: planning.error || (plan?.problems ?? []).length > 0 ? "The plan has a problem" : "The plan is not ready yet" };
  const apply = async () => {
    setBusy(true);
    const started = await operate({ plan: plan!.plan });
    setBusy(false);
    if (!started) planning.again();
  };
  const rehearse = async () => {
    setBusy(true);
    try {
      const operation = await send<Operation>("POST", "rehearsals", body);
      go(to(["operations", operation.id]));
    } catch (error) {
      say(stringProblem(error), "bad");
    }
    setBusy(false);
  };
  const conflicts = plan?.objects.some((object) => (object.conflicts ?? []).length > 0) ?? false;
  return (
    <div class="bar" role="group" aria-label="Actions">
      {options && setOptions && (
        <div class="row wrap">
          <Check label="Wait until ready" checked={options.wait} onChange={(wait) => setOptions({ ...options, wait })} />
          <Check label="Roll back if it fails" checked={options.atomic} onChange={(atomic) => setOptions({ ...options, atomic })} />
          {(conflicts || options.forceConflicts) && <Check label="Take fields from others" checked={options.forceConflicts} onChange={(forceConflicts) => setOptions({ ...options, forceConflicts })} />}
        </div>
      )}
      <span class="grow" />
      {(body.operation === "upgrade" || body.operation === "install") && (
        <button type="button" class="button" disabled={busy} onClick={() => void rehearse()} title="Runs the change on the embedded cluster; nothing of yours is changed">
          <Icon name="play" /> Rehearse
        </button>
      )}
      <Act allowed={may} kind={danger ? "danger solid" : "primary"} onClick={() => void apply()}>
        {label}
      </Act>
      {!right.allowed && right.reason && <p class="muted small bar-why">{right.reason}</p>}
    </div>
  );
}
