// Which rows of a long list are in the document: those that are seen and some around them.

export type Window = { first: number; last: number; before: number; after: number };

export function visible(count: number, row: number, top: number, height: number, around = 8): Window {
  const first = Math.max(0, Math.min(count, Math.floor(top / row) - around));
  const last = Math.max(first, Math.min(count, Math.ceil((top + height) / row) + around));
  return { first, last, before: first * row, after: (count - last) * row };
}

/** Where to scroll so that the row is seen, or nothing if it is. */
export function reveal(index: number, row: number, top: number, height: number): number | undefined {
  const from = index * row;
  if (from < top) return from;
  if (from + row > top + height) return from + row - height;
  return undefined;
}
