// Icons as lines on a grid of 16, drawn here so that nothing is loaded.

const SHAPES: { [name: string]: string } = {
  releases: "M2.5 4.5 8 1.8l5.5 2.7v7L8 14.2l-5.5-2.7zM2.5 4.5 8 7.2l5.5-2.7M8 7.2v7",
  charts: "M3 2.5h7.5L13 5v8.5H3zM5.5 6.5h5M5.5 9h5M5.5 11.5h3",
  requests: "M8 1.8 13.5 4v4c0 3.2-2.3 5.2-5.5 6.2C4.8 13.2 2.5 11.2 2.5 8V4zM5.5 8l1.8 1.8L10.8 6.2",
  operations: "M8 2a6 6 0 1 0 6 6M8 4.5V8l2.5 1.5M11 2.5l3 .2-.2 3",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3 14 14",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  check: "M3 8.5 6.5 12 13 4.5",
  alert: "M8 2 14.5 13.5h-13zM8 6.5v3.2M8 11.3v.6",
  info: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM8 7.2v4M8 4.6v.6",
  right: "M6 3.5 10.5 8 6 12.5",
  down: "M3.5 6 8 10.5 12.5 6",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3 3l1.2 1.2M11.8 11.8 13 13M13 3l-1.2 1.2M4.2 11.8 3 13",
  moon: "M13 9.8A5.8 5.8 0 0 1 6.2 3 5.8 5.8 0 1 0 13 9.8z",
  auto: "M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12",
  keys: "M1.8 4h12.4v8H1.8zM4 6.5h.6M7 6.5h.6M10 6.5h.6M4.5 9.5h7",
  up: "M8 13V3.5M4 7l4-4 4 4",
  edit: "M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3zM9 4.7 11.3 7",
  undo: "M3 6.5h6.5a3.5 3.5 0 0 1 0 7H6M3 6.5l3-3M3 6.5l3 3",
  trash: "M3 4.5h10M6 4.5V2.5h4v2M4.5 4.5l.6 9h5.8l.6-9M6.8 7v4M9.2 7v4",
  play: "M4.5 2.8 12.8 8l-8.3 5.2z",
  compare: "M2.5 5.5h10M10 3l2.5 2.5L10 8M13.5 10.5h-10M6 8l-2.5 2.5L6 13",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  plus: "M8 3v10M3 8h10",
  lock: "M3.5 7h9v6.5h-9zM5.3 7V5a2.7 2.7 0 0 1 5.4 0v2",
  print: "M4.5 6V2h7v4M4.5 11.5h-2V6h11v5.5h-2M4.5 9.5h7V14h-7z",
  pintle: "M8 1.5v13M5 4h6M3.5 8a4.5 4.5 0 0 0 9 0",
};

export function Icon({ name }: { name: string }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={SHAPES[name] ?? ""} />
    </svg>
  );
}
