// Charts of repositories and registries: find one, read it, install it.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { get, send } from "../api.ts";
import type { Chart as ChartData, ChartEntry } from "../api.ts";
import * as keys from "../keys.ts";
import { amend, go, route, to } from "../router.ts";
import { context, say, session } from "../state.ts";
import { Age, Command, Dialog, Empty, Facts, Notice, Status, Tabs, View, stringProblem, useLoad } from "../parts/basic.tsx";
import { Yaml } from "../parts/code.tsx";
import { Icon } from "../parts/icon.tsx";
import { Markdown } from "../parts/markdown.tsx";

type Repository = { name: string; url: string; updated?: string | null };

export function Charts() {
  const query = route.value.query.get("q") ?? "";
  const [typed, setTyped] = useState(query);
  const input = useRef<HTMLInputElement>(null);
  const repositories = useLoad("repositories", (signal) => get<{ repositories: Repository[] }>("repositories", {}, signal));
  const charts = useLoad(`charts ${query}`, (signal) => get<{ charts: ChartEntry[] }>("charts", { query }, signal));
  const [adding, setAdding] = useState(false);
  useLayoutEffect(() => {
    keys.local.value = [{ keys: "/", what: "Find a chart", run: () => input.current?.focus() }];
    return () => (keys.local.value = []);
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => typed !== query && amend({ q: typed }), 200);
    return () => clearTimeout(timer);
  }, [typed]);
  const isReference = /^((oci|https?):\/\/|\/)/.test(typed.trim());
  const again = () => {
    repositories.again();
    charts.again();
  };
  return (
    <>
      <header class="page-head">
        <div class="row between wrap">
          <h1>Charts</h1>
          {session.value?.write && session.value.localCharts && (
            <div class="row wrap">
              <button type="button" class="button ghost" onClick={() => void update(again)}>
                Update repositories
              </button>
              <button type="button" class="button" onClick={() => setAdding(true)}>
                <Icon name="plus" /> Add a repository
              </button>
            </div>
          )}
        </div>
        <form
          class="row wrap filters"
          onSubmit={(event) => {
            event.preventDefault();
            if (isReference) go(to(["charts", "view"], { reference: typed.trim() }));
          }}
        >
          <label class="search grow">
            <Icon name="search" />
            <span class="hidden">Find a chart</span>
            <input ref={input} type="search" placeholder="Name or words, or oci://… and Enter" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
            <kbd aria-hidden="true">/</kbd>
          </label>
          {isReference && (
            <button type="submit" class="button primary">
              Open
            </button>
          )}
        </form>
      </header>
      <View of={repositories} what="Reading repositories…">
        {({ repositories: all }) => (all.length > 0 ? <RepositoryList of={all} again={again} /> : null)}
      </View>
      <View of={charts} what="Searching…">
        {({ charts: all }) => (all.length === 0 ? <NoCharts query={query} hasRepositories={(repositories.data?.repositories.length ?? 0) > 0} /> : <List of={all} />)}
      </View>
      {adding && <AddRepository onClose={() => setAdding(false)} onDone={again} />}
    </>
  );
}

async function update(again: () => void) {
  try {
    const { failed } = await send<{ failed: { name: string; message: string }[] }>("POST", "repositories/update", { names: [] });
    if (failed.length === 0) say("All repositories are up to date", "good");
    else say(failed.map((each) => `${each.name}: ${each.message}`).join("\n"), "bad");
    again();
  } catch (error) {
    say(stringProblem(error), "bad");
  }
}

function RepositoryList({ of, again }: { of: Repository[]; again: () => void }) {
  const [open, setOpen] = useState(false);
  const remove = async (name: string) => {
    try {
      await send("DELETE", `repositories/${encodeURIComponent(name)}`);
      again();
    } catch (error) {
      say(stringProblem(error), "bad");
    }
  };
  return (
    <details class="section" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <b>
          {of.length} {of.length === 1 ? "repository" : "repositories"}
        </b> <small>{of.map((each) => each.name).join(", ")}</small>
      </summary>
      <ul class="plain">
        {of.map((each) => (
          <li key={each.name} class="row wrap">
            <b>{each.name}</b> <span class="mono muted break">{each.url}</span>
            <span class="grow" />
            <span class="muted">
              <Age of={each.updated} />
            </span>
            {session.value?.write && session.value.localCharts && (
              <button type="button" class="button small ghost" onClick={() => void remove(each.name)}>
                Remove<span class="hidden"> {each.name}</span>
              </button>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

function AddRepository({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [problem, setProblem] = useState("");
  const add = async () => {
    try {
      await send("POST", "repositories", { name, url });
      onDone();
      onClose();
    } catch (error) {
      setProblem(stringProblem(error));
    }
  };
  return (
    <Dialog title="Add a repository" onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <label>
          Name
          <input type="text" required value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label>
          Address
          <input type="url" required placeholder="https://charts.example" value={url} onInput={(event) => setUrl(event.currentTarget.value)} />
        </label>
        {problem && <p class="note bad pre" role="alert">{problem}</p>}
        <Command label="The same on the command line" text={`pintle repo add ${name || "NAME"} ${url || "ADDRESS"}`} />
        <button type="submit" class="button primary">
          Add
        </button>
      </form>
    </Dialog>
  );
}

function NoCharts({ query, hasRepositories }: { query: string; hasRepositories: boolean }) {
  if (query) return <Empty title="No chart is like that">Names, descriptions and keywords of all added repositories were searched.</Empty>;
  return (
    <Empty title={hasRepositories ? "The repositories have no charts" : "No repositories yet"}>
      <p>A repository is an index of charts at an address. Charts in registries need none: type their reference (oci://…) above.</p>
      <Command text="pintle repo add NAME https://charts.example" />
    </Empty>
  );
}

function List({ of }: { of: ChartEntry[] }) {
  return (
    <ul class="cards grid">
      {of.slice(0, 300).map((chart) => (
        <li key={chart.name} class="card link-card">
          <p class="row wrap">
            <a class="cover" href={to(["charts", "view"], { reference: chart.name })}>
              <b>{chart.name}</b>
            </a>
            <span class="grow" />
            <span class="version">{chart.version}</span>
          </p>
          <p class="muted clamp">{chart.description}</p>
          <p class="row wrap small muted">
            {chart.appVersion && <span>app {chart.appVersion}</span>}
            {chart.deprecated && <span class="chip warn">deprecated</span>}
          </p>
        </li>
      ))}
      {of.length > 300 && <li class="muted">and {of.length - 300} more: type more of the name</li>}
    </ul>
  );
}

export function Chart() {
  const query = route.value.query;
  const reference = query.get("reference") ?? "";
  const version = query.get("version") ?? "";
  const tab = query.get("tab") ?? "readme";
  const isPath = reference.startsWith("/");
  const load = useLoad(`${context.value} chart ${reference} ${version}`, (signal) => get<ChartData>("chart", isPath ? { path: reference } : { reference, version }, signal));
  const versions = useLoad(`versions ${reference}`, (signal) => (isPath ? Promise.resolve({ versions: [] }) : get<{ versions: { version: string; appVersion?: string }[] }>("charts/versions", { reference }, signal)));
  const at = (id: string) => to(["charts", "view"], { reference, version, tab: id });
  return (
    <>
      <header class="page-head">
        <nav class="crumbs" aria-label="Where you are">
          <a href={to(["charts"])}>Charts</a>
          <span aria-hidden="true">/</span>
          <span class="break">{reference}</span>
        </nav>
        <div class="row between wrap">
          <h1>{load.data?.name ?? reference}</h1>
          <div class="row wrap">
            {versions.error && (
              <label>
                <span class="hidden">Version</span>
                <input type="text" placeholder="newest version" value={version} onChange={(event) => amend({ version: event.currentTarget.value }, true)} />
              </label>
            )}
            {!versions.error && !isPath && <label>
              <span class="hidden">Version</span>
              <select value={version || (load.data?.version ?? "")} onChange={(event) => amend({ version: event.currentTarget.value }, true)}>
                {(versions.data?.versions ?? []).every((each) => each.version !== (version || load.data?.version)) && <option value={version || (load.data?.version ?? "")}>{version || (load.data?.version ?? "newest")}</option>}
                {(versions.data?.versions ?? []).slice(0, 200).map((each) => (
                  <option key={each.version} value={each.version}>
                    {each.version}
                    {each.appVersion && ` (app ${each.appVersion})`}
                  </option>
                ))}
              </select>
            </label>}
            <a class="button primary" href={to(["install"], { chart: reference, version: version || load.data?.version })}>
              Install
            </a>
          </div>
        </div>
      </header>
      <View of={load} what="Reading the chart…">
        {(chart) => (
          <>
            {chart.description && <p>{chart.description}</p>}
            {chart.deprecated && <Notice tone="warn">The chart is deprecated.</Notice>}
            <Facts
              of={[
                ["App", chart.appVersion || "–"],
                ...(chart.signature ? ([["Signature", <Status of={chart.signature.state} text={chart.signature.message || chart.signature.state} />]] as [string, preact.ComponentChildren][]) : []),
                ["Digest", chart.source?.digest ? <code title={chart.source.digest}>{chart.source.digest.slice(0, 19)}…</code> : "–"],
                ["Maintainers", (chart.maintainers ?? []).map((each) => each.name).join(", ") || "–"],
              ]}
            />
            <Tabs
              label="Parts of the chart"
              current={tab}
              items={[
                { id: "readme", text: "Readme", href: at("readme") },
                { id: "values", text: "Values", href: at("values") },
                { id: "dependencies", text: "Dependencies", href: at("dependencies"), count: chart.dependencies?.length ?? 0 },
                ...(chart.images ? [{ id: "images", text: "Images", href: at("images"), count: chart.images.length }] : []),
              ]}
            />
            <div class="tab-body">
              <Part of={chart} tab={tab} />
            </div>
            {chart.command && <Command label="The same on the command line" text={chart.command} />}
          </>
        )}
      </View>
    </>
  );
}

function Part({ of, tab }: { of: ChartData; tab: string }) {
  if (tab === "values") return of.values ? <Yaml text={of.values} label="Default values" /> : <Empty title="No default values" />;
  if (tab === "dependencies") {
    if ((of.dependencies ?? []).length === 0) return <Empty title="No dependencies">The chart stands alone.</Empty>;
    return (
      <ul class="cards">
        {of.dependencies!.map((each) => (
          <li key={each.name} class="card">
            <p class="row wrap">
              <b>{each.name}</b> <span class="version">{each.version}</span> <span class="muted mono break">{each.repository}</span>
            </p>
          </li>
        ))}
      </ul>
    );
  }
  if (tab === "images") {
    if ((of.images ?? []).length === 0) return <Empty title="No images">None were found in what the chart renders with its defaults.</Empty>;
    return (
      <ul class="plain">
        {of.images!.map((image) => {
          const text = typeof image === "string" ? image : image.image;
          return (
            <li key={text} class="mono break">
              {text}
            </li>
          );
        })}
      </ul>
    );
  }
  return of.readme ? <Markdown text={of.readme} /> : <Empty title="No readme">The chart explains itself with the comments of its values.</Empty>;
}
