// A treemap: rectangles whose areas are the values, as close to squares as a row at a time allows.

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Tile<Item> extends Box {
  item: Item;
}

/** Values that are not above zero have no tile. The largest come first, from the upper left corner. */
export function squarify<Item>(items: Item[], value: (item: Item) => number, box: Box): Tile<Item>[] {
  const sized = items
    .map((item) => ({ item, value: value(item) }))
    .filter((entry) => entry.value > 0)
    .sort((left, right) => right.value - left.value);
  const total = sized.reduce((sum, entry) => sum + entry.value, 0);
  if (total <= 0 || box.width <= 0 || box.height <= 0) return [];
  const scale = (box.width * box.height) / total;
  const tiles: Tile<Item>[] = [];
  let room = { ...box };
  let row: { item: Item; area: number }[] = [];

  const lay = () => {
    const along = Math.min(room.width, room.height);
    const depth = sum(row) / along;
    let offset = 0;
    for (const { item, area } of row) {
      const length = area / depth;
      tiles.push(
        room.width >= room.height
          ? { item, x: room.x, y: room.y + offset, width: depth, height: length }
          : { item, x: room.x + offset, y: room.y, width: length, height: depth },
      );
      offset += length;
    }
    room =
      room.width >= room.height
        ? { ...room, x: room.x + depth, width: room.width - depth }
        : { ...room, y: room.y + depth, height: room.height - depth };
    row = [];
  };

  for (const entry of sized) {
    const next = { item: entry.item, area: entry.value * scale };
    const along = Math.min(room.width, room.height);
    if (row.length > 0 && worst([...row, next], along) > worst(row, along)) lay();
    row.push(next);
  }
  if (row.length > 0) lay();
  return tiles;
}

function sum(row: { area: number }[]): number {
  return row.reduce((total, { area }) => total + area, 0);
}

/** The worst aspect ratio in a row, if the row is laid along a side of this length. */
function worst(row: { area: number }[], along: number): number {
  const depth = sum(row) / along;
  return Math.max(...row.map(({ area }) => Math.max(depth / (area / depth), area / depth / depth)));
}
