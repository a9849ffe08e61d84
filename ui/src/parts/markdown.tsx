// Draws the tree of `text/markdown.ts` with elements; nothing of the text is ever taken for markup.

import { useMemo } from "preact/hooks";
import { markdown, plainText } from "../text/markdown.ts";
import type { Block, Inline } from "../text/markdown.ts";
import { Yaml } from "./code.tsx";

export function Markdown({ text }: { text: string }) {
  const all = useMemo(() => markdown(text), [text]);
  return (
    <div class="markdown">
      <Blocks of={all} />
    </div>
  );
}

function Blocks({ of }: { of: Block[] }) {
  return (
    <>
      {of.map((block, i) => (
        <One key={i} of={block} />
      ))}
    </>
  );
}

function One({ of }: { of: Block }) {
  switch (of.kind) {
    case "heading": {
      // The page has its own first and second level.
      const Level = `h${Math.min(6, of.level + 2)}` as "h3";
      return (
        <Level id={slug(of.inside)}>
          <Spans of={of.inside} />
        </Level>
      );
    }
    case "paragraph":
      return (
        <p>
          <Spans of={of.inside} />
        </p>
      );
    case "code":
      return /^ya?ml$/i.test(of.language) ? (
        <Yaml text={of.text} label="Example" />
      ) : (
        <pre tabIndex={0} aria-label="Example">
          {of.text}
        </pre>
      );
    case "list": {
      const List = of.ordered ? "ol" : "ul";
      return (
        <List>
          {of.items.map((item, i) => (
            <li key={i}>
              <Blocks of={item} />
            </li>
          ))}
        </List>
      );
    }
    case "quote":
      return (
        <blockquote>
          <Blocks of={of.inside} />
        </blockquote>
      );
    case "table":
      return <Table of={of} />;
    case "rule":
      return <hr />;
  }
}

function Table({ of }: { of: Extract<Block, { kind: "table" }> }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {of.head.map((cell, i) => (
              <th key={i} scope="col">
                <Spans of={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {of.rows.map((row, i) => (
            <tr key={i}>
              {row.map((cell, j) => (
                <td key={j}>
                  <Spans of={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function slug(inside: Inline[]): string {
  const words = plainText(inside).toLowerCase().replace(/[^\p{L}\p{N} -]/gu, "").trim().replace(/ /g, "-");
  return `readme-${words}`;
}

function Spans({ of }: { of: Inline[] }) {
  return (
    <>
      {of.map((node, i) => (
        <Span key={i} of={node} />
      ))}
    </>
  );
}

function Span({ of }: { of: Inline }) {
  switch (of.kind) {
    case "text":
      return <>{of.text}</>;
    case "code":
      return <code>{of.text}</code>;
    case "strong":
      return (
        <strong>
          <Spans of={of.inside} />
        </strong>
      );
    case "em":
      return (
        <em>
          <Spans of={of.inside} />
        </em>
      );
    case "del":
      return (
        <del>
          <Spans of={of.inside} />
        </del>
      );
    case "link":
      return of.href.startsWith("#") ? (
        <a href={`#readme-${of.href.slice(1)}`}>
          <Spans of={of.inside} />
        </a>
      ) : (
        <a href={of.href} target="_blank" rel="noopener noreferrer nofollow">
          <Spans of={of.inside} />
        </a>
      );
    case "picture":
      return <span class="muted">{of.label && `[${of.label}]`}</span>;
    case "break":
      return <br />;
  }
}
