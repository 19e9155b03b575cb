import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

const LIBRARY = "node_modules/@mantine/core";
const sources = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name));

/** The components that a file imports, by name. */
function imported(text: string, from: RegExp): string[] {
  return [...text.matchAll(/import \{([^}]*)\} from "([^"]*)"/g)]
    .filter(([, , where = ""]) => from.test(where))
    .flatMap(([, names = ""]) => names.match(/\b[A-Z]\w+/g) ?? []);
}

/** Components with styles, and all components of the library that those are made of. */
function made(name: string, seen: Set<string>): void {
  const folder = join(LIBRARY, "esm/components", name);
  if (seen.has(name) || !existsSync(folder)) return;
  seen.add(name);
  for (const file of readdirSync(folder).filter((file) => file.endsWith(".mjs"))) {
    for (const [, other = ""] of readFileSync(join(folder, file), "utf8").matchAll(/from "\.\.\/(\w+)\//g)) made(other, seen);
  }
}

test("every component that is used has its styles", () => {
  const css = readFileSync("src/library.css", "utf8");
  const used = new Set<string>();
  for (const name of sources) {
    for (const component of imported(readFileSync(join("src", name), "utf8"), /^@mantine\/core$/)) made(component, used);
  }
  expect(used.size).toBeGreaterThan(20);
  const styled = [...used].filter((name) => existsSync(join(LIBRARY, "styles", `${name}.layer.css`)));
  expect(styled.filter((name) => !css.includes(`/${name}.layer.css`))).toEqual([]);
});
