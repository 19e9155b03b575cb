// The exact body that was sent for a request.

import { Loader, Modal } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { getSent, getSentBody } from "../api/more";
import { bytes } from "../format/numbers";
import { moment } from "../format/time";
import { Code } from "../markup/Code";
import { Clipped } from "../messages/Clipped";
import { Copy } from "../messages/Copy";
import { pretty } from "../messages/summaries";
import { PartProblem } from "../notices/Problem";
import { keys } from "../queries";
import styles from "./SentBody.module.css";

interface Props {
  conversation: string;
  request: number;
  onClose: () => void;
}

export function SentBody({ conversation, request, onClose }: Props) {
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Request r${request}: the body that was sent`}
      size={960}
      lockScroll={false}
      transitionProps={{ duration: 0 }}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Body conversation={conversation} request={request} />
    </Modal>
  );
}

function Body({ conversation, request }: Omit<Props, "onClose">) {
  const { data, error, isPending } = useQuery({
    queryKey: [...keys.conversation(conversation), "sent", request],
    queryFn: async () => {
      const [about, body] = await Promise.all([
        getSent(conversation, request),
        getSentBody(conversation, request).catch(() => null),
      ]);
      return { about, body };
    },
    retry: false,
  });
  const text = useMemo(() => readable(data?.body ?? null), [data]);
  if (isPending) return <Loader size="sm" aria-label="Loading" />;
  if (error !== null) return <PartProblem error={error} />;
  const { about, body } = data;
  return (
    <div className={styles.body}>
      {about !== null && (
        <p className={styles.facts}>
          <span>{moment(about.at)}</span>
          {about.model !== null && <span>{about.model}</span>}
          <span>{about.changed ? "edited" : "as the agent sent it"}</span>
          <span>
            {about.bytes === null ? bytes(about.client_bytes) : bytes(about.bytes)}
            {about.changed && about.bytes !== null && `, the agent sent ${bytes(about.client_bytes)}`}
          </span>
          {about.head !== null && <span>at commit {about.head}</span>}
        </p>
      )}
      {about?.remarks?.map((remark) => <p key={remark}>{remark}</p>)}
      {text === null ? (
        <p>{about?.missing ?? "The body of this request is not recorded."}</p>
      ) : (
        <>
          <div className={styles.tools}>
            <Copy text={() => body ?? ""} label="Copy the sent body" />
          </div>
          <div className={styles.scroll} tabIndex={0} role="region" aria-label="Sent body">
            <Clipped text={text} first={20_000}>
              {(shown) => <Code text={shown} language="json" />}
            </Clipped>
          </div>
        </>
      )}
    </div>
  );
}

/** Shown with a line per member; the copy is the exact body. */
function readable(body: string | null): string | null {
  if (body === null) return null;
  try {
    return pretty(JSON.parse(body));
  } catch {
    return body;
  }
}
