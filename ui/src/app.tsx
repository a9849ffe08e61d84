// The frame of all views: navigation, the cluster, the theme, keys, and short messages.

import { useEffect, useRef, useState } from "preact/hooks";
import { send } from "./api.ts";
import * as keys from "./keys.ts";
import { amend, go, route, to } from "./router.ts";
import { context, contexts, dismiss, loadSession, notes, outage, session, setTheme, theme } from "./state.ts";
import type { Theme } from "./state.ts";
import { Dialog, Empty, Loading, ProblemBox, stringProblem } from "./parts/basic.tsx";
import { Icon } from "./parts/icon.tsx";
import { Chart, Charts } from "./screens/charts.tsx";
import { Install } from "./screens/install.tsx";
import { Operation, Operations } from "./screens/operations.tsx";
import { Release } from "./screens/release.tsx";
import { Releases } from "./screens/releases.tsx";
import { Request, Requests } from "./screens/requests.tsx";

const PLACES: [string, string, string][] = [
  ["releases", "Releases", "r"],
  ["charts", "Charts", "c"],
  ["requests", "Requests", "q"],
  ["operations", "Operations", "o"],
];

export function App() {
  const [help, setHelp] = useState(false);
  useEffect(() => {
    for (const [id, text, letter] of PLACES) keys.bind({ keys: `g ${letter}`, what: text, run: () => go(to(id === "releases" ? [] : [id])) });
    keys.bind({ keys: "g i", what: "Install a chart", run: () => go(to(["install"])) });
    keys.bind({ keys: "t", what: "Light, dark, or as the system", run: nextTheme });
    keys.bind({ keys: "?", what: "These keys", run: () => setHelp(true) });
  }, []);
  const { path } = route.value;
  useTitle(path);
  const place = path[0] === undefined ? "releases" : path[0] === "install" ? "charts" : path[0];
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        To the content
      </a>
      <Rail place={place} onHelp={() => setHelp(true)} />
      <main id="main" tabIndex={-1}>
        {outage.value ? <Outage /> : session.value ? <Screen path={path} /> : <Loading what="Connecting…" />}
      </main>
      <Messages />
      {help && <Help onClose={() => setHelp(false)} />}
    </>
  );
}

function skip(event: MouseEvent) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

/** The title says what is shown, and readers of screens hear it when the view changes. */
function useTitle(path: string[]) {
  const text = path.join("/");
  const first = useRef(true);
  useEffect(() => {
    const [place, namespace, name, tab] = path;
    const words = place === "releases" ? [name, tab, namespace] : place ? [path.slice(1).join(" "), place] : ["Releases"];
    document.title = [...words.filter(Boolean), "Pintle"].join(" · ");
    if (!first.current && !document.activeElement?.closest("nav, main")) document.getElementById("main")?.focus({ preventScroll: true });
    first.current = false;
  }, [text]);
}

function Screen({ path }: { path: string[] }) {
  const [place, ...rest] = path;
  if (place === undefined) return <Releases />;
  if (place === "releases" && rest.length === 0) return <Releases />;
  if (place === "releases" && rest.length >= 2) return <Release key={rest.slice(0, 2).join("/")} namespace={rest[0]!} name={rest[1]!} tab={rest[2] ?? "objects"} />;
  if (place === "charts") return rest[0] === "view" ? <Chart /> : <Charts />;
  if (place === "install") return <Install />;
  if (place === "requests") return rest.length === 2 ? <Request namespace={rest[0]!} name={rest[1]!} /> : <Requests />;
  if (place === "operations") return rest[0] ? <Operation key={rest[0]} id={rest[0]} /> : <Operations />;
  return (
    <Empty title="There is no such page" level={1}>
      <a class="button" href={to([])}>
        To the releases
      </a>
    </Empty>
  );
}

function Rail({ place, onHelp }: { place: string; onHelp: () => void }) {
  return (
    <header class="rail">
      <a class="brand" href={to([])} aria-label="Pintle, releases">
        <Icon name="pintle" />
        <span>Pintle</span>
      </a>
      <nav aria-label="Pages">
        {PLACES.map(([id, text]) => (
          <a key={id} href={to(id === "releases" ? [] : [id])} aria-current={place === id ? "page" : undefined} title={text}>
            <Icon name={id} />
            <span>{text}</span>
          </a>
        ))}
      </nav>
      <div class="rail-end">
        <Contexts />
        {session.value && !session.value.write && (
          <p class="mode" title="Start `pintle ui --write` to change releases here">
            <Icon name="lock" /> <span>read only</span>
          </p>
        )}
        <div class="row tools">
          <button type="button" class="icon-button" aria-label={`Theme: ${theme.value}`} title={`Theme: ${theme.value}`} onClick={nextTheme}>
            <Icon name={{ auto: "auto", light: "sun", dark: "moon" }[theme.value]} />
          </button>
          <button type="button" class="icon-button" aria-label="Keys" title="Keys (?)" onClick={onHelp}>
            <Icon name="keys" />
          </button>
          <span class="version-of muted">{session.value?.version}</span>
        </div>
      </div>
    </header>
  );
}

function nextTheme() {
  const order: Theme[] = ["auto", "light", "dark"];
  setTheme(order[(order.indexOf(theme.peek()) + 1) % 3]!);
}

function Contexts() {
  const all = contexts.value;
  if (!all || all.contexts.length === 0) return null;
  const current = context.value ?? session.value?.context ?? all.current;
  return (
    <label class="cluster">
      <span>Cluster</span>
      <select
        value={current}
        title={current}
        onChange={(event) => {
          // A release of one cluster is rarely in the other: the list is where one starts.
          const name = event.currentTarget.value;
          if (route.peek().path[0] === "releases") go(`/?context=${encodeURIComponent(name)}`);
          else amend({ context: name }, true);
        }}
      >
        {all.contexts.map((each) => (
          <option key={each.name} value={each.name}>
            {each.name}
          </option>
        ))}
      </select>
    </label>
  );
}

function Outage() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  const { problem: why, status } = outage.value!;
  if (status !== 401) {
    return (
      <>
        <h1>Pintle</h1>
        <ProblemBox of={why} again={() => void loadSession()} />
      </>
    );
  }
  const signIn = async () => {
    try {
      await send("POST", "login", { token });
      await loadSession();
    } catch (error) {
      setProblem(stringProblem(error));
    }
  };
  return (
    <div class="empty">
      <h1>Open the address that pintle printed</h1>
      <p>
        <code>pintle ui</code> prints an address with a token that works once, so that nobody else on this machine, and no other page, can read or change your releases.
      </p>
      {why.hint && <p class="muted">{why.hint}</p>}
      <form
        class="row wrap center"
        onSubmit={(event) => {
          event.preventDefault();
          void signIn();
        }}
      >
        <label>
          <span class="hidden">Token</span>
          <input type="password" autocomplete="off" placeholder="or a token" value={token} onInput={(event) => setToken(event.currentTarget.value)} />
        </label>
        <button type="submit" class="button">
          Sign in
        </button>
      </form>
      {problem && <p class="note bad" role="alert">{problem}</p>}
    </div>
  );
}

function Messages() {
  return (
    <div class="messages" role="status" aria-live="polite">
      {notes.value.map((note) => (
        <p key={note.id} class={`message ${note.tone}`}>
          <span class="pre">{note.text}</span>
          <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(note.id)}>
            <Icon name="close" />
          </button>
        </p>
      ))}
    </div>
  );
}

function Help({ onClose }: { onClose: () => void }) {
  const { global, local } = keys.bindings();
  const list = (title: string, all: keys.Binding[]) =>
    all.length > 0 && (
      <section>
        <h3>{title}</h3>
        <dl class="keys">
          {all.map((binding) => (
            <div key={binding.keys}>
              <dt>
                {binding.keys.split(" ").map((key) => (
                  <kbd key={key}>{key.replace("Arrow", "")}</kbd>
                ))}
              </dt>
              <dd>{binding.what}</dd>
            </div>
          ))}
        </dl>
      </section>
    );
  return (
    <Dialog title="Keys" onClose={onClose}>
      {list("On this page", local)}
      {list("Everywhere", global)}
    </Dialog>
  );
}
