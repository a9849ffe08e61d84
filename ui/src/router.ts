// Addresses of views. Each view has one, so that it can be sent to somebody and the back button does what is expected.

import { signal } from "@preact/signals";

export type Route = { path: string[]; query: URLSearchParams };

export function parse(address: string): Route {
  const url = new URL(address, "http://page");
  const path = url.pathname.split("/").filter((part) => part !== "");
  return { path: path.map(decode), query: url.searchParams };
}

/** An address that somebody typed can have a lone percent sign. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export type Parameters = { [name: string]: string | number | undefined | null };

export function build(path: string[], query: Parameters = {}, keep?: string | null): string {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== null && value !== "") all.set(name, String(value));
  if (keep) all.set("context", keep);
  const text = all.toString();
  return "/" + path.map(encodeURIComponent).join("/") + (text && "?" + text);
}

export const route = signal<Route>(parse(typeof location === "undefined" ? "/" : location.href));

/** An address inside the page, in the context that is looked at. */
export function to(path: string[], query: Parameters = {}): string {
  return build(path, query, route.value.query.get("context"));
}

export function go(address: string, replace = false) {
  if (address !== location.pathname + location.search) history[replace ? "replaceState" : "pushState"]({}, "", address);
  route.value = parse(location.href);
  if (!replace) scrollTo(0, 0);
}

/** Changes some parameters of the address without a step in the history, for what is typed. */
export function amend(query: Parameters, step = false) {
  const old = Object.fromEntries(route.value.query);
  go(build(route.value.path, { ...old, ...query }), !step);
}

export function start() {
  addEventListener("popstate", () => (route.value = parse(location.href)));
  addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest?.("a");
    if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin || link.pathname.startsWith("/api/")) return;
    if (link.hash && link.pathname === location.pathname) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}
