// A provider rule by number; explained on request.

import { Loader, Popover, UnstyledButton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";

import { getTerm } from "../api";
import styles from "./notices.module.css";

export function Rule({ number }: { number: string }) {
  const [opened, setOpened] = useState(false);
  const name = useId();
  return (
    <Popover opened={opened} onChange={setOpened} shadow="md" width={340} withinPortal>
      <Popover.Target>
        <UnstyledButton
          component="span"
          role="button"
          tabIndex={0}
          className={styles.rule}
          aria-expanded={opened}
          title={`Explain rule ${number}`}
          onClick={(event) => {
            event.stopPropagation();
            setOpened(!opened);
          }}
          onKeyDown={(event) => event.key === "Enter" && setOpened(!opened)}
        >
          {number}
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown p={10} className={styles.term ?? ""} aria-labelledby={name}>
        <h3 id={name}>Rule {number}</h3>
        {opened && <Explained number={number} />}
      </Popover.Dropdown>
    </Popover>
  );
}

function Explained({ number }: { number: string }) {
  const { data: term, error, isPending } = useQuery({
    queryKey: ["term", number],
    queryFn: () => getTerm(number),
    retry: false,
  });
  if (isPending) return <Loader size="xs" aria-label="Loading" />;
  if (term === undefined) return <p>{error?.message}</p>;
  return (
    <>
      <p>{term.meaning}</p>
      {term.why != null && <p>{term.why}</p>}
      <p>{term.advice}</p>
    </>
  );
}
