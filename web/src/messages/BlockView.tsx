// One block of a message. Words are shown; what is long, mechanical or injected is folded behind a line that says what
// it is and how much it weighs. Nothing from the conversation is ever treated as markup.

import { Badge } from "@mantine/core";

import type { Block } from "../api";
import { bytes, tokens } from "../format/numbers";
import styles from "./BlockView.module.css";
import { BlockTools } from "./BlockTools";
import { Fold } from "./Fold";
import { parts, tagLabel } from "./reminders";
import { blockLabel, callInput, callSummary, firstLine, picture, pretty, size } from "./summaries";
import { Words } from "./Words";

interface Props {
  block: Block;
  /** The tool behind each call of the frame. */
  tools: ReadonlyMap<string, string>;
  calibrated: boolean;
  /** Tells it from the same block elsewhere in the list. */
  scope?: string;
}

export function BlockView({ block, tools, calibrated, scope = "" }: Props) {
  const name = `${scope}${block.id}${block.covered ?? ""}`;
  if (block.kind === "text") {
    return (
      <div className={styles.block}>
        <TextParts text={block.text} name={name} />
        <BlockTools block={block} />
      </div>
    );
  }
  const weight = tokens(block.tokens, calibrated);
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
      {() => (
        <div className={styles.block}>
          <Content block={block} />
          <BlockTools block={block} />
        </div>
      )}
    </Fold>
  );
}

/** What somebody wrote, and folded between it what a program injected. */
export function TextParts({ text, name }: { text: string; name: string }) {
  const found = parts(text);
  if (found.length === 0) return <p className={styles.empty}>Nothing but space</p>;
  return found.map((part, index) =>
    part.kind === "words" ? (
      <Words key={index} text={part.text} />
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

/** The inside of a block, without its line. */
export function Content({ block }: { block: Block }) {
  switch (block.kind) {
    case "image": {
      const source = picture(block.raw);
      if (source === null) return <Words text={pretty(block.raw)} mono />;
      return <img className={styles.picture} src={source} alt="From the conversation" />;
    }
    case "tool_use":
      return <Words text={callInput(block.raw)} mono />;
    case "tool_result":
      return <ResultContent block={block} />;
    case "tool":
    case "document":
    case "other":
      return <Words text={pretty(block.raw)} mono />;
    case "thinking":
      if (block.text === "") {
        return <p className={styles.empty}>The provider keeps the words of this thought; only its seal is sent.</p>;
      }
      return <Words text={block.text} />;
    case "reminder":
      return <Words text={block.text} mono />;
    default:
      return <Words text={block.text} />;
  }
}

/** The words of a result, and the pictures in it. */
function ResultContent({ block }: { block: Block }) {
  const pictures = block.replaced == null ? resultPictures(block.raw) : [];
  if (block.text === "" && pictures.length === 0) return <p className={styles.empty}>An empty result</p>;
  return (
    <>
      {block.text !== "" && <Words text={block.text} mono />}
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
