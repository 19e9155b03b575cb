// Makes src/api/schema.ts, the types of the control API, from openapi.json; nothing is written while that is the same.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import openapiTypescript, { astToString } from "openapi-typescript";

const web = new URL("../", import.meta.url);
const from = readFileSync(new URL("openapi.json", web));
const to = new URL("src/api/schema.ts", web);
const head = `// Made from openapi.json by dev/generate.mjs. ${createHash("sha256").update(from).digest("hex")}\n`;

if (!existsSync(to) || !readFileSync(to, "utf8").startsWith(head)) {
  // Moved into place, so that no process reads half of it.
  const draft = new URL(`src/api/schema.ts.${process.pid}`, web);
  writeFileSync(draft, head + astToString(await openapiTypescript(JSON.parse(from.toString()))));
  renameSync(draft, to);
}
