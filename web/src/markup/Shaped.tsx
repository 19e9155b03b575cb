// A tool's text by its kind: coloured code, a diff, or plain.

import { Words } from "../messages/Words";
import { Clipped } from "../messages/Clipped";
import { Code, Diff } from "./Code";
import type { Shape } from "./kinds";

export function Shaped({ shape }: { shape: Shape }) {
  if (shape.kind === "text") return <Words text={shape.text} mono />;
  return (
    <Clipped text={shape.text}>
      {(shown) =>
        shape.kind === "diff" ? (
          <Diff text={shown} />
        ) : (
          <Code text={shown} language={shape.language} numbers={shape.numbers} />
        )
      }
    </Clipped>
  );
}
