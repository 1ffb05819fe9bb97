/**
 * A gateway of a cluster of processes is killed: the page goes on with another one by itself, within two seconds. With
 * the binary that NIMBUS_BIN names.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import type { Hooks } from "../src/test_hooks";

declare const nimbus: Hooks;

const binary = process.env.NIMBUS_BIN ?? "";
/** A page must be back by then, ms. */
const BACK_MS = 2000;

test.skip(binary === "", "needs processes: set NIMBUS_BIN to the nimbus binary");

let folder = "";
let cluster: ChildProcess;
let http: number[] = [];

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** The process of this name in our cluster. */
function processOf(name: string): number {
  const file = join(folder, "cluster.toml");
  const found = readdirSync("/proc").find((entry) => {
    if (!/^\d+$/.test(entry)) return false;
    try {
      return readFileSync(`/proc/${entry}/cmdline`, "utf8").includes([file, "--name", name].join("\0"));
    } catch {
      return false;
    }
  });
  return Number(found ?? 0);
}

test.beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "nimbus-gateways-"));
  const ports: number[] = [];
  while (ports.length < 7) ports.push(await freePort());
  http = ports.slice(5);
  const lines = [
    'name = "gateways"',
    'scene = "tower"',
    "regions = 2",
    ...[["coordinator", "coordinator-0"], ["node", "node-0"], ["node", "node-1"], ["gateway", "gateway-0"], ["gateway", "gateway-1"]].flatMap(
      ([role, name], i) => [`[[${role}]]`, `name = "${name}"`, `address = "127.0.0.1:${ports[i]}"`, ...(i < 3 ? [] : [`http = "127.0.0.1:${http[i - 3]}"`])],
    ),
  ];
  writeFileSync(join(folder, "cluster.toml"), `${lines.join("\n")}\n`);
  cluster = spawn(binary, ["cluster", join(folder, "cluster.toml")], { stdio: "ignore" });
});

test.afterAll(async () => {
  const ended = new Promise((resolve) => cluster?.once("exit", resolve));
  cluster?.kill("SIGINT");
  await ended;
  rmSync(folder, { recursive: true, force: true });
});

test("a page goes on with another gateway when its own is killed", async ({ page }) => {
  await expect
    .poll(
      async () => {
        try {
          const world = (await (await fetch(`http://127.0.0.1:${http[0]}/api/world`)).json()) as { bodies: number };
          const other = (await (await fetch(`http://127.0.0.1:${http[1]}/api/world`)).json()) as { bodies: number };
          return world.bodies > 0 && world.bodies === other.bodies;
        } catch {
          return false;
        }
      },
      { timeout: 40_000 },
    )
    .toBe(true);
  await page.goto(`http://127.0.0.1:${http[0]}/?render=off`);
  await expect.poll(() => page.evaluate(() => nimbus.bodies())).toBeGreaterThan(0);
  expect(await page.evaluate(() => nimbus.gateway)).toBe(`127.0.0.1:${http[0]}`);
  const bodies = await page.evaluate(() => nimbus.bodies());
  // Twice: the first one is back by then, and the page must find it again.
  for (const [killed, next] of [
    [0, 1],
    [1, 0],
  ]) {
    if (killed === 1) {
      await expect
        .poll(async () => (await fetch(`http://127.0.0.1:${http[0]}/healthz`).catch(() => null))?.status, { timeout: 20_000 })
        .toBe(200);
      await page.waitForTimeout(4000);
    }
    await page.evaluate(() => {
      const seen = window as unknown as { lostAt: number; backAt: number };
      seen.lostAt = seen.backAt = 0;
      const look = setInterval(() => {
        const live = nimbus.connectionState === "live";
        if (!live && seen.lostAt === 0) seen.lostAt = performance.now();
        if (live && seen.lostAt > 0 && nimbus.bodies() > 0) {
          seen.backAt = performance.now();
          clearInterval(look);
        }
      }, 5);
    });
    const pid = processOf(`gateway-${killed}`);
    expect(pid).toBeGreaterThan(1);
    process.kill(pid, "SIGKILL");
    const times = (): Promise<{ lostAt: number; backAt: number }> =>
      page.evaluate(() => {
        const { lostAt, backAt } = window as unknown as { lostAt: number; backAt: number };
        return { lostAt, backAt };
      });
    await expect.poll(async () => (await times()).backAt, { intervals: [50] }).toBeGreaterThan(0);
    const { lostAt, backAt } = await times();
    console.log(`back after ${Math.round(backAt - lostAt)} ms`);
    expect(backAt - lostAt).toBeLessThan(BACK_MS);
    expect(await page.evaluate(() => nimbus.gateway)).toBe(`127.0.0.1:${http[next]}`);
    await expect.poll(() => page.evaluate(() => nimbus.bodies())).toBe(bodies);
    const tick = await page.evaluate(() => nimbus.tick());
    await expect.poll(() => page.evaluate(() => nimbus.tick())).toBeGreaterThan(tick);
  }
});
