/**
 * Low bandwidth against a real gateway, the one at NIMBUS_URL: the page is sent what it sees, compressed, and bodies go on
 * moving; and everything again when it is switched off.
 */

import { expect, type Page, test } from "@playwright/test";
import type { Hooks } from "../src/test_hooks";

declare const nimbus: Hooks;

const url = process.env.NIMBUS_URL ?? "";
/** How long bytes are counted, ms. */
const COUNT_MS = 3000;

test.skip(url === "", "the mock knows no views: set NIMBUS_URL to a gateway");

/** True once some body is elsewhere than it was. */
async function somethingMoves(page: Page): Promise<void> {
  const before = await page.evaluate(() => nimbus.slots().map((slot) => [slot, nimbus.positions(slot)] as const));
  const moved = (old: typeof before): boolean =>
    old.some(([slot, place]) => {
      const now = nimbus.positions(slot);
      return now !== null && place !== null && Math.hypot(...now.map((c, k) => c - place[k])) > 0.05;
    });
  await expect.poll(() => page.evaluate(moved, before), { message: "a body moves", intervals: [150] }).toBe(true);
}

test("a page on a slow line is sent less, and shows what it sees", async ({ page }) => {
  let bytes = 0;
  page.on("websocket", (socket) => socket.on("framereceived", ({ payload }) => (bytes += payload.length)));
  const counted = async (): Promise<number> => {
    const before = bytes;
    await page.waitForTimeout(COUNT_MS);
    return bytes - before;
  };
  await page.goto(`${url}?render=off`);
  await expect.poll(() => page.evaluate(() => nimbus.bodies())).toBeGreaterThan(0);
  const era = await page.evaluate(() => nimbus.era());
  // Something that goes on moving.
  await page.evaluate(() => nimbus.send({ type: "scene", name: "pendulums" }));
  await expect.poll(() => page.evaluate(() => nimbus.era())).toBeGreaterThan(era);
  await expect.poll(() => page.evaluate(() => nimbus.bodies())).toBeGreaterThan(0);
  await somethingMoves(page);
  const everything = await counted();

  await page.keyboard.press("k");
  await expect(page.locator("#low-bandwidth")).toHaveAttribute("aria-pressed", "true");
  await expect(page.locator("#link-sent")).toContainText("kbit/s");
  await expect.poll(() => page.evaluate(() => nimbus.bodies()), { message: "bodies in view" }).toBeGreaterThan(0);
  await somethingMoves(page);
  expect(await counted()).toBeLessThan(everything * 0.7);
  expect(await page.evaluate(() => [nimbus.dropped, nimbus.lastRefusal])).toEqual([0, null]);

  await page.keyboard.press("k");
  await expect(page.locator("#link-sent")).toHaveText("sent: everything");
  await somethingMoves(page);
  expect(await counted()).toBeGreaterThan(everything * 0.5);
});
