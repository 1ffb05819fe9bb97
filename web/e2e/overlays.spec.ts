/** Switches for what goes on at the seams, their keys and their memory; breaches; the history of a body. Always the mock. */

import { expect, test } from "@playwright/test";
import type { Hooks } from "../src/test_hooks";
import { startMock } from "../tools/mock-gateway.mjs";

declare const nimbus: Hooks;

test("overlays come when switched on, go when switched off, and are remembered", async ({ page }) => {
  const mock = await startMock({ bodies: 90, scene: "carousel" });
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  try {
    await page.goto(mock.url);
    const seams = (): Promise<Hooks["seams"]> => page.evaluate(() => nimbus.seams);
    await expect.poll(() => page.evaluate(() => nimbus.bodies())).toBe(90);
    const auras = page.locator("#overlay-auras");
    await expect(auras).toHaveAttribute("aria-pressed", "false");
    await expect(page.locator("#overlay-regions")).toHaveAttribute("aria-pressed", "true");
    expect((await seams()).auras).toBe(0);

    await auras.click();
    await page.keyboard.press("3");
    await page.keyboard.press("4");
    await expect.poll(async () => (await seams()).auras).toBeGreaterThan(0);
    await expect.poll(async () => (await seams()).clusters).toBeGreaterThan(0);
    await expect.poll(async () => (await seams()).inTransit).toBeGreaterThan(0);
    await expect(auras.locator(".figure")).toHaveText(/^\d+$/);

    await page.keyboard.press("2");
    await expect(auras).toHaveAttribute("aria-pressed", "false");
    await expect.poll(async () => (await seams()).auras).toBe(0);
    await page.keyboard.press("b");
    await page.reload();
    await expect.poll(async () => (await seams()).clusters).toBeGreaterThan(0);
    await expect(page.locator("#overlay-regions")).toHaveAttribute("aria-pressed", "false");
    await expect(page.locator("#overlay-in-transit")).toHaveAttribute("aria-pressed", "true");
    expect((await seams()).auras).toBe(0);
    expect(await page.evaluate(() => nimbus.dropped)).toBe(0);
    expect(errors).toEqual([]);
  } finally {
    await mock.close();
  }
});

test("a breach is named with factor, value, limit and body, and leads to the body and its history", async ({ page }) => {
  const mock = await startMock({ bodies: 60, scene: "carousel" });
  try {
    // Line, list and the card of the body have room beside each other.
    await page.setViewportSize({ width: 1100, height: 760 });
    await page.goto(`${mock.url}?render=off`);
    await expect.poll(() => page.evaluate(() => nimbus.bodies())).toBe(60);
    const line = page.locator("#breach-line");
    const list = page.locator("#breaches");
    await expect(line).toBeHidden();
    await expect(list).toBeHidden();
    const nid = await page.evaluate(() => nimbus.nid(nimbus.slots()[7]) ?? "");
    mock.breach({ region: 2, factor: "latency", value: 31.5, limit: 16, bodies: [nid] });
    // One quiet line, until breaches are asked for.
    await expect(line).toHaveText("latency 31.5 > 16 ms · 1 breach in the last minute");
    await expect(list).toBeHidden();
    await expect(page.locator(".toast")).toHaveCount(0);
    const place = await line.boundingBox();
    await line.click();
    await expect(line).toHaveAttribute("aria-expanded", "true");
    await expect(page.locator("#overlay-breaches")).toHaveAttribute("aria-pressed", "true");
    expect(await line.boundingBox()).toEqual(place);
    await expect(list).toContainText("latency 31.5 > 16 ms");
    await expect(list).toContainText("Server 2");

    await list.getByRole("button", { name: `body ${nid}` }).click();
    await expect(page.locator("#inspect-nid")).toHaveText(nid);
    await expect(page.locator("#inspect-epoch")).toHaveText(/^[1-9]\d*$/);
    await expect(page.locator("#inspect-shape")).not.toHaveText("–");
    await expect(page.locator("#inspect-changes li").first()).toContainText(/tick \d+.*epoch \d+/);
    expect(await page.locator("#inspect-strip span").count()).toBeGreaterThan(1);

    await page.keyboard.press("5");
    await expect(list).toBeHidden();
    await page.keyboard.press("5");
    await expect(list).toBeVisible();
    await page.evaluate(() => nimbus.send({ type: "reset" }));
    await expect(list).toBeHidden();
    await expect(line).toBeHidden();
  } finally {
    await mock.close();
  }
});
