// The objects of a release as a tree of owners, with the reason of each that is not ready, and details beside it.

import { useEffect, useState } from "preact/hooks";
import { follow, get, releasePath } from "../api.ts";
import type { LiveObject, ObjectEvent, ObjectStatus, Objects as ObjectsData, Problem } from "../api.ts";
import { amend, route, to } from "../router.ts";
import { allowed, context } from "../state.ts";
import { Age, Command, Empty, Loading, ProblemBox, Status, View, useLoad } from "../parts/basic.tsx";
import { Yaml } from "../parts/code.tsx";
import { Icon } from "../parts/icon.tsx";

type Props = { namespace: string; name: string; revision: string | undefined };

export function Objects({ namespace, name, revision }: Props) {
  const [data, setData] = useState<ObjectsData>();
  const [problem, setProblem] = useState<Problem>();
  const [quiet, setQuiet] = useState(false);
  const here = context.value;
  useEffect(() => {
    setData(undefined);
    setProblem(undefined);
    let isOver = false;
    const fail = (error: { problem?: Problem; message: string }) => !isOver && setProblem(error.problem ?? { kind: "other", message: error.message });
    get<ObjectsData>(releasePath(namespace, name, "objects"), { revision }).then((answer) => !isOver && setData(answer), fail);
    const stop = follow(releasePath(namespace, name, "objects/watch"), { revision }, {
      objects: (answer: ObjectsData) => {
        setData(answer);
        setProblem(undefined);
      },
      problem: (answer: { error: Problem }) => setProblem(answer.error),
      recovered: () => setProblem(undefined),
    });
    return () => {
      isOver = true;
      stop();
    };
  }, [here, namespace, name, revision]);
  const key = route.value.query.get("object") ?? undefined;
  const chosen = key && data ? locate(data.objects, key) : undefined;
  if (!data) return problem ? <ProblemBox of={problem} /> : <Loading what="Reading objects…" />;
  if (data.objects.length === 0) {
    return (
      <Empty title="No objects">
        <p>This revision has an empty manifest: nothing in the cluster belongs to it. It may only have hooks, or everything may be switched off by its values.</p>
      </Empty>
    );
  }
  const waiting = data.objects.filter((object) => !object.ready);
  const list = quiet ? waiting : data.objects;
  return (
    <>
      {problem && <ProblemBox of={problem} />}
      <div class="row between wrap">
        <Readiness ready={data.ready} total={data.total} />
        {waiting.length > 0 && waiting.length < data.objects.length && (
          <button type="button" class="button small ghost" aria-pressed={quiet} onClick={() => setQuiet(!quiet)}>
            {quiet ? "Show all" : `Only what is not ready (${waiting.length})`}
          </button>
        )}
      </div>
      <div class={`master${chosen ? " with-detail" : ""}`}>
        <ul class="tree" aria-label="Objects">
          {list.map((object) => (
            <Branch key={object.key} of={object} chosen={key} depth={0} />
          ))}
        </ul>
        {chosen && <Detail of={chosen} namespace={namespace} name={name} />}
      </div>
    </>
  );
}

function locate(all: ObjectStatus[], key: string): ObjectStatus | undefined {
  for (const object of all) {
    const found = object.key === key ? object : locate(object.children ?? [], key);
    if (found) return found;
  }
  return undefined;
}

function Readiness({ ready, total }: { ready: number; total: number }) {
  return (
    <div class="readiness" role="status">
      <progress max={Math.max(total, 1)} value={ready} aria-label="Objects that are ready" />
      <span>
        <b>{ready}</b> of {total} objects are ready
      </span>
    </div>
  );
}

function Branch({ of, chosen, depth }: { of: ObjectStatus; chosen: string | undefined; depth: number }) {
  const children = of.children ?? [];
  const [open, setOpen] = useState(!of.ready || depth === 0);
  const many = children.length > 30;
  const warnings = (of.events ?? []).filter((event) => event.warning).length;
  return (
    <li>
      <div class={`tree-row${of.key === chosen ? " at" : ""}`}>
        {children.length > 0 ? (
          <button type="button" class="twist" aria-expanded={open} aria-label={`Objects below ${of.kind} ${of.name}`} onClick={() => setOpen(!open)}>
            <Icon name={open ? "down" : "right"} />
          </button>
        ) : (
          <span class="twist" />
        )}
        <a href="#" aria-current={of.key === chosen ? "true" : undefined} onClick={(event) => {
            event.preventDefault();
            amend({ object: of.key === chosen ? "" : of.key }, true);
          }}>
          <span class="kind">{of.kind}</span>
          <b class="name">{of.name}</b>
        </a>
        {warnings > 0 && <span class="chip warn">{warnings} {warnings === 1 ? "warning" : "warnings"}</span>}
        <span class="grow" />
        <Status of={of.exists === false ? "missing" : of.ready ? "ready" : of.state} text={of.exists === false ? "missing" : of.ready ? "ready" : (of.state ?? "unknown")} />
      </div>
      {!of.ready && (of.reason || of.message) && <p class="tree-reason">{[of.message, of.reason].filter(Boolean).join(" – ")}</p>}
      {open && children.length > 0 && (
        <ul>
          {(many ? children.slice(0, 30) : children).map((child) => (
            <Branch key={child.key} of={child} chosen={chosen} depth={depth + 1} />
          ))}
          {many && <li class="muted pad">and {children.length - 30} more</li>}
        </ul>
      )}
    </li>
  );
}

function Detail({ of, namespace, name }: { of: ObjectStatus; namespace: string; name: string }) {
  const [reveal, setReveal] = useState(false);
  const live = useLoad(`${context.value} ${of.key} ${reveal} ${of.state}`, (signal) => get<LiveObject>(releasePath(namespace, name, "object"), { key: of.key, reveal }, signal));
  const events = [...(of.events ?? []), ...(of.pods ?? []).flatMap((pod) => (pod.events ?? []).map((event) => ({ ...event, message: `${pod.name}: ${event.message}` })))];
  const hasLogs = ["Pod", "Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet", "CronJob"].includes(of.kind);
  return (
    <aside class="detail" aria-label={`${of.kind} ${of.name}`}>
      <header class="row between">
        <div>
          <span class="kind">{of.kind}</span>
          <h2>{of.name}</h2>
        </div>
        <button type="button" class="icon-button" aria-label="Close the details" onClick={() => amend({ object: "" }, true)}>
          <Icon name="close" />
        </button>
      </header>
      {of.message && <p>{of.message}</p>}
      {of.reason && <p class="note bad pre">{of.reason}</p>}
      <div class="row wrap">
        {hasLogs && (
          <a class="button small" href={to(["releases", namespace, name, "logs"], { key: of.key })}>
            Logs
          </a>
        )}
        <Command text={`kubectl describe ${of.kind.toLowerCase()} ${of.name}${of.namespace ? ` -n ${of.namespace}` : ""}`} />
      </div>
      {(of.pods ?? []).length > 0 && !(of.children ?? []).length && (
        <>
          <h3>Pods</h3>
          <ul class="plain">
            {of.pods!.map((pod) => (
              <li key={pod.name}>
                <b class="break">{pod.name}</b> {pod.reason && <span class="muted">{pod.reason}</span>}
              </li>
            ))}
          </ul>
        </>
      )}
      <h3>Events</h3>
      <Events of={events} />
      <div class="row between">
        <h3>As it is in the cluster</h3>
        {(live.data?.hidden ?? 0) > 0 && (
          <button type="button" class="button small ghost" title={allowed(namespace, "reveal").reason} onClick={() => setReveal(!reveal)}>
            <Icon name="eye" /> Reveal {live.data!.hidden} hidden
          </button>
        )}
      </div>
      <View of={live} what="Reading the object…">
        {(object) => (
          <>
            <Yaml text={object.yaml} label={`${of.kind} ${of.name} in the cluster`} />
            {(object.managers ?? []).length > 0 && (
              <p class="muted small">
                Fields are managed by{" "}
                {object.managers!.map((manager) => (
                  <span key={manager.manager + manager.operation} class="chip">
                    {manager.manager}
                    {manager.fields !== undefined && ` ${manager.fields}`}
                  </span>
                ))}
              </p>
            )}
          </>
        )}
      </View>
    </aside>
  );
}

export function Events({ of }: { of: ObjectEvent[] }) {
  if (of.length === 0) return <p class="muted">None were kept; the API server forgets events after an hour.</p>;
  return (
    <ul class="events">
      {of.slice(0, 60).map((event, i) => (
        <li key={i} class={event.warning ? "warning" : ""}>
          <b>{event.reason}</b>
          {(event.count ?? 1) > 1 && <span class="chip">×{event.count}</span>}
          <span class="muted">
            <Age of={event.lastSeen} />
          </span>
          <p>{event.message}</p>
        </li>
      ))}
    </ul>
  );
}

