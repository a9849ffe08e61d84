// Running and finished operations: progress, readiness, logs, cancelling, and the report of a rehearsal.

import { useEffect, useState } from "preact/hooks";
import { follow, get, send } from "../api.ts";
import type { Operation as OperationData, Problem, Rehearsal } from "../api.ts";
import { to } from "../router.ts";
import { context, now, say, session } from "../state.ts";
import { age, moment } from "../time.ts";
import { Age, Command, Empty, Loading, Notice, ProblemBox, Status, View, stringProblem, tone, useLoad } from "../parts/basic.tsx";
import { Plain } from "../parts/code.tsx";
import { Part } from "../parts/diff.tsx";
import { Icon } from "../parts/icon.tsx";
import { clean } from "./logs.tsx";

export function Operations() {
  const load = useLoad(`${context.value} operations ${Math.floor(now.value / 10_000)}`, (signal) => get<{ operations: OperationData[] }>("operations", {}, signal));
  const [last, setLast] = useState<OperationData[]>();
  useEffect(() => {
    if (load.data) setLast(load.data.operations);
  }, [load.data]);
  const all = load.data?.operations ?? last;
  return (
    <>
      <header class="page-head">
        <h1>Operations</h1>
      </header>
      {load.error && <ProblemBox of={load.error.problem} />}
      {!all && !load.error && <Loading what="Reading operations…" />}
      {all?.length === 0 && (
        <Empty title="Nothing has been done yet">
          <p>Upgrades, rollbacks, tests and rehearsals that are started here are listed while this program runs. They go on when the page is closed, and can be found here again.</p>
        </Empty>
      )}
      {all && all.length > 0 && (
        <ul class="cards">
          {all.map((operation) => (
            <li key={operation.id} class="card link-card">
              <p class="row wrap">
                <Status of={operation.state} />
                <a class="cover" href={to(["operations", operation.id])}>
                  {operation.operation} <b>{operation.name}</b>
                </a>
                <span class="muted">{operation.namespace}</span>
                <span class="grow" />
                <Age of={operation.started} />
              </p>
              {operation.error && <p class="muted pre">{operation.error.message}</p>}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

type Line = { text: string; prefix?: string; tone?: string };
type Ready = { key: string; kind: string; name: string; state: string; message?: string; ready: boolean };
type Progress = { lines: Line[]; objects: Map<string, Ready>; stages: string[]; end: OperationData | undefined; problem: Problem | undefined };

const EMPTY: Progress = { lines: [], objects: new Map(), stages: [], end: undefined, problem: undefined };
const KEPT = 20_000;

/** Follows an operation from its beginning, also after the page was loaded again. */
function useProgress(id: string): Progress {
  const [progress, setProgress] = useState<Progress>(EMPTY);
  useEffect(() => {
    setProgress(EMPTY);
    let next = { ...EMPTY, objects: new Map<string, Ready>() };
    let timer = 0;
    const draw = () => {
      timer = 0;
      setProgress({ ...next, objects: new Map(next.objects) });
    };
    const change = (part: Partial<Progress>) => {
      next = { ...next, ...part };
      timer ||= window.setTimeout(draw, 60);
    };
    const add = (...lines: Line[]) => change({ lines: [...next.lines, ...lines].slice(-KEPT) });
    const stop = follow(`operations/${encodeURIComponent(id)}/events`, {}, {
      fresh: () => {
        next = { ...EMPTY, objects: new Map() };
      },
      stage: (data: { stage: string; event?: string }) => change({ stages: [...next.stages.filter((stage) => stage !== data.stage), data.stage], lines: [...next.lines, { text: [data.stage, data.event].filter(Boolean).join(" "), tone: "head" }] }),
      step: (data: { text: string }) => add({ text: clean(data.text) }),
      message: (data: { level: string; text: string }) => add(...data.text.split("\n").map((text) => ({ text: clean(text), tone: data.level }))),
      applied: (data: { kind: string; name: string; change: string }) => add({ text: `${data.kind} ${data.name} ${data.change}` }),
      failed: (data: { kind: string; name: string; reason: string }) => add({ text: `${data.kind} ${data.name} failed: ${data.reason}`, tone: "error" }),
      readiness: (data: Ready) => {
        next.objects.set(data.key, data);
        change({});
      },
      log: (data: { pod: string; container: string; text: string }) => add(...data.text.replace(/\n$/, "").split("\n").map((text) => ({ prefix: data.pod, text: clean(text) }))),
      problem: (data: { error: Problem }) => change({ problem: data.error }),
      end: (data: OperationData) => {
        change({ end: data });
        stop();
      },
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [id]);
  return progress;
}

export function Operation({ id }: { id: string }) {
  const load = useLoad(`operation ${id}`, (signal) => get<OperationData>(`operations/${encodeURIComponent(id)}`, {}, signal));
  const progress = useProgress(id);
  return (
    <View of={load} what="Reading the operation…">
      {(first) => <Shown of={progress.end ?? first} progress={progress} />}
    </View>
  );
}

const TITLES: { [operation: string]: string } = { upgrade: "Upgrade", install: "Installation", rollback: "Rollback", uninstall: "Uninstallation", test: "Tests", rehearse: "Rehearsal" };

function Shown({ of, progress }: { of: OperationData; progress: Progress }) {
  const [cancelled, setCancelled] = useState(false);
  const isRunning = of.state === "running";
  const cancel = async () => {
    setCancelled(true);
    try {
      await send("POST", `operations/${encodeURIComponent(of.id)}/cancel`);
      say("Cancelling: what is running is brought to an end");
    } catch (error) {
      say(stringProblem(error), "bad");
    }
  };
  const end = of.ended ? Date.parse(of.ended) : now.value;
  return (
    <>
      <header class="page-head">
        <nav class="crumbs" aria-label="Where you are">
          <a href={to(["operations"])}>Operations</a>
          <span aria-hidden="true">/</span>
          <span>{of.id}</span>
        </nav>
        <div class="row between wrap">
          <h1>
            {TITLES[of.operation] ?? of.operation} of {of.name} <Status of={of.state} />
          </h1>
          <div class="row wrap">
            {isRunning && session.value && (
              <button type="button" class="button danger" onClick={() => void cancel()}>
                {cancelled ? "Stop at once" : "Cancel"}
              </button>
            )}
            <a class={`button ${isRunning ? "" : "primary"}`} href={to(["releases", of.namespace, of.name])}>
              To the release
            </a>
          </div>
        </div>
        <p class="muted" role="status">
          {isRunning ? (progress.stages[progress.stages.length - 1] ?? of.stage ?? "starting") : of.state} · {moment(of.started)} · {age(of.started, end)}
          {of.result?.revision ? ` · revision ${of.result.revision}` : ""}
        </p>
        {isRunning && <progress class="bar-progress" aria-label="The operation is running" />}
      </header>
      {of.error && <ProblemBox of={of.error} />}
      {progress.problem && <ProblemBox of={progress.problem} />}
      {of.state === "succeeded" && of.operation !== "rehearse" && <Notice tone="good">{of.operation === "test" ? "The tests have passed." : "Done. The release is as planned."}</Notice>}
      {of.result?.report && <Report of={of.result.report} />}
      {progress.objects.size > 0 && <Waiting of={[...progress.objects.values()]} />}
      {(of.result?.kept ?? []).length > 0 && <Notice>Kept: {of.result!.kept!.join(", ")}</Notice>}
      {(of.result?.tests ?? []).map((test) => (
        <Part key={test.pod + test.container} open summary={<b class="name">{test.pod}</b>}>
          {() => <Plain lines={test.log.split("\n").map((text) => ({ text: clean(text) }))} label={`Log of ${test.pod}`} />}
        </Part>
      ))}
      {progress.lines.length > 0 && (
        <section aria-labelledby="progress">
          <h2 id="progress">Progress</h2>
          <Plain lines={progress.lines} label="Progress" follow={isRunning} />
        </section>
      )}
      {of.result?.notes && (
        <section aria-labelledby="notes">
          <h2 id="notes">Notes</h2>
          <pre class="notes" tabIndex={0} aria-label="Notes">
            {of.result.notes}
          </pre>
        </section>
      )}
      {of.command && <Command label="The same on the command line" text={of.command} />}
    </>
  );
}

function Waiting({ of }: { of: Ready[] }) {
  const open = of.filter((object) => !object.ready);
  return (
    <section aria-labelledby="waiting">
      <h2 id="waiting">{open.length === 0 ? "All objects are ready" : `${of.length - open.length} of ${of.length} objects are ready`}</h2>
      <progress class="grow" max={of.length} value={of.length - open.length} aria-label="Objects that are ready" />
      <ul class="plain">
        {of.map((object) => (
          <li key={object.key} class="row wrap">
            <Status of={object.ready ? "ready" : object.state} text={object.ready ? "ready" : object.state} />
            <span class="kind">{object.kind}</span> <b>{object.name}</b>
            {!object.ready && <span class="muted">{object.message}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Report({ of }: { of: Rehearsal }) {
  const worst = of.worst ?? undefined;
  return (
    <section aria-labelledby="report">
      <h2 id="report">Report of the rehearsal</h2>
      <Notice tone={worst === "error" ? "bad" : worst === "warning" ? "warn" : "good"}>
        <p>
          {worst === "error" ? "The change would fail." : worst === "warning" ? "The change would work, with warnings." : "The change would work."}
          {of.kubeVersion && ` Rehearsed on Kubernetes ${of.kubeVersion}, on a cluster inside pintle; nothing of yours was changed.`}
        </p>
      </Notice>
      {of.findings.length > 0 && (
        <ul class="events">
          {of.findings.map((finding, i) => (
            <li key={i} class={finding.severity === "note" ? "" : "warning"}>
              <Status of={finding.severity} /> {finding.object && <b>{finding.object}</b>}
              {finding.file && (
                <span class="muted mono break">
                  {finding.file}
                  {finding.line ? `:${finding.line}` : ""}
                </span>
              )}
              <p class="pre">{finding.message}</p>
            </li>
          ))}
        </ul>
      )}
      {of.stages.map((stage) => (
        <Part
          key={stage.name}
          open={!!stage.error}
          summary={
            <>
              <Icon name={stage.error ? "alert" : "check"} /> <b class="name">{stage.name}</b>
              <span class="grow" />
              <span class="muted">
                {(stage.objects ?? []).filter((object) => object.ready).length} of {(stage.objects ?? []).length} ready
              </span>
            </>
          }
        >
          {() => (
            <>
              {stage.error && <p class="note bad pre">{stage.error}</p>}
              {(stage.warnings ?? []).map((warning) => (
                <p key={warning} class="note warn pre">
                  {warning}
                </p>
              ))}
              <ul class="plain pad">
                {(stage.objects ?? []).map((object) => (
                  <li key={object.object} class="row wrap">
                    <Status of={object.ready ? "ready" : object.state} text={object.ready ? "ready" : object.state} />
                    <b>{object.object}</b> <span class="muted">{object.message}</span>
                  </li>
                ))}
                {(stage.hooks ?? []).map((hook) => (
                  <li key={hook.object} class="row wrap">
                    <span class={`status ${tone(hook.phase)}`}>{hook.phase || "hook"}</span> <b>{hook.object}</b> <span class="muted">{hook.events?.join(", ")}</span>
                  </li>
                ))}
              </ul>
            </>
          )}
        </Part>
      ))}
    </section>
  );
}
