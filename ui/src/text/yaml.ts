// YAML for reading: the tokens of each line, for colours. They are a guess by line, like an editor's, so that any text has some and
// none can fail.

export type Token = { kind: "key" | "string" | "number" | "word" | "comment" | "mark" | "text"; text: string };

/** What goes on from line to line: a block scalar, whose lines are text whatever they look like. */
export type State = { block: number | undefined };

export const START: State = { block: undefined };

const KEY = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#:"'{}[\],&*!|>%@`-][^#:]*(?::[^\s#:][^#:]*)*|-[^\s#:][^#:]*(?::[^\s#:][^#:]*)*)(:)(?=\s|$)/;
const LITERAL = /^(?:true|false|null|~|yes|no|on|off)$/i;
const NUMBER = /^[-+]?(?:0x[\da-f]+|0o?[0-7]+|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|\.inf|\.nan)$/i;
/** A longer line is shown without colours: finding them takes time, and nobody reads it. */
const LONGEST = 2000;

export function tokens(line: string, state: State): [Token[], State] {
  const indent = line.length - line.trimStart().length;
  if (state.block !== undefined) {
    if (line.trim() === "" || indent > state.block) return [[{ kind: "string", text: line }], state];
  }
  if (line.length > LONGEST) return [[{ kind: "text", text: line }], START];
  const found: Token[] = [];
  let rest = line;
  const take = (kind: Token["kind"], length: number) => {
    if (length > 0) found.push({ kind, text: rest.slice(0, length) });
    rest = rest.slice(length);
  };
  take("text", indent);
  if (/^(---|\.\.\.)(\s|$)/.test(rest) && indent === 0) take("mark", 3);
  let column = indent;
  for (;;) {
    const dash = /^-(\s+|$)/.exec(rest);
    if (!dash) break;
    column += dash[0].length;
    take("mark", 1);
    take("text", dash[0].length - 1);
  }
  const key = rest.startsWith("#") ? null : KEY.exec(rest);
  if (key) {
    take("key", key[1]!.length);
    take("mark", key[2]!.length);
  }
  const isBlock = value(rest, take);
  return [found, { block: isBlock ? (key ? column : Math.max(column - 2, 0)) : undefined }];
}

/** Colours what follows the key; whether it starts a block scalar. */
function value(all: string, take: (kind: Token["kind"], length: number) => void): boolean {
  let rest = all;
  const next = (kind: Token["kind"], length: number) => {
    take(kind, length);
    rest = rest.slice(length);
  };
  next("text", rest.length - rest.trimStart().length);
  if (/^[|>][-+0-9]*\s*(#.*)?$/.test(rest)) {
    const mark = /^[|>][-+0-9]*/.exec(rest)![0].length;
    next("mark", mark);
    next("comment", rest.length);
    return true;
  }
  while (rest !== "") {
    const quoted = /^(?:"(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?)/.exec(rest);
    const comment = /^\s*#.*$/.exec(rest);
    const mark = /^[{}[\],]\s*/.exec(rest);
    const anchor = /^[&*!][^\s,\]}]*/.exec(rest);
    if (comment) next("comment", rest.length);
    else if (quoted) next("string", quoted[0].length);
    else if (mark) next("mark", mark[0].length);
    else if (anchor) next("word", anchor[0].length);
    else plain(rest, next);
  }
  return false;
}

function plain(rest: string, next: (kind: Token["kind"], length: number) => void) {
  const word = /^.*?(?=\s#|[,\]}]\s|[,\]}]$|$)/.exec(rest)![0] || rest[0]!;
  const bare = word.trim();
  next(LITERAL.test(bare) ? "word" : NUMBER.test(bare) ? "number" : "string", word.length);
}

export function highlight(text: string): Token[][] {
  let state = START;
  return text.split("\n").map((line) => {
    const [found, next] = tokens(line, state);
    state = next;
    return found;
  });
}
