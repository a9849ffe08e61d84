// All releases: filtered while typing, live, and only the seen rows in the document.

import { computed, effect, signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Summary } from "../api.ts";
import { matches, terms } from "../list/filter.ts";
import { reveal, visible } from "../list/window.ts";
import * as keys from "../keys.ts";
import { amend, go, route, to } from "../router.ts";
import { askOutdated, context, contexts, outdated, outdatedState, releases, requests, session, watchReleases } from "../state.ts";
import { Age, Command, Empty, Loading, ProblemBox, Status, tone } from "../parts/basic.tsx";
import { Icon } from "../parts/icon.tsx";

type Order = "name" | "updated" | "status" | "chart";

const query = computed(() => route.value.query.get("q") ?? "");
const namespace = computed(() => route.value.query.get("namespace") ?? "");
const group = computed(() => route.value.query.get("status") ?? "");
const order = computed(() => (route.value.query.get("sort") ?? "name") as Order);
const selected = signal(0);

const GROUPS: [string, string, (release: Summary) => boolean][] = [
  ["", "All", () => true],
  ["deployed", "Deployed", (release) => release.status === "deployed"],
  ["failed", "Failed", (release) => release.status === "failed" || release.interrupted === true],
  ["pending", "In progress", (release) => release.status.startsWith("pending") || release.status === "uninstalling"],
  ["outdated", "Update available", (release) => isOutdated(release)],
];

function isOutdated(release: Summary): boolean {
  return outdated.value.get(`${release.namespace}/${release.name}`)?.outdated === true;
}

function texts(release: Summary) {
  const chart = `${release.chart ?? ""} ${release.chartVersion ?? ""}`;
  const all = [release.name, release.namespace, chart, release.appVersion, release.status, release.description, release.store].join("\n").toLowerCase();
  return { "": all, name: release.name, ns: release.namespace, namespace: release.namespace, chart: chart.toLowerCase(), app: (release.appVersion ?? "").toLowerCase(), status: release.status, store: release.store ?? "" };
}

/** Made once for each release, because typing compares all of them again. */
const indexed = computed(() => releases.value.all.map((release) => ({ release, texts: texts(release) })));

const filtered = computed(() => {
  const wanted = terms(query.value);
  return indexed.value
    .filter((each) => (namespace.value === "" || each.release.namespace === namespace.value) && matches(each.texts, wanted))
    .map((each) => each.release);
});

const COMPARE: { [order in Order]: (a: Summary, b: Summary) => number } = {
  name: () => 0,
  updated: (a, b) => (b.updated ?? "").localeCompare(a.updated ?? ""),
  status: (a, b) => rank(a) - rank(b),
  chart: (a, b) => (a.chart ?? "").localeCompare(b.chart ?? "") || (a.chartVersion ?? "").localeCompare(b.chartVersion ?? ""),
};

function rank(release: Summary): number {
  return ["bad", "busy", "off", "good"].indexOf(tone(release.status));
}

const shown = computed(() => {
  const test = GROUPS.find(([id]) => id === group.value)?.[2] ?? (() => true);
  const all = filtered.value.filter(test);
  return order.value === "name" ? all : [...all].sort(COMPARE[order.value]);
});

const namespaces = computed(() => [...new Set(releases.value.all.map((release) => release.namespace))].sort());

effect(() => {
  if (selected.value >= shown.value.length) selected.value = Math.max(0, shown.value.length - 1);
});

const open = (release: Summary | undefined, below?: string) => release && go(to(["releases", release.namespace, release.name, ...(below ? [below] : [])]));

export function Releases() {
  const input = useRef<HTMLInputElement>(null);
  const current = context.value ?? "";
  useEffect(() => watchReleases(current), [current]);
  useLayoutEffect(() => {
    const step = (by: number) => (selected.value = Math.max(0, Math.min(shown.peek().length - 1, selected.peek() + by)));
    const chosen = () => shown.peek()[selected.peek()];
    keys.local.value = [
      { keys: "/", what: "Filter", run: () => input.current?.focus() },
      { keys: "j", what: "Next release", run: () => step(1) },
      { keys: "k", what: "Previous release", run: () => step(-1) },
      { keys: "ArrowDown", what: "Next release", run: () => step(1) },
      { keys: "ArrowUp", what: "Previous release", run: () => step(-1) },
      { keys: "Enter", what: "Open the release", run: () => open(chosen()) },
      { keys: "e", what: "Change its values", run: () => open(chosen(), "change") },
      { keys: "d", what: "Compare its revisions", run: () => open(chosen(), "compare") },
      { keys: "u", what: "Look for updates", run: () => void askOutdated() },
    ];
    return () => (keys.local.value = []);
  }, []);
  const state = releases.value;
  return (
    <>
      <header class="page-head">
        <div class="row between wrap">
          <h1>
            Releases <span class="count" aria-live="polite">{state.synced ? shown.value.length : ""}</span>
          </h1>
          <div class="row wrap">
            <button type="button" class="button ghost" onClick={() => void askOutdated()} disabled={outdatedState.value === "asking"}>
              <Icon name="up" /> {outdatedState.value === "asking" ? "Reading repositories…" : "Look for updates"}
            </button>
            {session.value?.write && (
              <a class="button primary" href={to(["install"])}>
                <Icon name="plus" /> Install
              </a>
            )}
          </div>
        </div>
        <div class="row wrap filters">
          <label class="search grow">
            <Icon name="search" />
            <span class="hidden">Filter releases</span>
            <input
              ref={input}
              type="search"
              placeholder="Filter: name, chart, ns:shop, status:failed, -app:2.0"
              value={query.value}
              onInput={(event) => amend({ q: event.currentTarget.value })}
              onKeyDown={(event) => {
                if (event.key === "Escape" || event.key === "ArrowDown") event.currentTarget.blur();
                if (event.key === "Enter") open(shown.peek()[selected.peek()]);
              }}
            />
            <kbd aria-hidden="true">/</kbd>
          </label>
          <label>
            <span class="hidden">Namespace</span>
            <select value={namespace.value} onChange={(event) => amend({ namespace: event.currentTarget.value }, true)}>
              <option value="">All namespaces</option>
              {namespaces.value.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <label>
            <span class="hidden">Order</span>
            <select value={order.value} onChange={(event) => amend({ sort: event.currentTarget.value === "name" ? "" : event.currentTarget.value }, true)}>
              <option value="name">By name</option>
              <option value="updated">By last change</option>
              <option value="status">By status</option>
              <option value="chart">By chart</option>
            </select>
          </label>
        </div>
        <div class="facets" role="group" aria-label="Status">
          {GROUPS.map(([id, text, test]) => {
            const count = filtered.value.filter(test).length;
            if (id === "outdated" && outdatedState.value !== "known") return null;
            return (
              <button key={id} type="button" aria-pressed={group.value === id} onClick={() => amend({ status: id }, true)}>
                {text} <span class="count">{count}</span>
              </button>
            );
          })}
        </div>
      </header>
      {state.problem && <ProblemBox of={state.problem} />}
      {!state.synced && state.all.length === 0 && !state.problem && <Loading what="Reading releases…" />}
      {shown.value.length > 0 && <Table all={shown.value} />}
      {state.synced && shown.value.length === 0 && <Nothing />}
    </>
  );
}

function Nothing() {
  if (releases.value.all.length > 0) {
    return (
      <Empty title="No release is like that">
        <p>
          {releases.value.all.length} releases are there. Words have to be found in name, namespace, chart, version or status; <code>ns:shop</code> looks at one column, and <code>-word</code> leaves out.
        </p>
        <p>
          <button type="button" class="button" onClick={() => amend({ q: "", namespace: "", status: "" })}>
            Show all
          </button>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No releases yet">
      <p>A release is a chart that was installed in this cluster, with its values and its history. Releases of Helm, Flux and the controller are all shown here as soon as they are there.</p>
      <Command text={`pintle install my-release oci://registry.example/charts/app${context.value ? ` --kube-context ${context.value}` : ""}`} />
      <p>
        <a class="button" href={to(["charts"])}>
          Find a chart
        </a>
      </p>
      {contexts.value && contexts.value.contexts.length > 1 && <p class="muted">Or look at another cluster, at the top of the page.</p>}
    </Empty>
  );
}

const narrow = matchMedia("(max-width: 719px)");

function Table({ all }: { all: Summary[] }) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [isNarrow, setNarrow] = useState(narrow.matches);
  const [place, setPlace] = useState({ top: 0, height: innerHeight });
  const row = isNarrow ? 76 : 52;
  useEffect(() => {
    const change = () => setNarrow(narrow.matches);
    narrow.addEventListener("change", change);
    return () => narrow.removeEventListener("change", change);
  }, []);
  useLayoutEffect(() => {
    let frame = 0;
    const measure = () => {
      frame = 0;
      if (body.current) setPlace({ top: Math.max(0, -body.current.getBoundingClientRect().top), height: innerHeight });
    };
    const later = () => (frame ||= requestAnimationFrame(measure));
    measure();
    addEventListener("scroll", later, { passive: true });
    addEventListener("resize", later);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener("scroll", later);
      removeEventListener("resize", later);
    };
  }, []);
  const at = selected.value;
  const moved = useRef(at);
  useEffect(() => {
    if (moved.current === at || !body.current) return;
    moved.current = at;
    const top = -body.current.getBoundingClientRect().top + 8;
    const target = reveal(at, row, top, innerHeight - 24);
    if (target !== undefined) scrollBy({ top: target - top });
  }, [at, row]);
  const seen = visible(all.length, row, place.top, place.height);
  const hasRequests = (requests.value?.length ?? 0) > 0;
  return (
    <table class="list releases" aria-rowcount={all.length + 1}>
      <thead>
        <tr>
          <th scope="col">Release</th>
          <th scope="col">Status</th>
          <th scope="col">Chart</th>
          <th scope="col" class="wide">
            App
          </th>
          <th scope="col" class="wide number">
            Revision
          </th>
          <th scope="col">Changed</th>
          <th scope="col" class="wide">
            Kept as
          </th>
        </tr>
      </thead>
      <tbody ref={body}>
        {seen.before > 0 && (
          <tr aria-hidden="true">
            <td colSpan={7} class="gap" style={{ height: seen.before }} />
          </tr>
        )}
        {all.slice(seen.first, seen.last).map((release, i) => (
          <Row key={`${release.namespace}/${release.name}`} of={release} index={seen.first + i} isAt={seen.first + i === at} hasRequests={hasRequests} />
        ))}
        {seen.after > 0 && (
          <tr aria-hidden="true">
            <td colSpan={7} class="gap" style={{ height: seen.after }} />
          </tr>
        )}
      </tbody>
    </table>
  );
}

function Row({ of, index, isAt, hasRequests }: { of: Summary; index: number; isAt: boolean; hasRequests: boolean }) {
  const newer = outdated.value.get(`${of.namespace}/${of.name}`);
  const request = hasRequests ? requests.value?.find((each) => each.release.namespace === of.namespace && each.release.name === of.name) : undefined;
  return (
    <tr class={isAt ? "at" : ""} aria-rowindex={index + 2} onClick={(event) => !(event.target as Element).closest("a") && open(of)}>
      <th scope="row">
        <a href={to(["releases", of.namespace, of.name])} onFocus={() => (selected.value = index)}>
          {of.name}
        </a>
        <small>{of.namespace}</small>
      </th>
      <td class="c-status">
        <Status of={of.status} {...(of.interrupted ? { text: "interrupted" } : {})} />
        {of.lease && !of.lease.expired && (
          <small class="inline-icon" title={`held by ${of.lease.holder}`}>
            <Icon name="lock" /> {of.lease.holder}
          </small>
        )}
        {request?.awaitsApproval && <small>awaits approval</small>}
      </td>
      <td class="c-chart">
        <span>
          {of.chart ?? "–"} <span class="version">{of.chartVersion}</span>
        </span>
        {newer?.outdated && (
          <a class="chip good" href={to(["releases", of.namespace, of.name, "change"], { version: newer.newest })}>
            <Icon name="up" /> {newer.newest}
          </a>
        )}
      </td>
      <td class="wide">{of.appVersion || "–"}</td>
      <td class="wide number">{of.revision}</td>
      <td class="c-age">
        <Age of={of.updated} />
      </td>
      <td class="wide muted">{of.store ?? "–"}</td>
    </tr>
  );
}
