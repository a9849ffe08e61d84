// Logs of the pods of an object or of a hook, followed.

import { useEffect, useMemo, useState } from "preact/hooks";
import { follow, get, releasePath } from "../api.ts";
import type { Objects, ObjectStatus, Problem } from "../api.ts";
import { amend, route } from "../router.ts";
import { context } from "../state.ts";
import { Check, Empty, Failure, ProblemBox, useLoad } from "../parts/basic.tsx";
import { Plain } from "../parts/code.tsx";

type Line = { prefix: string; text: string };

/** Older lines are dropped: a log has no end. */
const KEPT = 20_000;
const KINDS = ["Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicaSet", "Pod"];

export function Logs({ namespace, name, revision }: { namespace: string; name: string; revision: string | undefined }) {
  const query = route.value.query;
  const key = query.get("key") ?? "";
  const hook = query.get("hook") ?? "";
  const container = query.get("container") ?? "";
  const [previous, setPrevious] = useState(false);
  const objects = useLoad(`${context.value} ${namespace}/${name} log objects ${revision}`, (signal) => get<Objects>(releasePath(namespace, name, "objects"), { revision }, signal));
  const sources = useMemo(() => flatten(objects.data?.objects ?? []), [objects.data]);
  const chosen = key || (hook ? "" : sources[0]?.key);
  const containers = [...new Set((sources.find((object) => object.key === chosen)?.pods ?? []).flatMap((pod) => pod.containers ?? []))];
  if (objects.error && !hook) return <Failure of={objects.error} again={objects.again} />;
  if (objects.data && sources.length === 0 && !hook) {
    return (
      <Empty title="Nothing here writes logs">
        <p>No object of this release runs a container. Logs of hooks and tests are at “Hooks and tests”.</p>
      </Empty>
    );
  }
  return (
    <>
      <div class="row wrap filters">
        {hook ? (
          <span class="chip">
            hook {hook}{" "}
            <button type="button" class="link" onClick={() => amend({ hook: "" }, true)}>
              all objects
            </button>
          </span>
        ) : (
          <label>
            <span class="hidden">Object</span>
            <select value={chosen} onChange={(event) => amend({ key: event.currentTarget.value, container: "" }, true)}>
              {sources.map((object) => (
                <option key={object.key} value={object.key}>
                  {object.kind} {object.name}
                </option>
              ))}
            </select>
          </label>
        )}
        {containers.length > 1 && (
          <label>
            <span class="hidden">Container</span>
            <select value={container} onChange={(event) => amend({ container: event.currentTarget.value }, true)}>
              <option value="">All containers</option>
              {containers.map((each) => (
                <option key={each} value={each}>
                  {each}
                </option>
              ))}
            </select>
          </label>
        )}
        <Check label="Before the last restart" checked={previous} onChange={setPrevious} />
      </div>
      {(hook || chosen) && <Stream path={releasePath(namespace, name, "logs")} query={{ key: hook ? "" : chosen, hook, container, previous, follow: !previous, tail: 500 }} />}
    </>
  );
}

function flatten(all: ObjectStatus[]): ObjectStatus[] {
  return all.flatMap((object) => [...(KINDS.includes(object.kind) ? [object] : []), ...flatten(object.children ?? [])]);
}

/** Sequences for terminals are left out; nothing else of a line is changed. */
export function clean(text: string): string {
  return text.replace(/\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g, "").replace(/[\u0000-\u0008\u000b-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "");
}

function Stream({ path, query }: { path: string; query: { [name: string]: string | number | boolean | undefined } }) {
  const [lines, setLines] = useState<Line[]>([]);
  const [problems, setProblems] = useState<Problem[]>([]);
  const [ended, setEnded] = useState(false);
  const [filter, setFilter] = useState("");
  const id = JSON.stringify(query);
  useEffect(() => {
    setLines([]);
    setProblems([]);
    setEnded(false);
    let waiting: Line[] = [];
    let timer = 0;
    const flush = () => {
      timer = 0;
      const more = waiting;
      waiting = [];
      setLines((old) => [...old, ...more].slice(-KEPT));
    };
    const stop = follow(path, query, {
      open: () => {
        waiting = [];
        setLines([]);
      },
      log: (data: { pod: string; container: string; text: string }) => {
        for (const text of data.text.replace(/\n$/, "").split("\n")) waiting.push({ prefix: `${data.pod} ${data.container}`, text: clean(text) });
        timer ||= window.setTimeout(flush, 100);
      },
      problem: (data: { error: Problem }) => setProblems((old) => [...old, data.error].slice(-5)),
      end: () => {
        setEnded(true);
        stop();
      },
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [path, id]);
  const isOnePod = new Set(lines.map((line) => line.prefix)).size <= 1;
  const words = filter.toLowerCase();
  const shown = lines.filter((line) => words === "" || line.text.toLowerCase().includes(words)).map((line) => (isOnePod ? { text: line.text } : line));
  return (
    <>
      {problems.map((problem, i) => (
        <ProblemBox key={i} of={problem} />
      ))}
      <div class="row between wrap">
        <label class="search small">
          <span class="hidden">Filter lines</span>
          <input type="search" placeholder="Filter lines" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
        </label>
        <span class="muted" role="status">
          {shown.length} lines{ended ? ", the end" : " · following"}
        </span>
      </div>
      {shown.length === 0 ? <p class="muted pad">{ended ? "There are no lines." : "Waiting for lines…"}</p> : <Plain lines={shown} label="Log" follow={!ended} />}
    </>
  );
}
