// Installing a chart as a new release.

import { useState } from "preact/hooks";
import { get } from "../api.ts";
import type { Chart, ChartChoice, PlanBody } from "../api.ts";
import { route } from "../router.ts";
import { context, contexts, session } from "../state.ts";
import { Check, Empty, View, useLoad } from "../parts/basic.tsx";
import { Bar, Bench } from "./change.tsx";
import { ChartForm, PlanView, usePlan } from "./plan.tsx";

export function chartQuery(chart: ChartChoice): { [name: string]: string | undefined } {
  if ("path" in chart) return { path: chart.path };
  if ("reference" in chart) return { reference: chart.reference, version: chart.version, repository: chart.repository };
  return {};
}

export function Install() {
  const query = route.value.query;
  const reference = query.get("chart");
  const [chart, setChart] = useState<ChartChoice | undefined>(reference ? (reference.startsWith("/") ? { path: reference } : { reference, version: query.get("version") ?? "" }) : undefined);
  return (
    <>
      <header class="page-head">
        <h1>Install a chart</h1>
        <ChartForm key={reference ?? ""} local={session.value?.localCharts ?? false} initial={{ reference: reference ?? "", version: query.get("version") ?? "" }} onChoose={setChart} />
      </header>
      {chart ? (
        <Loaded key={JSON.stringify(chart)} chart={chart} />
      ) : (
        <Empty title="Which chart?">
          <p>
            Name a chart of a repository (<code>bitnami/nginx</code>), of a registry (<code>oci://registry.example/charts/app</code>), an archive (<code>https://…/app-1.0.0.tgz</code>)
            {session.value?.localCharts ? " or a folder on this machine" : ""}. Its values, and the plan of what it would create, are shown before anything is done.
          </p>
        </Empty>
      )}
    </>
  );
}

function Loaded({ chart }: { chart: ChartChoice }) {
  const load = useLoad(`${context.value} ${JSON.stringify(chart)}`, (signal) => get<Chart>("chart", chartQuery(chart), signal));
  return (
    <View of={load} what="Reading the chart…">
      {(data) => <Workbench chart={chart} data={data} />}
    </View>
  );
}

function Workbench({ chart, data }: { chart: ChartChoice; data: Chart }) {
  const home = contexts.value?.contexts.find((each) => each.name === (context.value ?? contexts.value?.current))?.namespace || "default";
  const [name, setName] = useState(data.name);
  const [namespace, setNamespace] = useState(home);
  const [createNamespace, setCreate] = useState(false);
  const [text, setText] = useState("");
  const [options, setOptions] = useState({ wait: true, atomic: false, forceConflicts: false });
  const isNamed = name.trim() !== "" && namespace.trim() !== "";
  const body: PlanBody = { operation: "install", namespace: namespace.trim(), name: name.trim(), chart, values: text, createNamespace, ...options };
  const planning = usePlan(isNamed ? body : undefined, 300);
  return (
    <>
      <p class="muted">
        <b>{data.name}</b> {data.version} – {data.description}
      </p>
      <div class="row wrap filters">
        <label>
          Name of the release
          <input type="text" required value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label>
          Namespace
          <input type="text" required value={namespace} onInput={(event) => setNamespace(event.currentTarget.value)} />
        </label>
        <Check label="Create the namespace" checked={createNamespace} onChange={setCreate} />
      </div>
      <Bench
        text={text}
        setText={setText}
        schema={{ schema: data.schema ?? null, defaults: data.values ?? "" }}
        plan={<PlanView of={planning.plan} planning={planning} />}
        isInvalid={planning.error?.problem.kind === "invalid-input"}
      />
      <Bar planning={planning} body={body} options={options} setOptions={setOptions} action="install" label="Install" />
    </>
  );
}
