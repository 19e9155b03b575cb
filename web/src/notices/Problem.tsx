// Something did not work: what, and what to do about it.

import { Alert, Button } from "@mantine/core";
import { ExclamationTriangleIcon } from "@radix-ui/react-icons";

import { ApiError } from "../api";

interface Props {
  error: Error;
  action?: { label: string; run: () => void };
}

export function Problem({ error, action }: Props) {
  const { message, hint } = inWords(error);
  return (
    <Alert color="red" variant="light" icon={<ExclamationTriangleIcon />} title={message} m="md" role="alert">
      {hint}
      {action !== undefined && (
        <Button size="compact-sm" variant="light" color="red" onClick={action.run}>
          {action.label}
        </Button>
      )}
    </Alert>
  );
}

function inWords(error: Error): { message: string; hint: string | null } {
  if (error instanceof ApiError) return { message: error.message, hint: error.hint };
  if (error instanceof TypeError) {
    return {
      message: "The daemon does not answer.",
      hint: "Start it with `ctx up`. This page goes on by itself once it is back.",
    };
  }
  return { message: error.message, hint: null };
}
