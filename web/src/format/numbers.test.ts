import { describe, expect, test } from "vitest";

import { bytes, count, dollars, percent, plural, short, tokens } from "./numbers";

describe("short", () => {
  test.each([
    [0, "0"],
    [999, "999"],
    [1000, "1k"],
    [18_234, "18.2k"],
    [99_949, "99.9k"],
    [99_950, "100k"],
    [200_000, "200k"],
    [999_499, "999k"],
    [999_500, "1M"],
    [1_250_000, "1.25M"],
  ])("writes %d as %s", (value, expected) => expect(short(value)).toBe(expected));
});

describe("bytes", () => {
  test.each([
    [0, "0 B"],
    [999, "999 B"],
    [51_234, "51.2 KB"],
    [999_600, "1 MB"],
    [5_300_000, "5.3 MB"],
    [250_000_000, "250 MB"],
    [3e15, "3000 TB"],
  ])("writes %d as %s", (value, expected) => expect(bytes(value)).toBe(expected));
});

test("an estimate is marked until it is calibrated", () => {
  expect(tokens(1200, false)).toBe("≈1.2k");
  expect(tokens(1200, true)).toBe("1.2k");
});

test("a share never claims nothing or everything when it is not", () => {
  expect([0, 0.001, 0.02, 0.5, 0.999, 1].map(percent)).toEqual(["0%", "<1%", "2%", "50%", ">99%", "100%"]);
  expect(percent(Number.NaN)).toBe("0%");
});

test("counts are grouped, and one is not many", () => {
  expect(count(1_234_567)).toBe("1,234,567");
  expect(plural(1, "step")).toBe("1 step");
  expect(plural(0, "step")).toBe("0 steps");
});

test("money has two figures that say something", () => {
  expect([0, 0.00421, 0.5, 12.3].map(dollars)).toEqual(["$0", "$0.0042", "$0.50", "$12.30"]);
});
