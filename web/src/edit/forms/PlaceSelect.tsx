// Selects the place of new content.

import { NativeSelect } from "@mantine/core";

import type { Where } from "../../api";
import { useFrames } from "../../queries";
import { placesOf, sameWhere } from "./places";

interface Props {
  conversation: string;
  value: Where | undefined;
  onChange: (to: Where) => void;
}

export function PlaceSelect({ conversation, value, onChange }: Props) {
  const { data: frames } = useFrames(conversation);
  const places = frames === undefined ? [] : placesOf(frames);
  const chosen = places.find(({ to }) => sameWhere(value, to));
  return (
    <NativeSelect
      size="xs"
      label="Place"
      value={chosen?.value ?? "end"}
      onChange={({ currentTarget }) =>
        onChange(places.find((place) => place.value === currentTarget.value)?.to ?? { end: true })
      }
      data={[
        ...places.map(({ value, after }) => ({
          value,
          label: after === null ? "At the start" : `After ${after.id}: ${after.title.slice(0, 60)}`,
        })),
        { value: "end", label: "At the end" },
      ]}
    />
  );
}
