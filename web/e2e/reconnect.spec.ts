/** The server goes away and comes back: the page says so, and recovers by itself. Always against the mock. */

import { expect, test } from "@playwright/test";
import type { Hooks } from "../src/test_hooks";
import { startMock } from "../tools/mock-gateway.mjs";

declare const nimbus: Hooks;

test("says that the server is gone, and reconnects", async ({ page }) => {
  const first = await startMock({ bodies: 40 });
  await page.goto(`${first.url}?render=off`);
  const state = (): Promise<string> => page.evaluate(() => nimbus.connectionState);
  const bodies = (): Promise<number> => page.evaluate(() => nimbus.bodies());
  await expect.poll(bodies).toBe(40);
  await expect(page.locator("#banner")).toBeHidden();

  await first.close();
  const banner = page.locator("#banner");
  await expect(banner).toBeVisible();
  await expect(banner).toContainText("The server is gone");
  await expect(banner).toContainText(/retrying in \d+ s/);
  await page.keyboard.press("t");
  await expect(page.locator(".toast.bad", { hasText: "Not connected" })).toBeVisible();

  const second = await startMock({ port: first.port, bodies: 25 });
  try {
    await expect.poll(state).toBe("live");
    await expect.poll(bodies).toBe(25);
    await expect(banner).toBeHidden();
    const tick = await page.evaluate(() => nimbus.tick());
    await expect.poll(() => page.evaluate(() => nimbus.tick())).toBeGreaterThan(tick);
  } finally {
    await second.close();
  }
});

test("costs little per frame with drawing switched off", async ({ page }) => {
  const mock = await startMock({ bodies: 2000 });
  try {
    await page.goto(`${mock.url}?render=off`);
    await expect.poll(() => page.evaluate(() => nimbus.bodies())).toBe(2000);
    await expect.poll(() => page.evaluate(() => nimbus.frames())).toBeGreaterThan(60);
    const cost = await page.evaluate(() => nimbus.decodeMs);
    expect(cost.mean).toBeGreaterThan(0);
    expect(cost.max).toBeGreaterThanOrEqual(cost.mean);
  } finally {
    await mock.close();
  }
});
