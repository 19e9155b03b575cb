// A problem and its remedy.

import { Alert, Button, Code } from "@mantine/core";
import { ExclamationTriangleIcon } from "@radix-ui/react-icons";
import { Fragment } from "react";

import { ApiError } from "../api";
import styles from "./notices.module.css";
import { Rule } from "./Rule";
import { inRules } from "./rules";
import { inWords } from "./words";

interface Props {
  error: Error | null;
  action?: { label: string; run: () => void };
}

/** For a part of the screen: the daemon's message. An unreachable daemon is reported once, for the whole page. */
export function PartProblem({ error }: { error: Error | null }) {
  return error instanceof ApiError ? <Problem error={error} /> : null;
}

export function Problem({ error, action }: Props) {
  if (error === null) return null;
  const { message, hint } = inWords(error);
  return (
    <Alert color="red" className={styles.problem ?? ""} icon={<ExclamationTriangleIcon />} title={message} role="alert">
      {hint !== null && <WithCode text={hint} />}
      {action !== undefined && (
        <Button size="compact-sm" variant="default" onClick={action.run}>
          {action.label}
        </Button>
      )}
    </Alert>
  );
}

/** The daemon's own words, with commands between backticks, and rules of the provider by their numbers. */
export function WithCode({ text }: { text: string }) {
  return text.split("`").map((part, index) =>
    index % 2 === 1 ? <Code key={index}>{part}</Code> : <WithRules key={index} text={part} />,
  );
}

function WithRules({ text }: { text: string }) {
  return inRules(text).map(({ text: part, rule }, index) =>
    rule ? <Rule key={index} number={part} /> : <Fragment key={index}>{part}</Fragment>,
  );
}
