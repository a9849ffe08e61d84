// Writes the bundle to the folder that is named, or to `crates/ui/assets`. The same sources give the same bytes.

import { build } from "esbuild";
import { copyFileSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ? resolve(process.argv[2]) : join(here, "../crates/ui/assets");
mkdirSync(out, { recursive: true });

const common = { absWorkingDir: here, bundle: true, minify: true, legalComments: "none", charset: "utf8", logLevel: "warning", target: ["es2022", "chrome110", "firefox110", "safari16"] };
await build({ ...common, entryPoints: ["src/main.tsx"], outfile: join(out, "app.js"), format: "esm", jsx: "automatic", jsxImportSource: "preact" });
await build({ ...common, entryPoints: ["src/app.css"], outfile: join(out, "app.css") });
for (const name of ["index.html", "icon.svg"]) copyFileSync(join(here, "src", name), join(out, name));

let total = 0;
for (const name of ["index.html", "app.js", "app.css", "icon.svg"]) {
  const packed = gzipSync(readFileSync(join(out, name)), { level: 9 }).length;
  total += packed;
  console.log(`${name}: ${statSync(join(out, name)).size} bytes, ${packed} compressed`);
}
console.log(`in all ${total} bytes compressed`);
/** What the page may weigh: it is loaded over a slow link, too. */
const MOST = 120_000;
if (total > MOST) {
  console.error(`the bundle has ${total} bytes compressed, more than ${MOST}`);
  process.exitCode = 1;
}
