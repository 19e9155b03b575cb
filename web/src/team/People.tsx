// The people of a team: their roles and groups, and for auditors the figures of their conversations.

import { ActionIcon, Button, Menu, NativeSelect, TextInput } from "@mantine/core";
import { DotsHorizontalIcon } from "@radix-ui/react-icons";
import { useState } from "react";

import { addPerson, changePerson, type Me, makeKey, type MadeKey, type Person, removePerson } from "../api/team";
import { PartProblem } from "../notices/Problem";
import { Confirm } from "./Confirm";
import { Figures } from "./Figures";
import { NewKeyDialog } from "./NewKeyDialog";
import { listed, manages, ROLES } from "./roles";
import { Table, When } from "./Table";
import styles from "./team.module.css";
import { useChange, usePeople } from "./useTeam";

export function People({ me }: { me: Me }) {
  const { data: people, error } = usePeople();
  const [made, setMade] = useState<MadeKey | null>(null);
  const [looking, setLooking] = useState<string | null>(null);
  const [removing, setRemoving] = useState<string | null>(null);
  const key = useChange(makeKey, ({ person }) => `Made a key for ${person ?? ""}`);
  const remove = useChange(removePerson, (name) => `Removed ${name}`);
  return (
    <>
      <PartProblem error={error} />
      {manages(me) && <AddPerson />}
      <Table
        label="People"
        heads={["Name", "Role", "Groups", "Keys", "Last used", ""]}
        empty="No people yet. Add the first person above, then create their key."
        isEmpty={people?.length === 0}
      >
        {(people ?? []).map((person) => (
          <Row
            key={person.name}
            person={person}
            me={me}
            onKey={() => key.mutate({ person: person.name, label: "", days: null, scopes: null }, { onSuccess: setMade })}
            onFigures={() => setLooking(person.name)}
            onRemove={() => setRemoving(person.name)}
          />
        ))}
      </Table>
      {made !== null && <NewKeyDialog made={made} onClose={() => setMade(null)} />}
      {looking !== null && <Figures person={looking} onClose={() => setLooking(null)} />}
      {removing !== null && (
        <Confirm
          title={`Remove ${removing}?`}
          words="Their keys and shares end at once. Their conversations stay in the store."
          label="Remove"
          onClose={() => setRemoving(null)}
          onConfirm={() => remove.mutate(removing)}
        />
      )}
    </>
  );
}

interface RowProps {
  person: Person;
  me: Me;
  onKey: () => void;
  onFigures: () => void;
  onRemove: () => void;
}

function Row({ person, me, onKey, onFigures, onRemove }: RowProps) {
  const { name, role, groups, keys, last_used } = person;
  const change = useChange(
    (request: { role?: string; groups?: string[] }) => changePerson(name, { role: null, groups: null, unlink: false, link: null, ...request }),
    (request) => (request.role === undefined ? `Changed the groups of ${name}` : `${name} is now ${request.role}`),
  );
  const may = manages(me);
  return (
    <tr>
      <th scope="row">
        <bdi>{name}</bdi>
        {name === me.name && <span className={styles.you}>you</span>}
      </th>
      <td>
        {may ? (
          <NativeSelect
            size="xs"
            variant="unstyled"
            className={styles.role ?? ""}
            aria-label={`Role of ${name}`}
            data={ROLES}
            value={role}
            onChange={(event) => change.mutate({ role: event.currentTarget.value })}
          />
        ) : (
          role
        )}
      </td>
      <td>{may ? <Groups key={groups.join()} name={name} groups={groups} onChange={(groups) => change.mutate({ groups })} /> : groups.join(", ")}</td>
      <td className={styles.number}>{keys}</td>
      <td>
        <When at={last_used} />
      </td>
      <td className={styles.actions}>
        <Menu position="bottom-end" shadow="md" width={200} withinPortal>
          <Menu.Target>
            <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${name}`}>
              <DotsHorizontalIcon />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            {may && <Menu.Item onClick={onKey}>New key</Menu.Item>}
            <Menu.Item onClick={onFigures}>Conversations (figures)</Menu.Item>
            {may && name !== me.name && (
              <Menu.Item color="red" onClick={onRemove}>
                Remove…
              </Menu.Item>
            )}
          </Menu.Dropdown>
        </Menu>
      </td>
    </tr>
  );
}

/** Groups as one text, stored when the field is left. */
function Groups({ name, groups, onChange }: { name: string; groups: string[]; onChange: (groups: string[]) => void }) {
  const [text, setText] = useState(groups.join(", "));
  const store = () => {
    const next = listed(text);
    if (next.join() !== [...groups].sort().join()) onChange(next);
  };
  return (
    <TextInput
      size="xs"
      variant="unstyled"
      placeholder="none"
      aria-label={`Groups of ${name}`}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={store}
      onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
    />
  );
}

function AddPerson() {
  const [name, setName] = useState("");
  const [role, setRole] = useState("member");
  const [groups, setGroups] = useState("");
  const add = useChange(addPerson, ({ name }) => `Added ${name}`);
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        const request = { name: name.trim(), role, groups: listed(groups) };
        add.mutate(request, {
          onSuccess: () => {
            setName("");
            setGroups("");
          },
        });
      }}
    >
      <TextInput size="xs" label="Name" value={name} onChange={(event) => setName(event.currentTarget.value)} />
      <NativeSelect size="xs" label="Role" data={ROLES} value={role} onChange={(event) => setRole(event.currentTarget.value)} />
      <TextInput
        size="xs"
        label="Groups"
        placeholder="core, web"
        value={groups}
        onChange={(event) => setGroups(event.currentTarget.value)}
      />
      <Button size="xs" type="submit" disabled={name.trim() === ""} loading={add.isPending}>
        Add person
      </Button>
    </form>
  );
}
