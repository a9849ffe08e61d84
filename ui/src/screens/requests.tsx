// What the controller was asked for, and plans that wait for somebody's approval.

import { useEffect, useState } from "preact/hooks";
import { get, send } from "../api.ts";
import type { HelmRequest } from "../api.ts";
import { to } from "../router.ts";
import { allowed, context, loadRequests, say } from "../state.ts";
import { Act, Age, Command, Empty, Facts, Notice, Status, View, show, stringProblem, useLoad } from "../parts/basic.tsx";
import { Yaml } from "../parts/code.tsx";
import { Icon } from "../parts/icon.tsx";

const state = (request: HelmRequest): [string, string] =>
  request.awaitsApproval ? ["progressing", "awaits approval"] : request.suspended ? ["off", "suspended"] : request.ready ? ["ready", "ready"] : request.ready === false ? ["failed", request.reason ?? "not ready"] : ["progressing", request.reason ?? "in progress"];

export function Requests() {
  const load = useLoad(`${context.value} requests`, () => loadRequests());
  return (
    <>
      <header class="page-head">
        <h1>Requests</h1>
      </header>
      <View of={load} what="Reading requests…">
        {({ installed, requests }) =>
          !installed ? (
            <Empty title="The controller is not in this cluster">
              <p>With it, a release can be asked for as an object (HelmRequest), kept as asked, and approved by somebody before it is changed.</p>
              <Command text="pintle install pintle-controller deploy/chart --namespace pintle-system --create-namespace" />
            </Empty>
          ) : requests.length === 0 ? (
            <Empty title="Nothing is asked for">
              <p>A HelmRequest names a chart, its version and values; the controller makes the cluster so and reports here.</p>
            </Empty>
          ) : (
            <ul class="cards">
              {[...requests].sort((a, b) => Number(b.awaitsApproval ?? false) - Number(a.awaitsApproval ?? false)).map((request) => {
                const [kind, text] = state(request);
                return (
                  <li key={`${request.namespace}/${request.name}`} class="card link-card">
                    <p class="row wrap">
                      <Status of={kind} text={text} />
                      <a class="cover" href={to(["requests", request.namespace, request.name])}>
                        <b>{request.name}</b>
                      </a>
                      <span class="muted">{request.namespace}</span>
                      <span class="grow" />
                      <span>
                        {request.chart} <span class="version">{request.version}</span>
                      </span>
                    </p>
                    {request.message && <p class="muted">{request.message}</p>}
                    {request.awaitsApproval && request.plan?.summary && <p>{request.plan.summary}</p>}
                  </li>
                );
              })}
            </ul>
          )
        }
      </View>
    </>
  );
}

export function Request({ namespace, name }: { namespace: string; name: string }) {
  const path = `requests/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  const load = useLoad(`${context.value} ${path}`, (signal) => get<HelmRequest>(path, {}, signal));
  return (
    <>
      <header class="page-head">
        <nav class="crumbs" aria-label="Where you are">
          <a href={to(["requests"])}>Requests</a>
          <span aria-hidden="true">/</span>
          <span>{name}</span>
        </nav>
        <h1>
          {name} {load.data && <Status of={state(load.data)[0]} text={state(load.data)[1]} />}
        </h1>
      </header>
      <View of={load} what="Reading the request…">
        {(request) => <Shown of={request} path={path} again={load.again} />}
      </View>
    </>
  );
}

function Shown({ of, path, again }: { of: HelmRequest; path: string; again: () => void }) {
  const [busy, setBusy] = useState(false);
  const [command, setCommand] = useState<string>();
  const right = allowed(of.namespace, "approve");
  useEffect(() => setBusy(false), [of]);
  const approve = async () => {
    setBusy(true);
    try {
      const answer = await send<HelmRequest & { command?: string }>("POST", `${path}/approve`, { plan: of.plan!.digest });
      setCommand(answer.command);
      say("Approved; the controller goes on", "good");
    } catch (error) {
      say(stringProblem(error), "bad");
    }
    setBusy(false);
    again();
  };
  return (
    <>
      <Facts
        of={[
          ["Release", <a href={to(["releases", of.release.namespace, of.release.name])}>{of.release.namespace}/{of.release.name}</a>],
          ["Chart", <>{of.chart} {of.version}</>],
          ["Revision", String(of.revision ?? "–")],
        ]}
      />
      {of.message && <p>{of.message}</p>}
      {of.awaitsApproval && of.plan && (
        <section class="approval" aria-labelledby="approval">
          <h2 id="approval">A plan waits for approval</h2>
          <p class="pre">{of.plan.summary}</p>
          {(of.plan.objects ?? []).length > 0 && (
            <ul class="plain">
              {of.plan.objects!.slice(0, 200).map((object, i) => (
                <li key={i} class="mono break">
                  {typeof object === "string" ? object : show(object)}
                </li>
              ))}
            </ul>
          )}
          <p class="muted mono break">{of.plan.digest}</p>
          <Act allowed={busy ? { allowed: false, reason: "Approving…" } : right} kind="primary" onClick={() => void approve()}>
            <Icon name="check" /> Approve exactly this plan
          </Act>
          {!right.allowed && <p class="muted small">{right.reason}</p>}
        </section>
      )}
      {command && <Command label="The same on the command line" text={command} />}
      {(of.conditions ?? []).length > 0 && (
        <section aria-labelledby="conditions">
          <h2 id="conditions">Conditions</h2>
          <ul class="events">
            {of.conditions!.map((condition) => (
              <li key={condition.type} class={condition.status === "False" && condition.type === "Ready" ? "warning" : ""}>
                <b>{condition.type}</b> <span class="chip">{condition.status}</span> <span class="muted">{condition.reason}</span>{" "}
                <span class="muted">
                  <Age of={condition.since} />
                </span>
                <p>{condition.message}</p>
              </li>
            ))}
          </ul>
        </section>
      )}
      {!of.awaitsApproval && of.ready && <Notice tone="good">The cluster is as asked for.</Notice>}
      {of.yaml && (
        <section aria-labelledby="yaml">
          <h2 id="yaml">As it was asked for</h2>
          <Yaml text={of.yaml} label="HelmRequest" />
        </section>
      )}
    </>
  );
}

