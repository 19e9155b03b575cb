// A line diff of two texts, with the unchanged parts folded.

export interface Line {
  kind: "same" | "gone" | "new";
  text: string;
}

export type Piece = { kind: "line"; line: Line } | { kind: "fold"; lines: Line[] };

/** Beyond this number, differing lines are not matched: all the old ones, then all the new ones. */
const MATCH_AT_MOST = 1500;

export function lineDiff(before: string, after: string): Line[] {
  const old = split(before);
  const now = split(after);
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (
    end < old.length - start &&
    end < now.length - start &&
    old[old.length - 1 - end] === now[now.length - 1 - end]
  ) {
    end += 1;
  }
  return [
    ...old.slice(0, start).map((text): Line => ({ kind: "same", text })),
    ...middle(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...old.slice(old.length - end).map((text): Line => ({ kind: "same", text })),
  ];
}

function middle(old: string[], now: string[]): Line[] {
  const gone = (text: string): Line => ({ kind: "gone", text });
  const added = (text: string): Line => ({ kind: "new", text });
  if (old.length === 0 || now.length === 0 || old.length + now.length > MATCH_AT_MOST) {
    return [...old.map(gone), ...now.map(added)];
  }
  // The longest common run of lines, by the textbook table; its size is bounded above.
  const width = now.length + 1;
  const table = new Uint16Array((old.length + 1) * width);
  const at = (row: number, column: number) => table[row * width + column] ?? 0;
  for (let row = old.length - 1; row >= 0; row -= 1) {
    for (let column = now.length - 1; column >= 0; column -= 1) {
      table[row * width + column] =
        old[row] === now[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const lines: Line[] = [];
  let row = 0;
  let column = 0;
  while (row < old.length || column < now.length) {
    const left = old[row];
    const right = now[column];
    if (left !== undefined && left === right) {
      lines.push({ kind: "same", text: left });
      row += 1;
      column += 1;
    } else if (right === undefined || (left !== undefined && at(row + 1, column) >= at(row, column + 1))) {
      lines.push(gone(left ?? ""));
      row += 1;
    } else {
      lines.push(added(right));
      column += 1;
    }
  }
  return lines;
}

/** Folds runs of unchanged lines, but keeps `around` of them next to each change; a fold hides at least three. */
export function folded(lines: Line[], around = 2): Piece[] {
  const near = new Uint8Array(lines.length);
  lines.forEach(({ kind }, index) => {
    if (kind !== "same") near.fill(1, Math.max(0, index - around), index + around + 1);
  });
  const pieces: Piece[] = [];
  for (let index = 0; index < lines.length;) {
    let end = index;
    while (end < lines.length && near[end] === 0) end += 1;
    if (end - index >= 3) {
      pieces.push({ kind: "fold", lines: lines.slice(index, end) });
      index = end;
      continue;
    }
    end = Math.max(end, index + 1);
    for (const line of lines.slice(index, end)) pieces.push({ kind: "line", line });
    index = end;
  }
  return pieces;
}

function split(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}
