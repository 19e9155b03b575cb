// One exchange: a request with its verdict, and its response with its cost.

import { Badge, Popover, Tooltip } from "@mantine/core";
import { useState } from "react";

import type { Usage } from "../api";
import { later } from "../later";
import { bytes, count, dollars, percent, plural, short } from "../format/numbers";
import { clock, duration, moment } from "../format/time";
import { WithCode } from "../notices/Problem";
import { go } from "../route";
import { editWords } from "./asides";
import { cacheShares, clearedWords, type Exchange, missed, outcome, verdictMeaning, verdictWord } from "./exchanges";
import styles from "./ExchangeRow.module.css";

const SentBody = later(async () => (await import("./SentBody")).SentBody);

export function ExchangeRow({ conversation, exchange }: { conversation: string; exchange: Exchange }) {
  const { request, answer } = exchange;
  const number = request?.request ?? answer?.request ?? null;
  const [isShown, setShown] = useState(false);
  const how = outcome(exchange);
  const miss = answer === null ? null : missed(answer);
  return (
    <div className={styles.row} data-outcome={how}>
      <time className={styles.time} title={moment(exchange.at)}>
        {clock(exchange.at)}
      </time>
      <div className={styles.asked}>
        {number !== null && (
          <Tooltip label={`Request r${number}: show the body that was sent`}>
            <button type="button" className={styles.number} onClick={() => setShown(true)}>
              r{number}
            </button>
          </Tooltip>
        )}
        {isShown && number !== null && (
          <SentBody conversation={conversation} request={number} onClose={() => setShown(false)} />
        )}
        {request === null ? <span className={styles.quiet}>request not recorded</span> : <Asked request={request} />}
        {answer !== null && answer.repairs.length > 0 && <Repairs repairs={answer.repairs} />}
      </div>
      <div className={styles.read}>{answer?.usage != null && <Reading usage={answer.usage} />}</div>
      <div className={styles.answered}>
        {how === "waiting" && <Badge color="teal">waiting for the response</Badge>}
        {how === "cut" && (
          <Tooltip label="The provider’s connection broke before the response was complete">
            <Badge color="red">cut off</Badge>
          </Tooltip>
        )}
        {how === "cancelled" && (
          <Tooltip label="The client disconnected before the response was complete">
            <Badge color="gray">cancelled</Badge>
          </Tooltip>
        )}
        {how === "unreachable" && (
          <Tooltip label="The provider could not be reached">
            <Badge color="red">provider unreachable</Badge>
          </Tooltip>
        )}
        {how === "failed" && <Badge color="red">{answer?.status || "no response"}</Badge>}
        {answer?.stop_reason != null && <span>{answer.stop_reason.replaceAll("_", " ")}</span>}
        {answer?.usage != null && <span className={styles.quiet}>{short(answer.usage.output)} out</span>}
        {answer?.money != null && (
          <span className={styles.quiet}>
            {answer.priced_as !== null && "≈"}
            {dollars(answer.money)}
          </span>
        )}
      </div>
      <span className={styles.took} title={firstByte(answer?.first_byte_ms ?? null)}>
        {answer === null ? "" : duration(answer.total_ms)}
      </span>
      {answer?.error != null && (
        <p className={styles.error}>
          {answer.error.kind}: {answer.error.message}
        </p>
      )}
      {miss !== null && <p className={styles.note}>{miss}</p>}
      {(answer?.applied_edits.length ?? 0) > 0 && (
        <p className={styles.note}>
          The provider itself cleared content: {answer?.applied_edits.map(clearedWords).join("; ")}.
        </p>
      )}
      {answer?.compacted === true && (
        <p className={styles.note}>The provider summarised earlier content. From here on, the summary replaces it.</p>
      )}
      {(answer?.transformations.length ?? 0) > 0 && (
        <p className={styles.note}>
          The provider changed the request before reading it (
          {plural(answer?.transformations.length ?? 0, "transformation")}).
        </p>
      )}
    </div>
  );
}

/** The repairs of the request, each with its rule. */
function Repairs({ repairs }: { repairs: readonly (readonly [string, string])[] }) {
  return (
    <Popover shadow="md" width={380} withinPortal>
      <Popover.Target>
        <button type="button" className={styles.number}>
          {plural(repairs.length, "repair")}
        </button>
      </Popover.Target>
      <Popover.Dropdown p={10} aria-label="Repairs">
        <ul className={styles.repairs}>
          {repairs.map(([rule, what]) => (
            <li key={`${rule} ${what}`}>
              <WithCode text={`${what} (rule ${rule})`} />
            </li>
          ))}
        </ul>
      </Popover.Dropdown>
    </Popover>
  );
}

function Asked({ request }: { request: NonNullable<Exchange["request"]> }) {
  const asks = request.asks?.map(editWords).join(" and ") ?? "";
  const asked = asks === "" ? null : `ctx also asked the provider to ${asks}`;
  const meaning = [verdictMeaning(request.verdict), request.detail, asked].filter(Boolean).join(". ");
  return (
    <>
      <Tooltip label={meaning} disabled={meaning === ""}>
        <Badge color={["new", "next", "side"].includes(request.verdict) ? "blue" : "orange"}>
          {verdictWord(request.verdict)}
        </Badge>
      </Tooltip>
      {request.frame !== null && (
        <button type="button" className={styles.frame} onClick={() => go({ open: request.frame })}>
          {request.frame}
        </button>
      )}
      <span>
        {request.new > 0 ? `+${plural(request.new, "message")}` : "nothing new"}
        {request.changed > 0 && `, ${count(request.changed)} changed`}
      </span>
      <span className={styles.quiet}>{bytes(request.bytes)}</span>
    </>
  );
}

export function Reading({ usage }: { usage: Usage }) {
  const shares = cacheShares(usage);
  const label =
    `Read ${count(shares.total)} tokens: ${count(usage.cache_read)} from the cache, ` +
    `${count(usage.cache_write)} written to it, ${count(usage.input)} not cached`;
  return (
    <Tooltip label={label}>
      <div className={styles.reading} role="img" aria-label={label}>
        <span className={styles.track}>
          <span data-part="read" style={{ flexGrow: shares.read }} />
          <span data-part="written" style={{ flexGrow: shares.written }} />
          <span data-part="fresh" style={{ flexGrow: shares.fresh }} />
        </span>
        <span className={styles.total}>{short(shares.total)} in</span>
        <span className={styles.cached}>{percent(shares.read)} cached</span>
      </div>
    </Tooltip>
  );
}

function firstByte(milliseconds: number | null): string | undefined {
  return milliseconds === null ? undefined : `first byte after ${duration(milliseconds)}`;
}
