// Copies a text, which is built on demand: a frame can be megabytes.

import { ActionIcon } from "@mantine/core";
import { CheckIcon, CopyIcon } from "@radix-ui/react-icons";
import { useEffect, useState } from "react";

interface Props {
  text: () => string;
  label: string;
}

export function Copy({ text, label }: Props) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const end = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(end);
  }, [copied]);
  return (
    <ActionIcon
      size="sm"
      variant="subtle"
      color={copied ? "teal" : "gray"}
      aria-label={label}
      title={copied ? "Copied" : label}
      onClick={() => void navigator.clipboard.writeText(text()).then(() => setCopied(true))}
    >
      {copied ? <CheckIcon width={13} /> : <CopyIcon width={13} />}
    </ActionIcon>
  );
}
