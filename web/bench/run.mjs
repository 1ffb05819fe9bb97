/**
 * Measures decoding and instance update for 10,000 moving bodies in Chromium and prints one JSON object.
 * Exit code 1 when the mean is above the bar.
 *
 *   node bench/run.mjs [--bodies 10000] [--frames 300]
 */

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "@playwright/test";
import { build } from "vite";
import { sdkAlias } from "../tools/sdk_alias.mjs";

const BAR_MS = 4;
const here = dirname(fileURLToPath(import.meta.url));
const option = (name, otherwise) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
};

const bundle = await build({
  configFile: false,
  logLevel: "error",
  resolve: { alias: sdkAlias },
  root: join(here, ".."),
  build: {
    write: false,
    target: "es2022",
    lib: { entry: join(here, "decode_bench.ts"), formats: ["iife"], name: "bench" },
  },
});
const [{ output }] = [bundle].flat();

const browser = await chromium.launch({
  executablePath: process.env.NIMBUS_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"],
});
try {
  const page = await browser.newPage();
  await page.addScriptTag({ content: output[0].code });
  const result = await page.evaluate(
    ([bodies, frames]) => window.runDecodeBench(bodies, frames),
    [option("bodies", 10_000), option("frames", 300)],
  );
  const passed = result.mean_ms <= BAR_MS;
  console.log(JSON.stringify({ bench: "viewer-decode", ...result, bar_ms: BAR_MS, passed }, null, 2));
  process.exitCode = passed ? 0 : 1;
} finally {
  await browser.close();
}
