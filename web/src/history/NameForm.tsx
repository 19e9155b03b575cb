// Asks for one name, in place.

import { Button, TextInput } from "@mantine/core";
import { useState } from "react";

import { useHoldsKeys } from "../palette/useKeys";
import styles from "./NameForm.module.css";

interface Props {
  label: string;
  onName: (name: string) => void;
  onCancel: () => void;
}

export function NameForm({ label, onName, onCancel }: Props) {
  const [name, setName] = useState("");
  useHoldsKeys();
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() !== "") onName(name.trim());
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onCancel();
      }}
    >
      <TextInput
        size="xs"
        autoFocus
        aria-label={label}
        placeholder={label}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Button size="xs" type="submit" disabled={name.trim() === ""}>
        OK
      </Button>
      <Button size="xs" variant="subtle" color="gray" onClick={onCancel}>
        Cancel
      </Button>
    </form>
  );
}
