// One block of a message. Text is shown; long, mechanical or injected content is folded behind a line with its kind and
// size. Nothing from the conversation is ever treated as HTML.

import { Badge } from "@mantine/core";
import { useMemo } from "react";

import type { Block } from "../api";
import { bytes, tokens } from "../format/numbers";
import { inputParts, shapeOf } from "../markup/kinds";
import { Markdown } from "../markup/Markdown";
import { Shaped } from "../markup/Shaped";
import styles from "./BlockView.module.css";
import { BlockTools } from "./BlockTools";
import { Clipped } from "./Clipped";
import { Fold } from "./Fold";
import { useFold } from "./folds";
import { parts, tagLabel } from "./reminders";
import { blockLabel, callInput, callSummary, firstLine, picture, pretty, size, type ToolCalls } from "./summaries";
import { Words } from "./Words";

interface Props {
  block: Block;
  /** The tool behind each call of the frame. */
  tools: ToolCalls;
  calibrated: boolean;
  /** Identifies it in the list. */
  scope?: string;
}

export function BlockView({ block, tools, calibrated, scope = "" }: Props) {
  const name = `${scope}${block.id}${block.covered ?? ""}`;
  if (block.kind === "text") return <Inside block={block} name={name} path={null} />;
  const weight = `${tokens(block.tokens, calibrated)} tokens`;
  return (
    <Fold
      name={name}
      kind={block.kind}
      label={blockLabel(block, tools)}
      summary={block.kind === "tool_use" ? callSummary(block.raw) : firstLine(block.text)}
      marks={block.replaced != null && <Badge color="orange">replaced</Badge>}
      sizes={block.kind === "tool_result" ? [bytes(size(block.text)), weight] : [weight]}
      error={block.is_error}
      open={block.kind === "image" || block.kind === "system"}
    >
      {() => <Inside block={block} name={name} path={tools.get(block.tool_use_id ?? "")?.path ?? null} />}
    </Fold>
  );
}

/** The inside of a block with its tools: rendered, or as plain text. `path`: the file that its call names. */
export function Inside({ block, name, path }: { block: Block; name: string; path: string | null }) {
  const [plain, setPlain] = useFold(`${name}/plain`, false);
  return (
    <div className={styles.block}>
      {plain ? <Plain block={block} /> : <Content block={block} name={name} path={path} />}
      <BlockTools block={block} plain={plain} onPlain={setPlain} />
    </div>
  );
}

/** To the letter, without any rendering. */
function Plain({ block }: { block: Block }) {
  const isText = ["text", "thinking", "system", "reminder", "tool_result"].includes(block.kind) && block.text !== "";
  return <Words text={isText ? block.text : pretty(block.kind === "tool_use" ? callInput(block.raw) : block.raw)} mono />;
}

/** Markdown that begins short. */
function Rendered({ text }: { text: string }) {
  return <Clipped text={text}>{(shown, isCut) => <Markdown text={isCut ? `${shown}…` : shown} />}</Clipped>;
}

/** The user's text, with injected texts folded. */
function TextParts({ text, name }: { text: string; name: string }) {
  const found = parts(text);
  if (found.length === 0) return <p className={styles.empty}>Only whitespace</p>;
  return found.map((part, index) =>
    part.kind === "words" ? (
      <Rendered key={index} text={part.text} />
    ) : (
      <Fold
        key={index}
        name={`${name}/${index}`}
        kind="reminder"
        label={tagLabel(part.tag)}
        summary={firstLine(part.text)}
        sizes={[bytes(size(part.text))]}
      >
        {() => <Words text={part.text} mono />}
      </Fold>
    ),
  );
}

interface ContentProps {
  block: Block;
  name: string;
  path: string | null;
}

function Content({ block, name, path }: ContentProps) {
  switch (block.kind) {
    case "text":
      return <TextParts text={block.text} name={name} />;
    case "image": {
      const source = picture(block.raw);
      if (source === null) return <Json value={block.raw} />;
      return <img className={styles.picture} src={source} alt="From the conversation" />;
    }
    case "tool_use":
      return inputParts(callInput(block.raw)).map(({ label, shape }) => <Shaped key={label} shape={shape} />);
    case "tool_result":
      return <ResultContent block={block} path={path} />;
    case "tool":
    case "document":
    case "other":
      return <Json value={block.raw} />;
    case "thinking":
      if (block.text === "") {
        return <p className={styles.empty}>The provider keeps the text of this thinking; only its signature is sent.</p>;
      }
      return <Rendered text={block.text} />;
    case "reminder":
      return <Words text={block.text} mono />;
    default:
      return <Rendered text={block.text} />;
  }
}

function Json({ value }: { value: unknown }) {
  return <Shaped shape={{ kind: "code", text: pretty(value), language: "json", numbers: null }} />;
}

/** The words of a result, and the pictures in it. */
function ResultContent({ block, path }: { block: Block; path: string | null }) {
  const pictures = block.replaced == null ? resultPictures(block.raw) : [];
  const shape = useMemo(() => shapeOf(block.text, path), [block.text, path]);
  if (block.text === "" && pictures.length === 0) return <p className={styles.empty}>An empty result</p>;
  return (
    <>
      {block.text !== "" && <Shaped shape={shape} />}
      {pictures.map((source, index) => (
        <img key={index} className={styles.picture} src={source} alt="From a tool result" />
      ))}
    </>
  );
}

function resultPictures(raw: unknown): string[] {
  const content = typeof raw === "object" && raw !== null && "content" in raw ? raw.content : null;
  if (!Array.isArray(content)) return [];
  return content.map(picture).filter((source) => source !== null);
}
