// The team's page: people, keys, shares, the audit log and the daemons. Members see their own.

import { SegmentedControl } from "@mantine/core";

import type { Section } from "../address";
import { useStatus } from "../queries";
import { goToTeam } from "../route";
import { AuditLog } from "./AuditLog";
import { Daemons } from "./Daemons";
import { Keys } from "./Keys";
import { Notices } from "./Notices";
import { People } from "./People";
import { sectionsFor } from "./roles";
import { Shares } from "./Shares";
import { Spend } from "./Spend";
import styles from "./team.module.css";

const WORDS: Record<Section, string> = {
  people: "Everyone who uses this daemon. Conversations belong to their owner: roles show figures, never content.",
  keys: "A key is shown once, when it is made. A revoked key is refused by all daemons at once.",
  spend: "What requests cost. The figures are those of ctx stats.",
  shares: "Conversations that their owners share with a person or a group.",
  notices: "Auditors and admins can open a conversation for an hour, for a reason. This list shows who did.",
  audit: "Changes of people, keys and shares, sign-ins, opened conversations, exports and purges. Newest first.",
  daemons: "The daemons that serve this team from one database.",
};

export function TeamPage({ section }: { section: Section | null }) {
  const { data: status } = useStatus();
  const me = status?.me;
  if (status === undefined || me == null) return null;
  const sections = sectionsFor(me);
  const shown = sections.find(({ value }) => value === section)?.value ?? sections[0]?.value ?? "keys";
  return (
    <div className={styles.page}>
      <header className={styles.header}>
        <h2 className={styles.title}>Team</h2>
        <SegmentedControl
          size="xs"
          data={sections}
          value={shown}
          onChange={(value) => goToTeam(value as Section)}
          aria-label="Section"
        />
      </header>
      <p className={styles.words}>{WORDS[shown]}</p>
      {shown === "people" && <People me={me} />}
      {shown === "keys" && <Keys me={me} />}
      {shown === "spend" && <Spend me={me} />}
      {shown === "shares" && <Shares me={me} />}
      {shown === "notices" && <Notices />}
      {shown === "audit" && <AuditLog />}
      {shown === "daemons" && <Daemons status={status} />}
    </div>
  );
}
