// Bundles the unit tests and runs them with node's own runner.

import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = mkdtempSync(join(tmpdir(), "pintle-ui-"));
const names = readdirSync(join(here, "unit")).filter((name) => name.endsWith(".test.ts")).sort();
try {
  await build({ absWorkingDir: here, entryPoints: names.map((name) => `unit/${name}`), outdir: out, outExtension: { ".js": ".mjs" }, bundle: true, platform: "node", format: "esm", jsx: "automatic", jsxImportSource: "preact", logLevel: "warning", sourcemap: "inline" });
  const files = names.map((name) => join(out, name.replace(/\.ts$/, ".mjs")));
  process.exitCode = spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-reporter=dot", ...files], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
