import { expect, test } from "vitest";

import { squarify } from "./squarify";

const box = { x: 0, y: 0, width: 600, height: 400 };

test("areas are in proportion, and together they fill the box", () => {
  const values = [6, 6, 4, 3, 2, 2, 1];
  const tiles = squarify(values, (value) => value, box);
  expect(tiles.length).toBe(values.length);
  const area = (tile: { width: number; height: number }) => tile.width * tile.height;
  expect(tiles.reduce((sum, tile) => sum + area(tile), 0)).toBeCloseTo(240_000);
  for (const tile of tiles) expect(area(tile)).toBeCloseTo((tile.item * 240_000) / 24);
});

test("no tile leaves the box, none lies on another", () => {
  const tiles = squarify([90, 30, 12, 7, 7, 3, 1, 1, 0.5], (value) => value, box);
  for (const tile of tiles) {
    expect(tile.x).toBeGreaterThanOrEqual(-0.001);
    expect(tile.y).toBeGreaterThanOrEqual(-0.001);
    expect(tile.x + tile.width).toBeLessThanOrEqual(600.001);
    expect(tile.y + tile.height).toBeLessThanOrEqual(400.001);
  }
  for (const [index, one] of tiles.entries()) {
    for (const other of tiles.slice(index + 1)) {
      const across = Math.min(one.x + one.width, other.x + other.width) - Math.max(one.x, other.x);
      const down = Math.min(one.y + one.height, other.y + other.height) - Math.max(one.y, other.y);
      expect(Math.min(across, down)).toBeLessThan(0.001);
    }
  }
});

test("what is nothing has no tile", () => {
  expect(squarify([0, -1], (value) => value, box)).toEqual([]);
  expect(squarify([1], (value) => value, { ...box, width: 0 })).toEqual([]);
  expect(squarify([3], (value) => value, box)).toEqual([{ item: 3, ...box }]);
});
