// Selects when to apply an edit: now, or when it costs less.

import { NativeSelect, Tooltip } from "@mantine/core";
import { ClockIcon } from "@radix-ui/react-icons";

import type { When } from "../api";
import { useNow } from "../format/useNow";
import { useWaiting } from "./useWaiting";
import styles from "./waiting.module.css";
import { choices } from "./words";

interface Props {
  conversation: string;
  when: When;
  onChange: (when: When) => void;
}

export function WhenSelect({ conversation, when, onChange }: Props) {
  const { data } = useWaiting(conversation);
  const now = useNow();
  return (
    <Tooltip label="The provider’s cache lives for some minutes after each request. Once it has expired, the provider re-reads everything anyway, and an edit costs nothing.">
      <NativeSelect
        size="xs"
        className={styles.when ?? ""}
        leftSection={<ClockIcon />}
        leftSectionPointerEvents="none"
        aria-label="When to apply it"
        data={choices(data, now)}
        value={when}
        onChange={(event) => onChange(event.currentTarget.value as When)}
      />
    </Tooltip>
  );
}
