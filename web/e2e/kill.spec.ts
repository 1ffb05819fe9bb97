/**
 * A server is killed from the panel, its bodies stand still, and it is back in its next epoch. Against the gateway at
 * NIMBUS_KILL_URL, or the mock when that is not set. NIMBUS_SCREENSHOT names a file for a picture of a dead server.
 */

import { expect, test } from "@playwright/test";
import type { Hooks } from "../src/test_hooks";
import { startMock } from "../tools/mock-gateway.mjs";

declare const nimbus: Hooks;

test("a server is killed, is dead for a moment, and is back", async ({ page }) => {
  const mock = process.env.NIMBUS_KILL_URL ? null : await startMock({ bodies: 120, scene: "carousel" });
  try {
    await page.setViewportSize({ width: 1100, height: 760 });
    const url = process.env.NIMBUS_KILL_URL ?? mock?.url ?? "";
    await page.goto(process.env.NIMBUS_SCREENSHOT ? url : `${url}?render=off`);
    const node = (): Promise<{ alive: boolean; epoch: number }> =>
      page.evaluate(() => nimbus.stats?.nodes.find((one) => one.id === 1) ?? { alive: false, epoch: 0 });
    await expect.poll(async () => (await node()).alive).toBe(true);
    const { epoch } = await node();
    const row = page.locator(".server").nth(1);
    const kill = page.getByRole("button", { name: "Kill server 1" });
    await expect(kill).toBeEnabled();
    const bodies = await page.evaluate(() => nimbus.bodies());

    // It is dead for half a second only, which a slow page might sleep through: it notes by itself what it showed.
    await page.evaluate(() => {
      const seen = ((window as unknown as { seen: string[] }).seen = []) as string[];
      const watched = document.querySelectorAll(".server")[1];
      new MutationObserver(() => {
        const word = watched.querySelector(".life")?.textContent ?? "";
        if (watched.classList.contains("down") && seen.at(-1) !== word) seen.push(word);
      }).observe(watched, { attributes: true, childList: true, subtree: true, characterData: true });
    });
    await kill.click();
    if (mock) await expect(row).toHaveClass(/down/);
    if (process.env.NIMBUS_SCREENSHOT) await page.screenshot({ path: process.env.NIMBUS_SCREENSHOT });
    await expect.poll(async () => (await node()).epoch).toBe(epoch + 1);
    await expect(row.locator(".life")).toHaveText(`epoch ${epoch + 1}`);
    await expect(row).not.toHaveClass(/down/);
    await expect(kill).toBeEnabled();
    expect(await page.evaluate(() => (window as unknown as { seen: string[] }).seen)).toEqual(["dead"]);
    expect(await page.evaluate(() => nimbus.bodies())).toBeGreaterThanOrEqual(bodies);
  } finally {
    await mock?.close();
  }
});
