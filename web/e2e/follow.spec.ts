/** The keys: the help lists those that work; the camera follows a body across servers until it is let go or dies. */

import { expect, test } from "@playwright/test";
import type { Hooks } from "../src/test_hooks";
import { startMock } from "../tools/mock-gateway.mjs";

declare const nimbus: Hooks;

test("the help opens by key and button, and every key it names does something", async ({ page }) => {
  const mock = await startMock({ bodies: 20, scene: "carousel" });
  try {
    await page.goto(`${mock.url}?render=off`);
    await expect.poll(() => page.evaluate(() => nimbus.bodies())).toBe(20);
    const help = page.locator("#help");
    await page.keyboard.press("?");
    await expect(help).toBeVisible();
    await expect(help).toContainText("follow the picked body");
    await page.keyboard.press("?");
    await expect(help).toBeHidden();
    await page.locator("#help-open").click();
    await expect(help).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(help).toBeHidden();
    await expect(page.locator("#pause")).toHaveAttribute("title", /\(Space\)$/);

    const idle = await page.evaluate(() => {
      const names = [...document.querySelectorAll("#help kbd")].map((box) => box.textContent ?? "");
      // Whoever binds a key keeps the browser from using it. The list itself comes last, since it takes all keys.
      const order = names.filter((name) => name !== "?").concat("?");
      const flies = new Set(["W", "A", "S", "D", "Q", "E", "Shift"]);
      return order.filter((name) => {
        if (flies.has(name)) return false;
        const key = { Space: " ", Esc: "Escape" }[name] ?? name;
        const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
        document.body.dispatchEvent(event);
        return !event.defaultPrevented;
      });
    });
    expect(idle).toEqual([]);
  } finally {
    await mock.close();
  }
});

test("the camera follows a picked body across servers, lets go, and says when the body is gone", async ({ page }) => {
  const mock = await startMock({ bodies: 60, scene: "carousel" });
  try {
    await page.goto(`${mock.url}?render=off`);
    await expect.poll(() => page.evaluate(() => nimbus.bodies())).toBe(60);
    const followed = (): Promise<string | null> => page.evaluate(() => nimbus.followed);
    await page.keyboard.press("f");
    await expect(page.locator(".toast", { hasText: "Pick a body first" })).toBeVisible();
    expect(await followed()).toBeNull();

    const slot = await page.evaluate(() => nimbus.slots()[8]);
    const nid = (await page.evaluate((s) => nimbus.nid(s), slot)) ?? "";
    await page.evaluate((s) => nimbus.pick(s), slot);
    await page.keyboard.press("f");
    expect(await followed()).toBe(nid);
    const sign = page.locator("#following");
    await expect(sign).toContainText(`Following body ${nid} on Server`);

    const owner = await page.evaluate((s) => nimbus.region(s), slot);
    const place = await page.evaluate(() => nimbus.camera.position);
    await expect.poll(() => page.evaluate((s) => nimbus.region(s), slot), { message: "it changes hands" }).not.toBe(owner);
    expect(await followed()).toBe(nid);
    const moved = await page.evaluate(() => nimbus.camera.position);
    expect(Math.hypot(...moved.map((c, k) => c - place[k]))).toBeGreaterThan(0.5);
    await expect
      .poll(
        async () => {
          const [x, y] = (await page.evaluate((s) => nimbus.screen(s), slot)) ?? [0, 0];
          return Math.hypot(x - 0.5, y - 0.5);
        },
        { message: "it stays in the middle of the view" },
      )
      .toBeLessThan(0.12);

    await page.keyboard.press("Escape");
    expect(await followed()).toBeNull();
    await expect(sign).toBeHidden();
    await expect(page.locator("#inspect")).toBeVisible();

    await page.locator("#inspect-follow").click();
    expect(await followed()).toBe(nid);
    await page.evaluate((id) => nimbus.send({ type: "despawn", nid: id }), nid);
    await expect(page.locator(".toast", { hasText: `Body ${nid} is gone` })).toBeVisible();
    expect(await followed()).toBeNull();
    await expect(sign).toBeHidden();
  } finally {
    await mock.close();
  }
});
