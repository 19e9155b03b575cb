// The bar above the history: the current branch, undo and redo, filters.

import { ActionIcon, Button, Menu, NativeSelect, SegmentedControl, Tooltip } from "@mantine/core";
import { CheckIcon, ChevronDownIcon, Cross2Icon, ResetIcon } from "@radix-ui/react-icons";
import { useState } from "react";

import type { Commit, Frame, History } from "../api";
import { plural } from "../format/numbers";
import { shortcut } from "../palette/keys";
import { kindsOf } from "./commits";
import { type Filter, NO_FILTER, type What } from "./entries";
import { NameForm } from "./NameForm";
import styles from "./Toolbar.module.css";
import type { Ways } from "./useWays";

interface Props {
  history: History;
  commits: Commit[];
  frames: Frame[];
  filter: Filter;
  ways: Ways;
  onFilter: (filter: Filter) => void;
}

const WHAT: { value: What; label: string }[] = [
  { value: "everything", label: "Everything" },
  { value: "commits", label: "Commits" },
  { value: "requests", label: "Requests" },
];

export function Toolbar({ history, commits, frames, filter, ways, onFilter }: Props) {
  const kinds = [...new Set(commits.flatMap(kindsOf))].sort();
  const authors = [...new Set(commits.map(({ author }) => author))].sort();
  const turns = frames.map(({ id, title }) => ({ value: id, label: `${id} ${title}`.slice(0, 60) }));
  return (
    <div className={styles.toolbar}>
      <Branches history={history} ways={ways} />
      <Tooltip label={`Undo the newest change (${shortcut("undo")})`}>
        <ActionIcon variant="default" size="md" aria-label="Undo" onClick={() => void ways.undo()}>
          <ResetIcon />
        </ActionIcon>
      </Tooltip>
      <Tooltip label={`Redo the last undone change (${shortcut("redo")})`}>
        <ActionIcon variant="default" size="md" aria-label="Redo" onClick={() => void ways.redo()}>
          <ResetIcon className={styles.mirrored ?? ""} />
        </ActionIcon>
      </Tooltip>
      <span className={styles.grow} />
      <SegmentedControl
        size="xs"
        data={WHAT}
        value={filter.what}
        onChange={(what) => onFilter({ ...filter, what: what as What })}
        aria-label="Show"
      />
      {turns.length > 0 && (
        <Choice
          label="Frame"
          any="Any frame"
          value={filter.frame}
          options={turns}
          onChange={(frame) => onFilter({ ...filter, frame })}
        />
      )}
      {commits.length > 0 && filter.what !== "requests" && (
        <>
          <Choice
            label="Kind"
            any="Any kind"
            value={filter.kind}
            options={kinds.map(same)}
            onChange={(kind) => onFilter({ ...filter, kind })}
          />
          <Choice
            label="Author"
            any="Any author"
            value={filter.author}
            options={authors.map(same)}
            onChange={(author) => onFilter({ ...filter, author })}
          />
        </>
      )}
      {(filter.frame !== null || filter.kind !== null || filter.author !== null) && (
        <ActionIcon variant="subtle" color="gray" aria-label="Clear filters" onClick={() => onFilter(NO_FILTER)}>
          <Cross2Icon />
        </ActionIcon>
      )}
    </div>
  );
}

const same = (value: string) => ({ value, label: value });

interface ChoiceProps {
  label: string;
  any: string;
  value: string | null;
  options: { value: string; label: string }[];
  onChange: (value: string | null) => void;
}

function Choice({ label, any, value, options, onChange }: ChoiceProps) {
  return (
    <NativeSelect
      size="xs"
      className={styles.choice ?? ""}
      aria-label={label}
      data={[{ value: "", label: any }, ...options]}
      value={value ?? ""}
      onChange={(event) => onChange(event.currentTarget.value || null)}
    />
  );
}

function Branches({ history, ways }: { history: History; ways: Ways }) {
  const [naming, setNaming] = useState(false);
  if (naming) {
    return (
      <NameForm
        label="Name of the new branch"
        onCancel={() => setNaming(false)}
        onName={(name) => {
          setNaming(false);
          void ways.go({ action: "branch", name });
        }}
      />
    );
  }
  return (
    <Menu position="bottom-start" shadow="md" transitionProps={{ duration: 0 }}>
      <Menu.Target>
        <Button size="xs" variant="default" rightSection={<ChevronDownIcon />}>
          <span className={styles.quiet}>branch</span>&nbsp;{history.branch}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Branches of edits</Menu.Label>
        {history.branches.map(({ name, current, commits }) => (
          <Menu.Item
            key={name}
            leftSection={current ? <CheckIcon /> : <span className={styles.blank} />}
            rightSection={<span className={styles.quiet}>{plural(commits, "commit")}</span>}
            onClick={() => !current && void ways.go({ action: "checkout", name })}
          >
            {name}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item leftSection={<span className={styles.blank} />} onClick={() => setNaming(true)}>
          New branch from here…
        </Menu.Item>
        {history.branches
          .filter(({ current }) => !current)
          .map(({ name }) => (
            <Menu.Item
              key={`remove ${name}`}
              color="red"
              leftSection={<span className={styles.blank} />}
              onClick={() => void ways.go({ action: "remove_branch", name })}
            >
              Remove {name}
            </Menu.Item>
          ))}
      </Menu.Dropdown>
    </Menu>
  );
}
