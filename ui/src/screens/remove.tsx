// Rolling back and uninstalling: what goes and what comes back is shown before.

import { useState } from "preact/hooks";
import { get, releasePath } from "../api.ts";
import type { PlanBody, Release, Revision } from "../api.ts";
import { amend, route } from "../router.ts";
import { context } from "../state.ts";
import { Check, Empty, View, useLoad } from "../parts/basic.tsx";
import { Bar } from "./change.tsx";
import { PlanView, PrintButton, usePlan } from "./plan.tsx";

export function Rollback({ namespace, name, release }: { namespace: string; name: string; release: Release | undefined }) {
  const load = useLoad(`${context.value} ${namespace}/${name} revisions`, (signal) => get<{ revisions: Revision[] }>(releasePath(namespace, name, "revisions"), {}, signal));
  return (
    <View of={load} what="Reading revisions…">
      {({ revisions }) =>
        revisions.length < 2 ? (
          <Empty title="There is nothing to go back to">
            <p>The release has one revision. Each change adds one, and any of them can be brought back.</p>
          </Empty>
        ) : (
          <RollbackPlan namespace={namespace} name={name} revisions={revisions} current={release?.revision ?? revisions[0]!.revision} />
        )
      }
    </View>
  );
}

function RollbackPlan({ namespace, name, revisions, current }: { namespace: string; name: string; revisions: Revision[]; current: number }) {
  const older = revisions.filter((revision) => revision.revision !== current);
  const target = Number(route.value.query.get("to") ?? older[0]!.revision);
  const body: PlanBody = { operation: "rollback", namespace, name, revision: target, wait: true };
  const planning = usePlan(body);
  return (
    <>
      <div class="row between wrap">
        <h2>Roll back</h2>
        <PrintButton />
      </div>
      <label class="inline">
        Back to
        <select value={String(target)} onChange={(event) => amend({ to: event.currentTarget.value }, true)}>
          {older.map((revision) => (
            <option key={revision.revision} value={String(revision.revision)}>
              revision {revision.revision} – {revision.chart} {revision.chartVersion} – {revision.status}
            </option>
          ))}
        </select>
      </label>
      <PlanView of={planning.plan} planning={planning} />
      <Bar planning={planning} body={body} action="rollback" label={`Roll back to ${target}`} />
    </>
  );
}

export function Uninstall({ namespace, name }: { namespace: string; name: string }) {
  const [keepHistory, setKeep] = useState(false);
  const [typed, setTyped] = useState("");
  const body: PlanBody = { operation: "uninstall", namespace, name, keepHistory, wait: true };
  const planning = usePlan(body);
  const isSure = typed === name;
  return (
    <>
      <div class="row between wrap">
        <h2>Uninstall</h2>
        <PrintButton />
      </div>
      <p>These objects go, and the history of the release with them. Objects that are kept are marked.</p>
      <PlanView of={planning.plan} planning={planning} />
      <div class="row wrap">
        <Check label="Keep the history" hint="The release can then be rolled back." checked={keepHistory} onChange={setKeep} />
        <label>
          Type <b>{name}</b> to confirm
          <input type="text" autocomplete="off" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
      </div>
      <Bar planning={isSure ? planning : { ...planning, plan: undefined }} body={body} action="uninstall" label="Uninstall" danger />
    </>
  );
}
