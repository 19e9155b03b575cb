// Shared conversations, and the form that shares one.

import { Badge, Button, Checkbox, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";

import { type Me, share, type Share, unshare } from "../api/team";
import { PartProblem } from "../notices/Problem";
import { useConversations } from "../queries";
import { audits } from "./roles";
import { Table, When } from "./Table";
import styles from "./team.module.css";
import { useChange, useShares } from "./useTeam";

const withWhom = ({ person, group }: Pick<Share, "person" | "group">) => person ?? `group ${group ?? ""}`;

export function Shares({ me }: { me: Me }) {
  const { data: shares, error } = useShares();
  const { data: conversations } = useConversations();
  const end = useChange(
    ({ conversation, person, group }: Share) =>
      unshare(conversation, { person: person ?? null, group: group ?? null, edit: false }),
    (ended) => `No longer shared with ${withWhom(ended)}`,
  );
  const titleOf = (one: Share) =>
    one.owner === me.name ? conversations?.find(({ id }) => id === one.conversation)?.title : undefined;
  return (
    <>
      <PartProblem error={error} />
      <ShareForm />
      <Table
        label="Shares"
        heads={[...(audits(me) ? ["Owner"] : []), "Conversation", "Shared with", "May", "Since", ""]}
        empty="Nothing is shared."
        isEmpty={shares?.length === 0}
      >
        {(shares ?? []).map((one) => (
          <tr key={`${one.owner} ${one.conversation} ${withWhom(one)}`}>
            {audits(me) && (
              <th scope="row">
                <bdi>{one.owner}</bdi>
              </th>
            )}
            <td>
              <span className={styles.mono}>{one.conversation}</span> <bdi className={styles.faint}>{titleOf(one)}</bdi>
            </td>
            <td>
              <bdi>{withWhom(one)}</bdi>
            </td>
            <td>
              <Badge size="xs" variant="light" color={one.access === "edit" ? "orange" : "blue"}>
                {one.access}
              </Badge>
            </td>
            <td>
              <When at={one.at} />
            </td>
            <td className={styles.actions}>
              {one.owner === me.name && (
                <Button size="compact-xs" variant="subtle" color="red" onClick={() => end.mutate(one)}>
                  End
                </Button>
              )}
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}

function ShareForm() {
  const { data: conversations } = useConversations();
  const own = (conversations ?? []).filter(({ owner }) => owner == null);
  const [conversation, setConversation] = useState("");
  const [kind, setKind] = useState<"person" | "group">("person");
  const [name, setName] = useState("");
  const [edit, setEdit] = useState(false);
  const give = useChange(
    (request: { conversation: string; person: string | null; group: string | null; edit: boolean }) => {
      const { conversation, ...whom } = request;
      return share(conversation, whom);
    },
    (request) => `Shared with ${withWhom(request)}`,
  );
  if (own.length === 0) return null;
  const chosen = own.find(({ id }) => id === conversation)?.id ?? own[0]?.id ?? "";
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        const whom = { person: kind === "person" ? name.trim() : null, group: kind === "group" ? name.trim() : null };
        give.mutate({ conversation: chosen, ...whom, edit }, { onSuccess: () => setName("") });
      }}
    >
      <NativeSelect
        size="xs"
        label="Conversation"
        className={styles.wide ?? ""}
        data={own.map(({ id, title }) => ({ value: id, label: title || id }))}
        value={chosen}
        onChange={(event) => setConversation(event.currentTarget.value)}
      />
      <NativeSelect
        size="xs"
        label="With a"
        data={["person", "group"]}
        value={kind}
        onChange={(event) => setKind(event.currentTarget.value as "person" | "group")}
      />
      <TextInput size="xs" label="Name" value={name} onChange={(event) => setName(event.currentTarget.value)} />
      <Checkbox
        size="xs"
        className={styles.check ?? ""}
        label="may edit"
        checked={edit}
        onChange={(event) => setEdit(event.currentTarget.checked)}
      />
      <Button size="xs" type="submit" loading={give.isPending} disabled={name.trim() === ""}>
        Share
      </Button>
    </form>
  );
}
