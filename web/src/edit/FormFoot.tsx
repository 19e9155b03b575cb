// The foot of every form: its price or its obstacle, and its buttons.

import { Button, Kbd, Tooltip } from "@mantine/core";

import type { When } from "../api";
import { Problem } from "../notices/Problem";
import { shortcut } from "../palette/keys";
import { useFrames } from "../queries";
import { WhenSelect } from "../waiting/WhenSelect";
import styles from "./FormFoot.module.css";
import { PriceTag } from "./PriceTag";
import { Stale } from "./Stale";
import type { Making } from "./useMaking";

interface Props {
  conversation: string;
  head: string;
  making: Making;
  /** The input that is still missing. */
  lacks?: string | null;
  /** On the button that makes it. */
  label: string;
  onCancel: () => void;
  /** The condition; not selectable without the callback. */
  when?: When;
  onWhen?: (when: When) => void;
  /** The user has reviewed the new commits. */
  onAgain?: () => void;
}

export function FormFoot({ conversation, head, making, lacks = null, label, when = "now", onWhen, onCancel, onAgain }: Props) {
  const { data: frames } = useFrames(conversation);
  const { stale, refusal, priced, ready, busy } = making;
  return (
    <footer className={styles.foot}>
      <div className={styles.price}>
        {stale !== null ? (
          <Stale
            conversation={conversation}
            message={stale.message}
            onAgain={() => {
              making.again();
              onAgain?.();
            }}
          />
        ) : refusal !== null ? (
          <Problem error={refusal} />
        ) : lacks !== null ? (
          <span className={styles.lacks}>{lacks}</span>
        ) : (
          <PriceTag
            conversation={conversation}
            operations={priced}
            head={head}
            calibrated={frames?.calibrated ?? true}
            when={when}
          />
        )}
      </div>
      <div className={styles.buttons}>
        {onWhen !== undefined && <WhenSelect conversation={conversation} when={when} onChange={onWhen} />}
        <Button size="xs" variant="subtle" color="gray" onClick={onCancel}>
          Cancel
        </Button>
        <Tooltip label="Collect several operations and apply them as one commit, with one re-read">
          <Button size="xs" variant="default" disabled={!ready} onClick={making.stage}>
            Add to tray
          </Button>
        </Tooltip>
        <Button
          size="xs"
          type="submit"
          loading={busy}
          disabled={!ready}
          rightSection={ready && <Kbd className={styles.kbd ?? ""}>{shortcut("commit")}</Kbd>}
        >
          {label}
        </Button>
      </div>
    </footer>
  );
}
