// One release: what it is, and a tab for each thing that can be asked about it.

import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { address, get, releasePath, send } from "../api.ts";
import type { Hook, Image, Operation, Release as ReleaseData, Revision } from "../api.ts";
import * as keys from "../keys.ts";
import { go, route, to } from "../router.ts";
import { allowed, asError, context, releases, say, watchReleases } from "../state.ts";
import { Act, Age, Command, Empty, Facts, LeaseLine, Notice, Status, Tabs, View, useLoad } from "../parts/basic.tsx";
import { Yaml } from "../parts/code.tsx";
import { Part } from "../parts/diff.tsx";
import { Icon } from "../parts/icon.tsx";
import { Change } from "./change.tsx";
import { Compare } from "./compare.tsx";
import { Logs } from "./logs.tsx";
import { Manifest } from "./manifest.tsx";
import { Objects } from "./objects.tsx";
import { Rollback, Uninstall } from "./remove.tsx";
import { Values } from "./values.tsx";

const TABS: [string, string][] = [
  ["objects", "Objects"],
  ["revisions", "Revisions"],
  ["values", "Values"],
  ["manifest", "Manifest"],
  ["compare", "Compare"],
  ["hooks", "Hooks and tests"],
  ["logs", "Logs"],
  ["images", "Images"],
  ["notes", "Notes"],
];

export function Release({ namespace, name, tab }: { namespace: string; name: string; tab: string }) {
  const here = context.value ?? "";
  useEffect(() => watchReleases(here), [here]);
  // A change that the watch reports is a reason to read the release again.
  const live = releases.value.all.find((release) => release.namespace === namespace && release.name === name);
  const revision = route.value.query.get("revision") ?? undefined;
  const release = useLoad(`${here} ${namespace}/${name} ${revision} ${live?.revision} ${live?.status}`, (signal) => get<ReleaseData>(releasePath(namespace, name), { revision }, signal));
  const [last, setLast] = useState<ReleaseData>();
  useEffect(() => {
    if (release.data) setLast(release.data);
  }, [release.data]);
  const data = release.data ?? (last?.name === name && last.namespace === namespace ? last : undefined);
  const path = (below: string) => to(["releases", namespace, name, ...(below === "objects" ? [] : [below])], below === tab ? {} : { revision });
  useLayoutEffect(() => {
    keys.local.value = [
      ...TABS.map(([id, text], i) => ({ keys: String(i + 1), what: text, run: () => go(path(id)) })),
      { keys: "e", what: "Change values", run: () => go(path("change")) },
      { keys: "d", what: "Compare", run: () => go(path("compare")) },
      { keys: "r", what: "Roll back", run: () => go(path("rollback")) },
    ];
    return () => (keys.local.value = []);
  }, [namespace, name, revision]);
  if (release.error && !data) {
    return (
      <>
        <Crumbs namespace={namespace} name={name} />
        <h1>{name}</h1>
        <View of={release} what="">
          {() => null}
        </View>
      </>
    );
  }
  return (
    <>
      <Head namespace={namespace} name={name} data={data} path={path} store={live?.store ?? ""} />
      <Tabs label="Parts of the release" current={tab} items={TABS.map(([id, text]) => ({ id, text, href: path(id) }))} />
      <div class="tab-body">
        <Tab namespace={namespace} name={name} tab={tab} data={data} revision={revision} />
      </div>
    </>
  );
}

export function Crumbs({ namespace, name }: { namespace: string; name: string }) {
  return (
    <nav class="crumbs" aria-label="Where you are">
      <a href={to([])}>Releases</a>
      <span aria-hidden="true">/</span>
      <a href={to([], { namespace })}>{namespace}</a>
      <span aria-hidden="true">/</span>
      <span>{name}</span>
    </nav>
  );
}

function Head({ namespace, name, data, path, store }: { namespace: string; name: string; data: ReleaseData | undefined; path: (below: string) => string; store: string }) {
  const can = (action: string) => allowed(namespace, action);
  return (
    <header class="page-head">
      <Crumbs namespace={namespace} name={name} />
      <div class="row between wrap">
        <h1>
          {name} {data && <Status of={data.status} {...(data.interrupted ? { text: "interrupted" } : {})} />}
        </h1>
        <div class="row wrap actions">
          <Act allowed={{ allowed: true }} kind="primary" onClick={() => go(path("change"))}>
            <Icon name="edit" /> Change values
          </Act>
          <Act allowed={can("rollback")} onClick={() => go(path("rollback"))}>
            <Icon name="undo" /> Roll back
          </Act>
          <Act allowed={can("uninstall")} kind="danger" onClick={() => go(path("uninstall"))}>
            <Icon name="trash" /> Uninstall
          </Act>
        </div>
      </div>
      {data && <About of={{ ...data, store: data.store || store }} />}
    </header>
  );
}

function About({ of }: { of: ReleaseData }) {
  const facts: [string, preact.ComponentChildren][] = [
    ["Chart", <><b>{of.chart}</b> {of.chartVersion}</>],
    ["App", of.appVersion || "–"],
    ["Revision", <a href={to(["releases", of.namespace, of.name, "revisions"])}>{of.revision}</a>],
    ["Changed", <Age of={of.updated} />],
    ["Kept as", of.store || "–"],
  ];
  if (of.source?.url) facts.push(["Source", <span class="break">{of.source.url}</span>]);
  if (of.source?.digest) facts.push(["Digest", <code title={of.source.digest}>{of.source.digest.slice(0, 19)}…</code>]);
  if (of.rollbackOf) facts.push(["Rolled back to", String(of.rollbackOf)]);
  if (of.request) facts.push(["Request", <a href={to(["requests", of.request.namespace, of.request.name])}>{of.request.name}</a>]);
  if (of.changelog && /^https?:/.test(of.changelog)) facts.push(["Changes", <a href={of.changelog} target="_blank" rel="noopener noreferrer">changelog</a>]);
  return (
    <>
      <Facts of={facts} />
      <details class="section commands">
        <summary>
          <b>Commands</b> <small>that show the same in a terminal, and the release as JSON</small>
        </summary>
        {Object.entries(of.commands ?? {}).map(([name, text]) => (
          <Command key={name} text={text} />
        ))}
        <a class="button small" href={address(releasePath(of.namespace, of.name))} download={`${of.name}.json`}>
          Download as JSON
        </a>
      </details>
      {of.description && of.status !== "deployed" && (
        <Notice tone={of.status === "failed" ? "bad" : "plain"}>
          <p class="pre">{of.description}</p>
        </Notice>
      )}
      {of.lease && !of.lease.expired && (
        <Notice tone="warn">
          <p>The release is being changed.</p>
          <LeaseLine of={of.lease} />
        </Notice>
      )}
    </>
  );
}

function Tab({ namespace, name, tab, data, revision }: { namespace: string; name: string; tab: string; data: ReleaseData | undefined; revision: string | undefined }) {
  const props = { namespace, name, revision };
  switch (tab) {
    case "objects":
      return <Objects {...props} />;
    case "revisions":
      return <Revisions {...props} current={data?.revision} />;
    case "values":
      return <Values {...props} />;
    case "manifest":
      return <Manifest {...props} />;
    case "compare":
      return <Compare namespace={namespace} name={name} />;
    case "hooks":
      return <Hooks {...props} />;
    case "logs":
      return <Logs {...props} />;
    case "images":
      return <Images {...props} />;
    case "notes":
      return <Notes {...props} />;
    case "change":
      return <Change namespace={namespace} name={name} release={data} />;
    case "rollback":
      return <Rollback namespace={namespace} name={name} release={data} />;
    case "uninstall":
      return <Uninstall namespace={namespace} name={name} />;
    default:
      return <Empty title="There is no such part">A release has the parts above.</Empty>;
  }
}

type Props = { namespace: string; name: string; revision: string | undefined };

function Revisions({ namespace, name, current }: Props & { current: number | undefined }) {
  const load = useLoad(`${context.value} ${namespace}/${name} revisions ${current}`, (signal) => get<{ revisions: Revision[] }>(releasePath(namespace, name, "revisions"), {}, signal));
  const at = (below: string[], query = {}) => to(["releases", namespace, name, ...below], query);
  return (
    <View of={load} what="Reading revisions…">
      {({ revisions }) => (
        <ol class="revisions">
          {revisions.map((revision, i) => (
            <li key={revision.revision}>
              <span class="revision-number">{revision.revision}</span>
              <div class="grow">
                <div class="row wrap">
                  <Status of={revision.status} />
                  <b>
                    {revision.chart} <span class="version">{revision.chartVersion}</span>
                  </b>
                  {revision.rollbackOf && <span class="chip">rollback to {revision.rollbackOf}</span>}
                </div>
                <p class="muted">
                  <Age of={revision.updated} /> ago{revision.who && ` by ${revision.who}`}
                  {revision.description && ` · ${revision.description}`}
                </p>
                {revision.problem && <p class="note bad pre">{revision.problem}</p>}
                {revision.source?.url && (
                  <p class="muted small break">
                    {revision.source.url} {revision.source.digest && <code>{revision.source.digest.slice(0, 19)}…</code>}
                  </p>
                )}
              </div>
              <div class="row wrap actions">
                {i + 1 < revisions.length && (
                  <a class="button small ghost" href={at(["compare"], { from: revisions[i + 1]!.revision, to: revision.revision })}>
                    What changed<span class="hidden"> in revision {revision.revision}</span>
                  </a>
                )}
                <a class="button small ghost" href={at(["manifest"], { revision: revision.revision })}>
                  Manifest<span class="hidden"> of revision {revision.revision}</span>
                </a>
                {i > 0 && (
                  <a class="button small ghost" href={at(["rollback"], { to: revision.revision })}>
                    Roll back<span class="hidden"> to revision {revision.revision}</span>
                  </a>
                )}
              </div>
            </li>
          ))}
        </ol>
      )}
    </View>
  );
}

export async function operate(body: unknown): Promise<Operation | undefined> {
  try {
    const operation = await send<Operation>("POST", "operations", body);
    go(to(["operations", operation.id]));
    return operation;
  } catch (error) {
    const { problem } = asError(error);
    say([problem.message, problem.hint].filter(Boolean).join(" – "), "bad");
    return undefined;
  }
}

function Hooks({ namespace, name, revision }: Props) {
  const load = useLoad(`${context.value} ${namespace}/${name} hooks ${revision}`, (signal) => get<{ hooks: Hook[] }>(releasePath(namespace, name, "hooks"), { revision }, signal));
  return (
    <View of={load} what="Reading hooks…">
      {({ hooks }) => {
        const tests = hooks.filter((hook) => hook.isTest);
        const others = hooks.filter((hook) => !hook.isTest);
        if (hooks.length === 0) {
          return (
            <Empty title="No hooks and no tests">
              <p>
                A chart can run Jobs and Pods before and after a change (<code>helm.sh/hook: pre-upgrade</code>) and on demand (<code>helm.sh/hook: test</code>). This one has none.
              </p>
            </Empty>
          );
        }
        return (
          <>
            {tests.length > 0 && (
              <section aria-labelledby="tests">
                <div class="row between wrap">
                  <h2 id="tests">Tests</h2>
                  <Act allowed={allowed(namespace, "test")} kind="primary" onClick={() => void operate({ operation: "test", namespace, name })}>
                    <Icon name="play" /> Run the tests
                  </Act>
                </div>
                <HookList of={tests} namespace={namespace} name={name} />
              </section>
            )}
            {others.length > 0 && (
              <section aria-labelledby="hooks">
                <h2 id="hooks">Hooks</h2>
                <HookList of={others} namespace={namespace} name={name} />
              </section>
            )}
          </>
        );
      }}
    </View>
  );
}

function HookList({ of, namespace, name }: { of: Hook[]; namespace: string; name: string }) {
  return (
    <>
      {of.map((hook) => (
        <Part
          key={`${hook.kind}/${hook.name}`}
          open={false}
          summary={
            <>
              <span class="kind">{hook.kind}</span> <b class="name">{hook.name}</b>
              {hook.events.map((event) => (
                <span key={event} class="chip">
                  {event}
                </span>
              ))}
              {hook.weight ? <span class="muted">weight {hook.weight}</span> : null}
              <span class="grow" />
              {hook.completed && (
                <span class="muted">
                  <Age of={hook.completed} /> ago
                </span>
              )}
              <Status of={hook.phase || "unknown"} text={hook.phase || "not run"} />
            </>
          }
        >
          {() => (
            <>
              <p class="row wrap pad">
                <a class="button small" href={to(["releases", namespace, name, "logs"], { hook: hook.name })}>
                  Logs
                </a>
                {(hook.deletePolicies ?? []).length > 0 && <span class="muted">deleted: {hook.deletePolicies!.join(", ")}</span>}
                {hook.path && <span class="muted mono">{hook.path}</span>}
              </p>
              {hook.manifest && <Yaml text={hook.manifest} label={`Manifest of ${hook.name}`} />}
            </>
          )}
        </Part>
      ))}
    </>
  );
}

function Images({ namespace, name, revision }: Props) {
  const load = useLoad(`${context.value} ${namespace}/${name} images ${revision}`, (signal) => get<{ images: Image[] }>(releasePath(namespace, name, "images"), { revision }, signal));
  return (
    <View of={load} what="Reading images…">
      {({ images }) =>
        images.length === 0 ? (
          <Empty title="No images">No object of this release runs a container.</Empty>
        ) : (
          <ul class="cards">
            {images.map((image) => (
              <li key={image.full ?? image.image} class="card">
                <p class="row wrap">
                  <b class="mono break">{image.image}</b>
                  {image.registry && <span class="chip">{image.registry}</span>}
                </p>
                {image.digest ? <p class="muted mono break">{image.digest}</p> : <p class="muted">The reference has no digest: its tag can move.</p>}
                {(image.running ?? []).map((digest) => (
                  <p key={digest} class="muted small break">
                    runs <code>{digest}</code>
                  </p>
                ))}
                {image.problem && <p class="note warn pre">{image.problem}</p>}
                <ul class="plain">
                  {(image.uses ?? []).map((use) => (
                    <li key={use.key + use.field}>
                      <span class="mono small break">
                        {use.key} {use.field}
                      </span>
                      {(use.values ?? []).map((value) => (
                        <a key={value} class="chip" href={to(["releases", namespace, name, "values"], { value })}>
                          {value}
                        </a>
                      ))}
                    </li>
                  ))}
                </ul>
              </li>
            ))}
          </ul>
        )
      }
    </View>
  );
}

function Notes({ namespace, name, revision }: Props) {
  const load = useLoad(`${context.value} ${namespace}/${name} notes ${revision}`, (signal) => get<{ notes: string }>(releasePath(namespace, name, "notes"), { revision }, signal));
  return (
    <View of={load} what="Reading notes…">
      {({ notes }) =>
        notes.trim() === "" ? (
          <Empty title="No notes">
            Charts explain how to go on in <code>templates/NOTES.txt</code>; this one does not.
          </Empty>
        ) : (
          <pre class="notes" tabIndex={0} aria-label="Notes">
            {notes}
          </pre>
        )
      }
    </View>
  );
}
