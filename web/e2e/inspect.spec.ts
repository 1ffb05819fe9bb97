/** Picking a body: the card keeps to it while it changes servers. Always against the mock, without drawing. */

import { expect, test } from "@playwright/test";
import type { Hooks } from "../src/test_hooks";
import { startMock } from "../tools/mock-gateway.mjs";

declare const nimbus: Hooks;

test("a picked body keeps its id across servers, and can be removed", async ({ page }) => {
  const mock = await startMock({ bodies: 60, scene: "carousel" });
  try {
    await page.goto(`${mock.url}?render=off`);
    await expect.poll(() => page.evaluate(() => nimbus.bodies())).toBe(60);
    await page.evaluate(() => nimbus.send({ type: "pause", paused: true }));
    // The camera follows a new world for some seconds; wait until picture and world stand still.
    await expect
      .poll(() =>
        page.evaluate(async () => {
          const seen = (): string => JSON.stringify([nimbus.paused, nimbus.tick() === nimbus.head(), nimbus.camera]);
          const before = seen();
          await new Promise((resolve) => setTimeout(resolve, 400));
          return before === seen() && nimbus.paused && nimbus.tick() === nimbus.head();
        }),
      )
      .toBe(true);
    const [x, y] = await page.evaluate(() => {
      const highest = nimbus.slots().reduce((a, b) => ((nimbus.positions(a)?.[1] ?? 0) >= (nimbus.positions(b)?.[1] ?? 0) ? a : b));
      return nimbus.screen(highest) ?? [0, 0];
    });
    const size = page.viewportSize() ?? { width: 0, height: 0 };
    // Panels must not be in the way of the click.
    await page.keyboard.press("p");
    await page.mouse.click(x * size.width, y * size.height);
    await page.keyboard.press("p");
    const card = page.locator("#inspect");
    await expect(card).toBeVisible();
    const nid = (await page.locator("#inspect-nid").textContent()) ?? "";
    expect(nid).toMatch(/^\d+\.\d+$/);
    await expect(page.locator("#inspect-touches")).toHaveText("1, last with 0.0");

    await page.keyboard.press("Space");
    const hands = page.locator("#inspect-hands");
    await expect.poll(async () => Number(await hands.textContent())).toBeGreaterThan(0);
    await expect(page.locator("#inspect-nid")).toHaveText(nid);
    // The history names when it changed hands, from whom and to whom.
    const change = page.locator("#inspect-changes li").first();
    await expect(change).toHaveText(/^tick \d+\D+\d+ → \D*\d+epoch \d+$/);
    await expect(change).toHaveAttribute("title", /^(Server|Region) \d+ gave it to (Server|Region) \d+ at tick \d+$/);
    expect(await page.locator("#inspect-changes li").count()).toBeGreaterThan(0);

    await page.locator("#inspect-remove").click();
    await expect.poll(() => page.evaluate(() => nimbus.bodies())).toBe(59);
    await expect(card).toBeHidden();
  } finally {
    await mock.close();
  }
});
