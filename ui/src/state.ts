// What all views share: the session, the live list of releases, the theme, and short messages.

import { batch, computed, signal } from "@preact/signals";
import { ApiError, contextFrom, follow, get, onSignedOut } from "./api.ts";
import type { Contexts, HelmRequest, Outdated, Permissions, Problem, Requests, Session, Summary } from "./api.ts";
import { route } from "./router.ts";

export const context = computed(() => route.value.query.get("context") ?? undefined);
contextFrom(() => context.peek());

export const session = signal<Session | undefined>(undefined);
export const contexts = signal<Contexts | undefined>(undefined);
/** What keeps the whole page from working: nobody is signed in, or the program has ended. */
export const outage = signal<ApiError | undefined>(undefined);
onSignedOut((error) => (outage.value = error));
export const now = signal(Date.now());

export function startClock() {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, 10_000);
}

export async function loadSession() {
  try {
    const [who, all] = await Promise.all([get<Session>("session"), get<Contexts>("contexts").catch(() => undefined)]);
    batch(() => {
      session.value = who;
      contexts.value = all;
      outage.value = undefined;
    });
  } catch (error) {
    outage.value = asError(error);
  }
}

export function asError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(0, { kind: "other", message: error instanceof Error ? error.message : String(error) });
}

/** The live list. `synced` is false until all releases that exist have come. */
export const releases = signal<{ all: Summary[]; synced: boolean; problem: Problem | undefined }>({ all: [], synced: false, problem: undefined });

let stopWatch: (() => void) | undefined;
let watched: string | undefined;

const key = (release: { namespace: string; name: string }) => `${release.namespace}/${release.name}`;

/** Watches the releases of the context; a second call for the same one changes nothing. */
export function watchReleases(of: string) {
  if (watched === of && stopWatch) return;
  stopWatch?.();
  watched = of;
  releases.value = { all: [], synced: false, problem: undefined };
  outdated.value = new Map();
  let next = new Map<string, Summary>();
  let shown = next;
  let drawn = 0;
  const draw = () => {
    drawn = 0;
    const all = [...shown.values()].sort((a, b) => (a.namespace < b.namespace ? -1 : a.namespace > b.namespace ? 1 : a.name < b.name ? -1 : 1));
    releases.value = { ...releases.peek(), all };
  };
  // Many changes of one moment are drawn once.
  const later = () => (drawn ||= window.setTimeout(draw, 50));
  const problem = (value: Problem | undefined) => (releases.value = { ...releases.peek(), problem: value });
  stopWatch = follow("releases/watch", {}, {
    open: () => {
      // After a lost connection the stream starts anew; what was shown stays until it is complete.
      next = new Map();
      if (!releases.peek().synced) shown = next;
    },
    batch: (data: { releases: Summary[] }) => {
      for (const release of data.releases) next.set(key(release), release);
      if (shown === next) later();
    },
    applied: (data: Summary) => {
      next.set(key(data), data);
      if (shown === next) later();
    },
    removed: (data: { namespace: string; name: string }) => {
      next.delete(key(data));
      if (shown === next) later();
    },
    synced: () => {
      shown = next;
      releases.value = { ...releases.peek(), synced: true, problem: undefined };
      draw();
    },
    problem: (data: { error: Problem }) => problem(data.error),
    recovered: () => problem(undefined),
    lost: () => problem({ kind: "away", message: "the connection to pintle is lost", hint: "the page connects again by itself; is `pintle ui` still running?" }),
  });
}

export const outdated = signal<Map<string, Outdated>>(new Map());
export const outdatedState = signal<"idle" | "asking" | "known" | "failed">("idle");

/** Asks repositories for newer charts, which can take long, so only when somebody wants to know. */
export async function askOutdated() {
  outdatedState.value = "asking";
  try {
    const answer = await get<{ releases: Outdated[] }>("outdated");
    outdated.value = new Map(answer.releases.map((each) => [key(each), each]));
    outdatedState.value = "known";
  } catch (error) {
    outdatedState.value = "failed";
    say(asError(error).message, "bad");
  }
}

export const requests = signal<HelmRequest[] | undefined>(undefined);

export async function loadRequests(): Promise<Requests> {
  const answer = await get<Requests>("requests");
  requests.value = answer.installed ? answer.requests : undefined;
  return answer;
}

const permissions = signal(new Map<string, Permissions>());

/** What may be done in a namespace; asked once for each. */
export function allowed(namespace: string, action: string): { allowed: boolean; reason?: string } {
  const id = `${context.value ?? ""}\n${namespace}`;
  const known = permissions.value.get(id);
  if (!known) {
    askPermissions(id, namespace);
    return { allowed: session.value?.write ?? false };
  }
  return known.actions[action] ?? { allowed: false, reason: "not known" };
}

const asked = new Set<string>();
function askPermissions(id: string, namespace: string) {
  if (asked.has(id)) return;
  asked.add(id);
  get<Permissions>("permissions", { namespace })
    .then((answer) => (permissions.value = new Map(permissions.peek()).set(id, answer)))
    .catch(() => asked.delete(id));
}

export type Theme = "auto" | "light" | "dark";
export const theme = signal<Theme>("auto");

export function startTheme() {
  const kept = stored("theme");
  if (kept === "light" || kept === "dark") setTheme(kept);
}

export function setTheme(value: Theme) {
  theme.value = value;
  if (value === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = value;
  store("theme", value);
}

/** Storage is refused in some private windows. */
export function stored(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function store(name: string, value: string) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // The choice is then forgotten with the page.
  }
}

export type Note = { id: number; text: string; tone: "good" | "bad" | "plain" };
export const notes = signal<Note[]>([]);
let noteId = 0;

export function say(text: string, tone: Note["tone"] = "plain") {
  const note = { id: ++noteId, text, tone };
  notes.value = [...notes.peek().slice(-2), note];
  setTimeout(() => dismiss(note.id), tone === "bad" ? 9000 : 4000);
}

export function dismiss(id: number) {
  notes.value = notes.peek().filter((note) => note.id !== id);
}
