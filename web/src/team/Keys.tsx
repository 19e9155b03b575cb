// Keys: the person's own, and for auditors and admins everyone's.

import { Badge, Button, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";

import { type Key, makeKey, type MadeKey, type Me, revokeKey } from "../api/team";
import { useNow } from "../format/useNow";
import { PartProblem } from "../notices/Problem";
import { Confirm } from "./Confirm";
import { NewKeyDialog } from "./NewKeyDialog";
import { audits, manages } from "./roles";
import { Table, When } from "./Table";
import styles from "./team.module.css";
import { useChange, usePeople, useTeamKeys } from "./useTeam";

const LIFETIMES = [
  { value: "", label: "never" },
  { value: "30", label: "in 30 days" },
  { value: "90", label: "in 90 days" },
  { value: "365", label: "in a year" },
];

/** The scopes of a key. */
const USES = [
  { value: "", label: "everything" },
  { value: "proxy", label: "agents only" },
  { value: "look", label: "reading" },
  { value: "look,edit", label: "reading and editing" },
  { value: "proxy,look,edit", label: "agents, reading and editing" },
];

export function Keys({ me }: { me: Me }) {
  const { data: keys, error } = useTeamKeys();
  const [revoking, setRevoking] = useState<Key | null>(null);
  const revoke = useChange(
    (key: Key) => revokeKey(key.id),
    ({ id }) => `Revoked key ${id}`,
  );
  const everyone = audits(me);
  return (
    <>
      <PartProblem error={error} />
      <MakeKey me={me} />
      <Table
        label="Keys"
        heads={[...(everyone ? ["Person"] : []), "Key", "Label", "Scopes", "Made", "Last used", "Expires", ""]}
        empty="No keys yet."
        isEmpty={keys?.length === 0}
      >
        {(keys ?? []).map((key) => (
          <tr key={key.id} data-over={key.revoked_at != null}>
            {everyone && (
              <th scope="row">
                <bdi>{key.person}</bdi>
              </th>
            )}
            <td className={styles.mono} title={`Id ${key.id}`}>
              {key.shown}…
            </td>
            <td>
              {key.label}
              {key.made_by != null && (
                <div className={styles.faint}>
                  made by <bdi>{key.made_by}</bdi>
                </div>
              )}
            </td>
            <td>{key.scopes.length === 4 ? <span className={styles.faint}>all</span> : key.scopes.join(", ")}</td>
            <td>
              <When at={key.made_at} />
            </td>
            <td>
              <When at={key.last_used} />
            </td>
            <td>
              <State value={key} />
            </td>
            <td className={styles.actions}>
              {key.revoked_at == null && (manages(me) || key.person === me.name) && (
                <Button size="compact-xs" variant="subtle" color="red" onClick={() => setRevoking(key)}>
                  Revoke
                </Button>
              )}
            </td>
          </tr>
        ))}
      </Table>
      {revoking !== null && (
        <Confirm
          title={`Revoke ${revoking.shown}… of ${revoking.person}?`}
          words="Agents and browsers that use it are refused at once. This cannot be undone; make a new key instead."
          label="Revoke"
          onClose={() => setRevoking(null)}
          onConfirm={() => revoke.mutate(revoking)}
        />
      )}
    </>
  );
}

function State({ value: { revoked_at, expires_at } }: { value: Key }) {
  const now = useNow();
  if (revoked_at != null) return <Badge size="xs" color="gray" variant="light">revoked</Badge>;
  if (expires_at == null) return <span className={styles.faint}>never</span>;
  if (expires_at <= now) return <Badge size="xs" color="orange" variant="light">expired</Badge>;
  const days = Math.ceil((expires_at - now) / 86_400_000);
  return <time title={new Date(expires_at).toISOString()}>in {days} d</time>;
}

function MakeKey({ me }: { me: Me }) {
  const { data: people } = usePeople(manages(me));
  const [person, setPerson] = useState("");
  const [label, setLabel] = useState("");
  const [days, setDays] = useState("");
  const [use, setUse] = useState("");
  const [made, setMade] = useState<MadeKey | null>(null);
  const make = useChange(makeKey, (_, { person }) => `Made a key for ${person}`);
  const names = (people ?? []).map(({ name }) => name);
  // The operator has the daemon's token, and needs no key.
  const isPerson = !manages(me) || names.includes(me.name);
  const chosen = person === "" && !isPerson ? (names[0] ?? "") : person;
  return (
    <>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          const request = {
            label: label.trim(),
            person: chosen === "" ? null : chosen,
            days: days === "" ? null : Number(days),
            scopes: use === "" ? null : use.split(","),
          };
          make.mutate(request, {
            onSuccess: (key) => {
              setMade(key);
              setLabel("");
            },
          });
        }}
      >
        {manages(me) && (
          <NativeSelect
            size="xs"
            label="For"
            data={[
              ...(isPerson ? [{ value: "", label: `${me.name} (you)` }] : []),
              ...names.filter((name) => name !== me.name).map((name) => ({ value: name, label: name })),
            ]}
            value={chosen}
            onChange={(event) => setPerson(event.currentTarget.value)}
          />
        )}
        <TextInput
          size="xs"
          label="Label"
          placeholder="laptop"
          value={label}
          onChange={(event) => setLabel(event.currentTarget.value)}
        />
        <NativeSelect size="xs" label="Scopes" data={USES} value={use} onChange={(event) => setUse(event.currentTarget.value)} />
        <NativeSelect size="xs" label="Expires" data={LIFETIMES} value={days} onChange={(event) => setDays(event.currentTarget.value)} />
        <Button size="xs" type="submit" loading={make.isPending} disabled={!isPerson && chosen === ""}>
          Make a key
        </Button>
      </form>
      {made !== null && <NewKeyDialog made={made} onClose={() => setMade(null)} />}
    </>
  );
}
