// The tray: staged operations with their total price, applied as one commit, so that the provider re-reads once.

import { ActionIcon, Button, Kbd, Tooltip } from "@mantine/core";
import { Cross2Icon } from "@radix-ui/react-icons";

import type { Operation } from "../api";
import { plural, short } from "../format/numbers";
import { targetsOf as namedIn, withWhat } from "../history/operations";
import { shortcut } from "../palette/keys";
import { useKeys } from "../palette/useKeys";
import { useFrames } from "../queries";
import { WhenSelect } from "../waiting/WhenSelect";
import { entryOf } from "./operations";
import { PriceTag, Refused } from "./PriceTag";
import { clearStage, removeFromStage, setWhen, useStage } from "./stage";
import { Stale } from "./Stale";
import { inShort } from "./targets";
import styles from "./Tray.module.css";
import { useMaking } from "./useMaking";
import { usePrice } from "./usePrice";

export function Tray({ conversation }: { conversation: string }) {
  const { operations } = useStage(conversation);
  return operations.length === 0 ? null : <Staged conversation={conversation} operations={operations} />;
}

function Staged({ conversation, operations }: { conversation: string; operations: readonly Operation[] }) {
  const { head, draft, when = "now" } = useStage(conversation);
  const { data: frames } = useFrames(conversation);
  const price = usePrice(conversation, operations, head);
  const making = useMaking({
    conversation,
    operations,
    head: head ?? "none",
    when,
    onDone: () => clearStage(conversation),
  });
  const { stale, refusal, busy, ready, make } = making;
  const each = price.data?.operations;

  // An open form has the key for itself.
  useKeys({ commit: () => (draft === null ? void make() : false) });

  return (
    <section className={styles.tray} aria-label="Staged operations">
      {draft === null && (
        <ol className={styles.list}>
          {operations.map((operation, index) => {
            const priced = each?.[index];
            const saved = priced === undefined ? null : priced.tokens_before - priced.tokens_after;
            return (
              <li key={index} className={styles.item} data-nothing={priced?.nothing != null || undefined}>
                <strong>{entryOf(operation.op).label}</strong>
                <span className={styles.ids}>{inShort(namedIn(operation))}</span>
                <bdi className={styles.what}>{priced?.nothing ?? withWhat(operation)}</bdi>
                {saved !== null && saved !== 0 && (
                  <span className={styles.saved} data-more={saved < 0 || undefined}>
                    {saved > 0 ? `−${short(saved)}` : `+${short(-saved)}`}
                  </span>
                )}
                <Tooltip label="Remove from the tray">
                  <ActionIcon
                    size={18}
                    variant="subtle"
                    color="gray"
                    aria-label={`Remove operation ${index + 1}`}
                    onClick={() => {
                      making.again();
                      removeFromStage(conversation, index);
                    }}
                  >
                    <Cross2Icon width={12} height={12} />
                  </ActionIcon>
                </Tooltip>
              </li>
            );
          })}
        </ol>
      )}
      <div className={styles.total}>
        <strong>{plural(operations.length, "operation")}</strong>
        <div className={styles.price}>
          {stale !== null ? (
            <Stale conversation={conversation} message={stale.message} onAgain={making.again} />
          ) : refusal !== null ? (
            <Refused error={refusal} operations={operations} />
          ) : (
            <PriceTag
              conversation={conversation}
              operations={operations}
              head={head}
              calibrated={frames?.calibrated ?? true}
              brief={draft !== null}
              when={when}
            />
          )}
        </div>
        <WhenSelect conversation={conversation} when={when} onChange={(moment) => setWhen(conversation, "stage", moment)} />
        <Button size="xs" variant="subtle" color="gray" onClick={() => clearStage(conversation)}>
          Discard
        </Button>
        <Button
          size="xs"
          loading={busy}
          disabled={!ready && !busy}
          onClick={() => void make()}
          rightSection={draft === null && <Kbd className={styles.kbd ?? ""}>{shortcut("commit")}</Kbd>}
        >
          {operations.length === 1 ? "Apply" : "Apply all"}
          {when === "now" ? "" : " later"}
        </Button>
      </div>
    </section>
  );
}
