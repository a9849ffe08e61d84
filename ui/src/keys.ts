// Keys for everything that is done often. One letter, or `g` and a letter; none while somebody types.

import { signal } from "@preact/signals";

export type Binding = { keys: string; what: string; run: () => void };

const global: Binding[] = [];
/** The bindings of the view that is shown. */
export const local = signal<Binding[]>([]);

export function bind(binding: Binding) {
  global.push(binding);
}

export function bindings(): { global: Binding[]; local: Binding[] } {
  return { global, local: local.value };
}

function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element && (/^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName) || element.isContentEditable);
}

export function start() {
  let prefix = "";
  let pressed = 0;
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const sequence = prefix && event.timeStamp - pressed < 1500 ? `${prefix} ${event.key}` : event.key;
    prefix = "";
    const found = [...local.peek(), ...global].find((binding) => binding.keys === sequence);
    if (found) {
      event.preventDefault();
      found.run();
    } else if (event.key === "g") {
      prefix = "g";
      pressed = event.timeStamp;
    }
  });
}
