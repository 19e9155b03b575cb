// Selects rows by rule, and shows how many rows each rule matches.

import { Button, NumberInput, Popover } from "@mantine/core";
import { ChevronDownIcon } from "@radix-ui/react-icons";
import { useState } from "react";

import type { Frames } from "../api";
import { short } from "../format/numbers";
import styles from "./RuleMenu.module.css";
import { byTool, largerThan, olderThan, superseded, toolsOf } from "./rules";

interface Props {
  frames: Frames;
  onChoose: (ids: readonly string[]) => void;
}

/** The number of tools listed. */
const TOOLS_SHOWN = 12;

export function RuleMenu({ frames, onChoose }: Props) {
  const [opened, setOpened] = useState(false);
  const choose = (ids: readonly string[]) => {
    setOpened(false);
    onChoose(ids);
  };
  return (
    <Popover
      opened={opened}
      onChange={setOpened}
      position="bottom-start"
      shadow="md"
      width={280}
      withinPortal
      trapFocus
    >
      <Popover.Target>
        <Button
          size="compact-xs"
          variant="default"
          rightSection={<ChevronDownIcon width={12} height={12} />}
          onClick={() => setOpened(!opened)}
        >
          Select
        </Button>
      </Popover.Target>
      <Popover.Dropdown p={6} aria-label="Select by rule">
        {/* Counted only while the menu is open. */}
        {opened && <Rules frames={frames} onChoose={choose} />}
      </Popover.Dropdown>
    </Popover>
  );
}

function Rules({ frames, onChoose }: Props) {
  const [size, setSize] = useState<number | string>(2000);
  const [age, setAge] = useState<number | string>(5);
  return (
    <div className={styles.rules}>
      <div className={styles.row}>
        <Rule label="Larger than" ids={largerThan(frames, Number(size))} onChoose={onChoose} />
        <NumberInput
          size="xs"
          aria-label="Tokens"
          suffix=" tokens"
          min={0}
          step={500}
          value={size}
          onChange={setSize}
        />
      </div>
      <div className={styles.row}>
        <Rule label="Older than" ids={olderThan(frames, Number(age))} onChoose={onChoose} />
        <NumberInput size="xs" aria-label="Frames back" suffix=" frames" min={0} value={age} onChange={setAge} />
      </div>
      <Rule label="Read again or changed later" ids={superseded(frames)} onChoose={onChoose} />
      <h3 className={styles.heading}>Steps with calls of</h3>
      {toolsOf(frames)
        .slice(0, TOOLS_SHOWN)
        .map(({ tool, tokens }) => (
          <Rule
            key={tool}
            label={tool}
            more={`${short(tokens)} tokens`}
            ids={byTool(frames, tool)}
            onChoose={onChoose}
          />
        ))}
    </div>
  );
}

interface RuleProps {
  label: string;
  more?: string;
  ids: string[];
  onChoose: (ids: readonly string[]) => void;
}

function Rule({ label, more, ids, onChoose }: RuleProps) {
  return (
    <button type="button" className={styles.rule} disabled={ids.length === 0} onClick={() => onChoose(ids)}>
      <span>{label}</span>
      {more !== undefined && <span className={styles.more}>{more}</span>}
      <span className={styles.count}>{ids.length}</span>
    </button>
  );
}
