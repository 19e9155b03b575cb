// Renders Markdown as elements. The text is untrusted: HTML stays text, pictures are named and not loaded, and links
// show where they lead.

import type { MarkedToken, Token, Tokens } from "marked";
import { Fragment, memo, type ReactNode } from "react";

import { Signs, Words } from "../messages/Words";
import { Code } from "./Code";
import { fenceLanguage } from "./languages";
import styles from "./markup.module.css";
import { blocksOf, safeAddress } from "./tokens";

/** Deeper nesting is shown as it is written. */
const DEEPEST = 16;

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const blocks = blocksOf(text);
  if (blocks === null) return <Words text={text} first={text.length} />;
  return (
    <div className={styles.markdown} dir="auto">
      <All tokens={blocks} depth={0} />
    </div>
  );
});

function All({ tokens, depth }: { tokens: readonly Token[]; depth: number }): ReactNode {
  return tokens.map((token, index) => <One key={index} token={token} depth={depth} />);
}

function One({ token: any, depth }: { token: Token; depth: number }): ReactNode {
  const token = any as MarkedToken;
  const inside = (tokens: readonly Token[] | undefined, text = token.raw) =>
    tokens === undefined || depth >= DEEPEST ? <Signs text={text} /> : <All tokens={tokens} depth={depth + 1} />;
  switch (token.type) {
    case "space":
      return null;
    case "heading":
      return (
        <div className={styles.heading} data-depth={token.depth}>
          {inside(token.tokens)}
        </div>
      );
    case "paragraph":
      return <p>{inside(token.tokens)}</p>;
    case "text":
      return token.tokens === undefined ? <Signs text={token.text} /> : inside(token.tokens);
    case "escape":
      return <Signs text={token.text} />;
    case "code":
      return <Code text={token.text} language={fenceLanguage(token.lang) ?? ""} />;
    case "blockquote":
      return <blockquote>{inside(token.tokens)}</blockquote>;
    case "list":
      return <List list={token} depth={depth} />;
    case "table":
      return <Table table={token} depth={depth} />;
    case "hr":
      return <hr />;
    case "br":
      return <br />;
    case "strong":
      return <strong>{inside(token.tokens)}</strong>;
    case "em":
      return <em>{inside(token.tokens)}</em>;
    case "del":
      return <del>{inside(token.tokens)}</del>;
    case "codespan":
      return (
        <code>
          <Signs text={token.text} />
        </code>
      );
    case "link":
      return <Link address={token.href}>{inside(token.tokens)}</Link>;
    case "image":
      return (
        <span className={styles.picture}>
          picture: <Link address={token.href}>{token.text === "" ? token.href : token.text}</Link>
        </span>
      );
    // HTML, definitions and whatever else there is: as it was written.
    default:
      return <Signs text={token.raw} />;
  }
}

function List({ list, depth }: { list: Tokens.List; depth: number }) {
  const items = list.items.map((item, index) => (
    <li key={index} data-task={item.task || undefined}>
      {item.task && <input type="checkbox" disabled checked={item.checked === true} aria-label="Task" />}
      {depth >= DEEPEST ? <Signs text={item.raw} /> : <All tokens={item.tokens.filter(isContent)} depth={depth + 1} />}
    </li>
  ));
  return list.ordered ? <ol start={list.start === "" ? 1 : list.start}>{items}</ol> : <ul>{items}</ul>;
}

/** The box of a task is drawn by the item. */
const isContent = ({ type }: Token) => type !== "checkbox";

function Table({ table, depth }: { table: Tokens.Table; depth: number }) {
  const cell = ({ tokens, align }: Tokens.TableCell, index: number, Tag: "th" | "td") => (
    <Tag key={index} data-align={align ?? undefined}>
      <All tokens={tokens} depth={depth + 1} />
    </Tag>
  );
  return (
    <div className={styles.table}>
      <table>
        <thead>
          <tr>{table.header.map((head, index) => cell(head, index, "th"))}</tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index}>{row.map((one, at) => cell(one, at, "td"))}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Link({ address, children }: { address: string; children: ReactNode }) {
  const href = safeAddress(address);
  if (href === null) return <span title={address}>{children}</span>;
  return (
    <a href={href} title={href} target="_blank" rel="noopener noreferrer">
      <Fragment>{children}</Fragment>
    </a>
  );
}
