// The client of `/api/v1`: requests, event streams, and the forms of the answers.

export type Lease = { holder: string; since?: string; renewed?: string; expires?: string; expired?: boolean };
export type Problem = { kind: string; message: string; hint?: string | null; where?: string | null; command?: string | null; lease?: Lease | null };

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(problem.message);
  }
}

let signedOut: (error: ApiError) => void = () => undefined;
/** What to do when an answer says that nobody is signed in any more. */
export function onSignedOut(run: (error: ApiError) => void) {
  signedOut = run;
}

export type Query = { [name: string]: string | number | boolean | undefined | null };

let context: () => string | undefined = () => undefined;
/** The context that requests ask for is part of the address of the page, which this module does not know. */
export function contextFrom(read: () => string | undefined) {
  context = read;
}

export function address(path: string, query: Query = {}): string {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries({ context: context(), ...query })) {
    if (value !== undefined && value !== null && value !== "") all.set(name, String(value));
  }
  const text = all.toString();
  return `/api/v1/${path}${text && "?" + text}`;
}

async function read<T>(answer: Promise<Response>): Promise<T> {
  let response: Response;
  try {
    response = await answer;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, { kind: "away", message: "pintle does not answer", hint: "start `pintle ui` again and open the address that it prints" });
  }
  if (response.status === 204) return undefined as T;
  const text = await response.text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new ApiError(response.status, { kind: "other", message: `${response.status} ${text.slice(0, 300)}` });
  }
  if (response.ok) return body as T;
  const problem = (body as { error?: Problem }).error;
  const error = new ApiError(response.status, problem ?? { kind: "other", message: `the answer is ${response.status}` });
  if (error.status === 401) signedOut(error);
  throw error;
}

export function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  return read(fetch(address(path, query), signal ? { signal } : {}));
}

export function send<T>(method: "POST" | "DELETE", path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  return read(fetch(address(path), { method, headers, body: JSON.stringify(body), ...(signal ? { signal } : {}) }));
}

export type Handlers = { [event: string]: (data: any) => void };

/**
 * Follows a stream until the returned function is called. The browser connects again by itself. While the page is not seen the
 * stream is closed: all tabs share six connections to a server. `fresh` is called when the stream is asked for from its
 * beginning, `open` on every connection, `lost` when one breaks.
 */
export function follow(path: string, query: Query, handlers: Handlers): () => void {
  const target = address(path, query);
  let source: EventSource | undefined;
  const connect = () => {
    handlers["fresh"]?.(undefined);
    const next = new EventSource(target);
    source = next;
    for (const [name, handler] of Object.entries(handlers)) {
      if (name === "open") next.addEventListener("open", () => handler(undefined));
      else if (name === "lost") next.addEventListener("error", () => source === next && handler(undefined));
      else if (name !== "fresh") next.addEventListener(name, (event) => source === next && handler(JSON.parse((event as MessageEvent<string>).data)));
    }
  };
  const close = () => {
    source?.close();
    source = undefined;
  };
  const change = () => {
    if (document.hidden) close();
    else if (!source) connect();
  };
  document.addEventListener("visibilitychange", change);
  change();
  return () => {
    document.removeEventListener("visibilitychange", change);
    close();
  };
}

export type Session = { version: string; write: boolean; user?: string | null; auth: string; context?: string; localCharts: boolean; features?: string[] };
export type Contexts = { current: string; contexts: { name: string; cluster: string; namespace?: string; user?: string }[] };
export type Action = { allowed: boolean; reason?: string };
export type Permissions = { namespace: string; write: boolean; actions: { [action: string]: Action } };

export type Summary = {
  namespace: string;
  name: string;
  revision: number;
  status: string;
  description?: string;
  chart?: string;
  chartVersion?: string;
  appVersion?: string;
  updated?: string;
  store?: string;
  interrupted?: boolean;
  lease?: Lease | null;
  problem?: string | null;
};
export type Source = { url?: string; repository?: string; digest?: string };
export type Release = Summary & {
  firstDeployed?: string;
  notes?: string;
  rollbackOf?: number | null;
  applyMethod?: string;
  labels?: { [name: string]: string };
  source?: Source | null;
  chartMeta?: { description?: string; home?: string; deprecated?: boolean; dependencies?: Dependency[] };
  request?: { namespace: string; name: string } | null;
  changelog?: string | null;
  commands?: { [name: string]: string };
};
export type Revision = Summary & { source?: Source | null; rollbackOf?: number | null; who?: string | null };
export type Dependency = { name: string; version?: string; repository?: string };
export type ObjectEvent = { warning: boolean; reason: string; message: string; count?: number; lastSeen?: string };
export type Pod = { name: string; containers?: string[]; reason?: string | null; events?: ObjectEvent[] };
export type ObjectStatus = {
  key: string;
  kind: string;
  namespace?: string;
  name: string;
  ready?: boolean;
  state?: string;
  message?: string;
  reason?: string | null;
  exists?: boolean;
  events?: ObjectEvent[];
  pods?: Pod[];
  children?: ObjectStatus[];
};
export type Objects = { revision: number; ready: number; total: number; objects: ObjectStatus[] };
export type LiveObject = { key: string; yaml: string; managers?: { manager: string; operation: string; time?: string; fields?: number }[]; hidden?: number };
export type Hook = { name: string; kind: string; path?: string; events: string[]; weight?: number; phase?: string | null; started?: string | null; completed?: string | null; deletePolicies?: string[]; isTest?: boolean; manifest?: string };
export type Values = { yaml: string; values?: unknown; hidden?: string[] };
export type ManifestDocument = { key: string; kind: string; namespace?: string; name: string; source?: string; line?: number; yaml?: string };
export type Manifest = { documents: ManifestDocument[]; hidden?: number; bytes?: number; truncated?: boolean };
export type Image = { image: string; full?: string; registry?: string; digest?: string | null; running?: string[]; uses?: { key: string; field: string; values?: string[] }[]; problem?: string | null };
export type SchemaAnswer = { schema?: Schema | null; derived?: boolean; defaults?: string; problem?: string | null };
export type Schema = {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  properties?: { [name: string]: Schema };
  items?: Schema;
  required?: string[];
  minimum?: number;
  maximum?: number;
  pattern?: string;
  $ref?: string;
  $defs?: { [name: string]: Schema };
  definitions?: { [name: string]: Schema };
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
};
export type DiffLine = { op: "=" | "-" | "+" | "…"; text?: string; skipped?: number };
export type Field = { path: string; before?: unknown; after?: unknown; managers?: string[]; noise?: boolean };
export type ComparedObject = { key: string; kind: string; namespace?: string; name: string; change: string; problem?: string | null; fields?: Field[]; lines?: DiffLine[] | null };
export type Comparison = {
  summary: { added: number; removed: number; changed: number; unchanged: number };
  truncated?: boolean;
  hidden?: number;
  objects: ComparedObject[];
  values?: { lines: DiffLine[] } | null;
  notes?: { lines: DiffLine[] } | null;
};
export type TemplateLine = { file: string; line: number; text: string };
export type Origin = { layer: string; name?: string; line?: number | null; value?: unknown };
export type ExplainedValue = { path: string; value?: unknown; origin?: Origin | null; overridden?: Origin[]; readers?: (TemplateLine & { path?: string })[]; hidden?: boolean };
export type Explanation = {
  file: string;
  line: number;
  text: string;
  templates: TemplateLine[];
  values: ExplainedValue[];
  fields?: string[];
  conditions?: { at: TemplateLine; values: ExplainedValue[]; fields?: string[] }[];
  problem?: string | null;
};
export type PlannedObject = {
  key: string;
  kind: string;
  namespace?: string;
  name: string;
  action: string;
  isCrd?: boolean;
  changes?: Field[];
  insignificant?: Field[];
  conflicts?: { field: string; manager: string }[];
  yielded?: { field: string; manager: string }[];
  immutable?: string[];
  recreation?: string | null;
  keptBecause?: string | null;
  problem?: string | null;
  lines?: DiffLine[] | null;
};
export type PlannedHook = { event: string; kind: string; name: string; weight?: number };
export type Plan = {
  /** Missing where the plan has problems: it cannot be applied. */
  plan?: string | null;
  operation: string;
  from?: number | null;
  to?: number | null;
  hasChanges: boolean;
  milliseconds?: number;
  summary: { [action: string]: number };
  objects: PlannedObject[];
  hooks?: PlannedHook[];
  unread?: { path: string; hint?: string | null }[];
  warnings?: string[];
  problems?: string[];
  lease?: Lease | null;
  notes?: string | null;
  command?: string;
  valuesFile?: string | null;
  truncated?: boolean;
  deferred?: { event: string; reason: string } | null;
};
export type ChartChoice = { release: true } | { reference: string; version?: string; repository?: string } | { path: string };
export type PlanBody = {
  operation: string;
  namespace: string;
  name: string;
  chart?: ChartChoice;
  values?: string | null;
  revision?: number;
  createNamespace?: boolean;
  keepHistory?: boolean;
  wait?: boolean;
  atomic?: boolean;
  forceConflicts?: boolean;
  hooks?: boolean;
};
export type Finding = { severity: string; stage?: string; object?: string; file?: string; line?: number; message: string };
export type Rehearsal = {
  kubeVersion?: string;
  worst?: string | null;
  stages: { name: string; error?: string | null; objects?: { object: string; state: string; message?: string; ready: boolean }[]; hooks?: { object: string; events?: string[]; phase?: string; log?: string }[]; warnings?: string[] }[];
  findings: Finding[];
};
export type Operation = {
  id: string;
  operation: string;
  namespace: string;
  name: string;
  state: "running" | "succeeded" | "failed" | "cancelled";
  started: string;
  ended?: string | null;
  stage?: string | null;
  command?: string;
  error?: Problem | null;
  result?: { revision?: number; notes?: string; kept?: string[]; tests?: { pod: string; container: string; log: string }[]; report?: Rehearsal } | null;
};
export type HelmRequest = {
  namespace: string;
  name: string;
  release: { namespace: string; name: string };
  chart?: string;
  version?: string;
  suspended?: boolean;
  ready?: boolean | null;
  reason?: string;
  message?: string;
  conditions?: { type: string; status: string; reason?: string; message?: string; since?: string }[];
  plan?: { digest: string; summary?: string; objects?: unknown[] } | null;
  awaitsApproval?: boolean;
  revision?: number;
  yaml?: string;
};
export type Requests = { installed: boolean; requests: HelmRequest[] };
export type Chart = {
  name: string;
  version?: string;
  appVersion?: string;
  description?: string;
  readme?: string | null;
  values?: string;
  schema?: Schema | null;
  dependencies?: Dependency[];
  maintainers?: { name: string; email?: string; url?: string }[];
  source?: Source | null;
  images?: (string | { image: string })[];
  signature?: { state: string; message?: string };
  deprecated?: boolean;
  command?: string;
};
export type ChartEntry = { name: string; version?: string; appVersion?: string; description?: string; deprecated?: boolean };
export type Outdated = { namespace: string; name: string; version?: string; newest?: string; outdated?: boolean; source?: string; problem?: string };

export function releasePath(namespace: string, name: string, below = ""): string {
  return `releases/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}${below && "/" + below}`;
}
