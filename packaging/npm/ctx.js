#!/usr/bin/env node
// Starts the program of the package for this platform. Nothing is downloaded here: npm has installed it as an optional
// dependency.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `${process.platform}-${process.arch}`;
const program = process.platform === "win32" ? "bin/ctx.exe" : "bin/ctx";

let path;
try {
  path = require.resolve(`context-composer-${platform}/${program}`);
} catch {
  console.error(`error: the package context-composer-${platform} is not installed.`);
  console.error(
    "hint: npm leaves it out with --omit=optional and on platforms without a build; " +
      "install again without that option, or build from source with `cargo xtask install`",
  );
  process.exit(1);
}

const child = spawn(path, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`error: ${path} did not start: ${error.message}`);
  process.exit(1);
});
// A terminal signals both processes; the program decides what it means.
for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(signal ? 128 + (constants.signals[signal] ?? 0) : code));
