/** What the page tells of the last minute and of the link, and that it can be recorded. Always against the mock. */

import { expect, test, type Page } from "@playwright/test";
import type { Hooks } from "../src/test_hooks";
import { startMock } from "../tools/mock-gateway.mjs";

declare const nimbus: Hooks;

/** Moves over the strip from now backwards until the hint says this; returns the place. */
async function hover(page: Page, words: RegExp): Promise<{ x: number; top: number; foot: number }> {
  const box = (await page.locator("#timeline-strip").boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  const hint = page.locator("#timeline-hint");
  for (let column = 119.5; column > 0; column--) {
    const x = box.x + (column / 120) * box.width;
    await page.mouse.move(x, box.y + box.height - 3);
    if ((await hint.isVisible()) && words.test((await hint.textContent()) ?? "")) {
      return { x, top: box.y + 2, foot: box.y + box.height - 3 };
    }
  }
  throw new Error(`nothing on the strip says ${words}`);
}

test("the time-line shows hand-overs and breaches, tells them, and leads to their bodies", async ({ page }) => {
  const mock = await startMock({ bodies: 24, scene: "carousel" });
  try {
    await page.goto(`${mock.url}?render=off`);
    await expect.poll(() => page.evaluate(() => nimbus.bodies())).toBe(24);
    const marks = (): Promise<Hooks["timeline"]> => page.evaluate(() => nimbus.timeline);
    await expect.poll(async () => (await marks()).handOvers).toBeGreaterThan(4);
    const nid = await page.evaluate(() => nimbus.nid(nimbus.slots()[5]) ?? "");
    mock.breach({ region: 2, factor: "latency", value: 31.5, limit: 16, bodies: [nid] });
    await expect.poll(async () => (await marks()).breaches).toBe(1);
    await page.evaluate(() => nimbus.send({ type: "pause", paused: true }));
    await expect.poll(() => page.evaluate(() => nimbus.paused && nimbus.tick() === nimbus.head())).toBe(true);
    await expect(page.locator("#timeline-strip")).toHaveAttribute("aria-label", /\d+ hand-overs and 1 breaches/);

    // The strip marks breaches for those who asked for them.
    await page.keyboard.press("5");
    await expect(page.locator("#breaches")).toBeVisible();
    const broken = await hover(page, /⚠ latency 31\.5 > 16 ms, Server 2, tick \d+, body /);
    await page.mouse.click(broken.x, broken.top);
    await expect(page.locator("#inspect-nid")).toHaveText(nid);
    await page.keyboard.press("Escape");
    await expect(page.locator("#inspect")).toBeHidden();

    const moved = await hover(page, /Server \d to Server \d, tick \d+: body \d+\.\d+/);
    const told = (await page.locator("#timeline-hint").textContent()) ?? "";
    await page.mouse.click(moved.x, moved.foot);
    const picked = (await page.locator("#inspect-nid").textContent()) ?? "";
    expect(told).toContain(`body ${picked}`);

    await page.evaluate(() => nimbus.send({ type: "reset" }));
    await expect.poll(async () => (await marks()).handOvers).toBe(0);
  } finally {
    await mock.close();
  }
});

test("the link's figures come, also in an empty world, and disturb nobody", async ({ page }) => {
  const mock = await startMock({ bodies: 0 });
  try {
    await page.setViewportSize({ width: 1100, height: 760 });
    await page.goto(`${mock.url}?render=off`);
    await expect(page.locator("#link-brief")).toHaveText(/B\/s, [\d.]+ ms/);
    await expect(page.locator("#link-trip")).toBeHidden();
    await page.keyboard.press("l");
    await expect(page.locator("#link-trip")).toHaveText(/^[\d.]+ ms$/);
    await expect(page.locator("#link-bodies")).toHaveText("0/s");
    await page.evaluate(() => nimbus.send({ type: "scene", name: "hills" }));
    await page.keyboard.press("t");
    await expect(page.locator("#link-bodies")).not.toHaveText("0/s");
    await expect(page.locator("#link-binary")).toHaveText(/^[\d.]+ k?B\/s$/);
    expect(await page.evaluate(() => nimbus.lastRefusal)).toBeNull();
    await expect(page.locator(".toast.bad")).toHaveCount(0);
  } finally {
    await mock.close();
  }
});

test("the picture is recorded to a file, and the button says why where it is not", async ({ page }) => {
  const mock = await startMock({ bodies: 12, scene: "carousel" });
  try {
    await page.goto(`${mock.url}?render=off`);
    const button = page.locator("#record");
    await expect(button).toBeDisabled();
    await expect(button).toHaveAttribute("title", /Nothing is drawn/);

    await page.goto(mock.url);
    await expect.poll(() => page.evaluate(() => nimbus.frames())).toBeGreaterThan(3);
    await button.click();
    await expect(button).toHaveText(/^■ 0:0[1-9]$/);
    const saved = page.waitForEvent("download");
    await page.keyboard.press("c");
    expect((await saved).suggestedFilename()).toMatch(/^nimbus-carousel-.*\.webm$/);
    await expect(button).toHaveText("Record");
  } finally {
    await mock.close();
  }
});
