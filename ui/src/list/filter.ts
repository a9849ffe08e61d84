// What is typed above a list: words, all of which have to be found, and `field:word` for one column. A minus leaves out.

export type Fields = { [name: string]: string };
type Term = { field: string | undefined; word: string; not: boolean };

export function terms(query: string): Term[] {
  return query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "" && word !== "-")
    .map((word) => {
      const not = word.startsWith("-");
      const rest = not ? word.slice(1) : word;
      const colon = rest.indexOf(":");
      if (colon <= 0) return { field: undefined, word: rest, not };
      return { field: rest.slice(0, colon), word: rest.slice(colon + 1), not };
    });
}

/** `fields` has lower-case values; `""` is what words without a field are looked for in. */
export function matches(fields: Fields, wanted: Term[]): boolean {
  return wanted.every(({ field, word, not }) => {
    const known = field !== undefined && field in fields;
    const found = known ? fields[field]!.includes(word) : (fields[""] ?? "").includes(field === undefined ? word : `${field}:${word}`);
    return found !== not;
  });
}
