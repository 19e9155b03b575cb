// A proposal, mostly of results that the automatic editor would clear: reason and savings, to accept or decline.

import { Badge, Tooltip, UnstyledButton } from "@mantine/core";
import { ChevronDownIcon, ChevronRightIcon, MagicWandIcon } from "@radix-ui/react-icons";
import { useState } from "react";

import type { Operation, DeferredEdit } from "../api";
import { PriceTag } from "../edit/PriceTag";
import { usePrice } from "../edit/usePrice";
import { plural, short } from "../format/numbers";
import { moment } from "../format/time";
import { targetsOf, withWhat } from "../history/operations";
import { useFrames } from "../queries";
import { go } from "../route";
import { Answers } from "./Answers";
import { Operations } from "./Operations";
import styles from "./waiting.module.css";
import { clearsResults, goes, isAutomatic, placeOf, reasonWords } from "./words";

export function Proposal({ conversation, edit }: { conversation: string; edit: DeferredEdit }) {
  const [open, setOpen] = useState(false);
  const { id, at, author, note, operations, summary } = edit;
  const saved = edit.tokens_before - edit.tokens_after;
  return (
    <li className={styles.one} data-proposal data-deferred={id}>
      <MagicWandIcon aria-hidden />
      <div className={styles.words}>
        <UnstyledButton
          className={styles.what}
          aria-expanded={open}
          title={`${summary}; proposed ${moment(at)}`}
          onClick={() => setOpen(!open)}
        >
          {open ? <ChevronDownIcon aria-hidden /> : <ChevronRightIcon aria-hidden />}
          {clearsResults(edit) ? <Cleared edit={edit} /> : <Operations operations={operations} summary={summary} />}
          <span className={styles.saved} data-more={saved < 0 || undefined}>
            {saved >= 0 ? `−${short(saved)}` : `+${short(-saved)}`}
          </span>
        </UnstyledButton>{" "}
        {!isAutomatic(edit) && <Badge color="gray">{author}</Badge>}
        <p className={styles.until}>{clearsResults(edit) ? reasonsOf(edit) : note}</p>
      </div>
      <Answers conversation={conversation} id={id} />
      {open && <Each conversation={conversation} edit={edit} />}
    </li>
  );
}

function Cleared({ edit }: { edit: DeferredEdit }) {
  const results = goes(edit).reduce((sum, one) => sum + one.results, 0);
  return (
    <span className={styles.operation}>
      <strong>Clear {plural(results, "result")}</strong> <span className={styles.ids}>{placeOf(edit.summary) ?? ""}</span>
    </span>
  );
}

function reasonsOf(edit: DeferredEdit): string {
  const [first, ...others] = goes(edit);
  if (first === undefined) return "";
  return others.length === 0 ? first.why : [first, ...others].map(({ results, why }) => `${results} ${why}`).join(", ");
}

/** Every cleared result with its frame, and the total price. */
function Each({ conversation, edit }: { conversation: string; edit: DeferredEdit }) {
  const { data: frames } = useFrames(conversation);
  // A deferred edit can be applied like any other.
  const operations = edit.operations as readonly Operation[];
  const price = usePrice(conversation, operations, null);
  return (
    <div className={styles.each}>
      <PriceTag conversation={conversation} operations={operations} head={null} calibrated={frames?.calibrated ?? true} />
      <ul>
        {edit.operations.map((operation, index) => {
          const planned = price.data?.operations[index];
          const places = planned?.frames ?? targetsOf(operation);
          const saved = planned === undefined ? 0 : planned.tokens_before - planned.tokens_after;
          return (
            <li key={index} className={styles.result}>
              <span>
                {places.map((place) => (
                  <button key={place} type="button" className={styles.place} onClick={() => go({ open: place })}>
                    {place}
                  </button>
                ))}
              </span>
              <Tooltip label={withWhat(operation)}>
                <span>{reasonWords(edit.reasons[index] ?? "")}</span>
              </Tooltip>
              <span className={styles.saved}>{saved === 0 ? "" : `−${short(saved)}`}</span>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
