// The command palette: finds any action or place by typing.

import { Modal } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { MagnifyingGlassIcon } from "@radix-ui/react-icons";
import { useEffect, useId, useMemo, useRef, useState } from "react";

import type { Conversation } from "../api";
import { marked, useSearch } from "../conversations/useSearch";
import type { Ways } from "../history/useWays";
import { Caps } from "./Caps";
import { grouped } from "./entries";
import { FIELD } from "./open";
import styles from "./PaletteDialog.module.css";
import { useChoices, useHits } from "./useChoices";

interface Props {
  conversation: Conversation | undefined;
  conversations: Conversation[];
  ways: Ways;
  query: string;
  onQuery: (query: string) => void;
  onKeys: () => void;
  onScheme: () => void;
  onClose: () => void;
}

export function PaletteDialog({ query, onQuery, onClose, ...rest }: Props) {
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const [searched] = useDebouncedValue(query.trim(), 200);
  const search = useSearch(searched.length >= 3 ? searched : "");
  const choices = useChoices(rest);
  const hits = useHits(search.data, searched);
  const groups = useMemo(() => grouped(choices, query, query.trim().length < 3 ? [] : hits), [choices, query, hits]);
  const flat = groups.flatMap((group) => group.choices);
  const chosen = Math.min(at, Math.max(0, flat.length - 1));

  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [chosen, groups]);

  const run = (index: number) => {
    const choice = flat[index];
    if (choice === undefined) return;
    onClose();
    // The action may take the focus, which the closing dialog restores first.
    setTimeout(choice.run);
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      const wrapped = Math.abs(step) === 1 ? (chosen + step + flat.length) % flat.length : chosen + step;
      setAt(Math.max(0, Math.min(flat.length - 1, wrapped)));
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(chosen);
    }
  };

  const inText = flat.filter(({ mark }) => mark !== undefined).length;
  const places = search.data?.conversations.reduce((sum, { matches }) => sum + matches, 0) ?? 0;
  const more = inText > 0 && inText < places ? `${inText} of ${places} matches in the text; the search field lists all.` : "";
  let index = -1;
  return (
    <Modal.Root opened onClose={onClose} size={620} yOffset="12vh" lockScroll={false} transitionProps={{ duration: 0 }}>
      <Modal.Overlay backgroundOpacity={0.35} />
      <Modal.Content aria-label="Command palette" radius={10}>
        <div className={styles.field}>
          <MagnifyingGlassIcon aria-hidden />
          <input
            className={styles.input}
            {...FIELD}
            data-autofocus
            type="text"
            role="combobox"
            aria-label="Command palette"
            aria-expanded
            aria-controls={`${id}-list`}
            aria-activedescendant={flat.length > 0 ? `${id}-${chosen}` : undefined}
            placeholder="Search commands, frames, conversations and text"
            spellCheck={false}
            autoComplete="off"
            value={query}
            onChange={(event) => {
              onQuery(event.currentTarget.value);
              setAt(0);
            }}
            onKeyDown={onKeyDown}
          />
          <Caps keys="escape" />
        </div>
        <div className={styles.list} id={`${id}-list`} role="listbox" aria-label="Matches" ref={list}>
          {groups.map((group) => (
            <div key={group.name} role="group" aria-label={group.name}>
              <div className={styles.group} aria-hidden>
                {group.name}
              </div>
              {group.choices.map((choice) => {
                index += 1;
                const mine = index;
                return (
                  <div
                    key={choice.id}
                    id={`${id}-${mine}`}
                    role="option"
                    aria-selected={mine === chosen}
                    data-later={choice.later}
                    className={styles.choice}
                    onMouseMove={() => mine !== chosen && setAt(mine)}
                    onClick={() => run(mine)}
                  >
                    <bdi className={styles.label}>
                      {marked(choice.label, choice.mark ?? "").map(({ text, hit }, part) =>
                        hit ? <mark key={part}>{text}</mark> : text,
                      )}
                    </bdi>
                    {choice.detail !== undefined && <bdi className={styles.detail}>{choice.detail}</bdi>}
                    {choice.keys !== undefined && <Caps keys={choice.keys} />}
                  </div>
                );
              })}
            </div>
          ))}
        </div>
        <p className={styles.foot} role="status">
          {search.isFetching ? "Searching the text…" : flat.length === 0 ? `Nothing matches “${query}”.` : more}
        </p>
      </Modal.Content>
    </Modal.Root>
  );
}
