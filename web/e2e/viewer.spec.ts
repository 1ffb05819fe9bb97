/**
 * The viewer against a gateway: the one at NIMBUS_URL, or the mock when that is not set. One page lives through all
 * steps, as a person's would. NIMBUS_SCREENSHOT names a file for a picture at the end.
 */

import { expect, test, type Page } from "@playwright/test";
import { WebSocket } from "ws";
import type { Hooks } from "../src/test_hooks";
import { startMock, type Mock } from "../tools/mock-gateway.mjs";

declare const nimbus: Hooks;

test.describe.configure({ mode: "serial" });

/** Scenes that a slow machine draws without trouble, the best first. */
const SMALL_SCENES = ["tower", "dominoes", "wall", "carousel"];

let mock: Mock | null = null;
let url = process.env.NIMBUS_URL ?? "";
let page: Page;
const errors: string[] = [];

test.beforeAll(async ({ browser }) => {
  if (!url) {
    mock = await startMock({ bodies: 150 });
    url = mock.url;
  }
  page = await browser.newPage();
  page.on("pageerror", (error) => errors.push(error.message));
  await page.goto(url);
});

test.afterAll(async () => {
  await page.close();
  await mock?.close();
});

/** Waits until a condition in the page holds; polls by time, because frames may be seconds apart. */
async function until(what: string, condition: () => boolean): Promise<void> {
  await expect.poll(() => page.evaluate(condition), { message: what, intervals: [150] }).toBe(true);
}

const tick = (): Promise<number> => page.evaluate(() => nimbus.tick());
const era = (): Promise<number> => page.evaluate(() => nimbus.era());

async function tickGrows(): Promise<void> {
  const before = await tick();
  await expect.poll(tick, { message: "the tick grows", intervals: [150] }).toBeGreaterThan(before + 5);
}

async function rises(what: () => Promise<number>, from: number): Promise<void> {
  await expect.poll(what, { intervals: [150] }).toBeGreaterThan(from);
}

/** Throws by key and returns the new body's slot. */
async function throwOne(): Promise<number> {
  await page.evaluate(() => {
    nimbus.lastDone = null;
    nimbus.lastRefusal = null;
  });
  await page.keyboard.press("t");
  await until("the throw is answered", () => nimbus.lastDone !== null || nimbus.lastRefusal !== null);
  expect(await page.evaluate(() => nimbus.lastRefusal)).toBeNull();
  await until("the thrown body is here", () => nimbus.slotOf(nimbus.lastDone?.nid ?? "") >= 0);
  return page.evaluate(() => nimbus.slotOf(nimbus.lastDone?.nid ?? ""));
}

test("shows a living world", async () => {
  await until("connected with bodies", () => nimbus.connectionState === "live" && nimbus.bodies() > 0);
  await expect(page.locator("#banner")).toBeHidden();
  await tickGrows();
  const before = await page.evaluate(() => nimbus.slots().map((slot) => [slot, nimbus.positions(slot)] as const));
  await expect
    .poll(
      () =>
        page.evaluate(
          (old) =>
            old.some(([slot, place]) => {
              const now = nimbus.positions(slot);
              return now !== null && place !== null && Math.hypot(...now.map((c, k) => c - place[k])) > 0.02;
            }),
          before,
        ),
      { message: "a body moves", intervals: [150] },
    )
    .toBe(true);
  await until("frames are drawn", () => nimbus.frames() > 1);
  await until("stats name the servers", () => (nimbus.stats?.nodes.length ?? 0) > 0);
  await expect(page.locator(".server")).toHaveCount(await page.evaluate(() => nimbus.stats?.nodes.length ?? -1));
  expect(await page.evaluate(() => nimbus.dropped)).toBe(0);
});

test("throws a body that flies", async () => {
  // Worlds may lose bodies while we look, so a quiet one is counted and in any the new body is known by its id.
  const count = (): Promise<number> => page.evaluate(() => nimbus.bodies());
  const before = await count();
  await page.waitForTimeout(600);
  const quiet = (await count()) === before;
  const slot = await throwOne();
  if (quiet) await rises(count, before);
  const start = await page.evaluate((s) => nimbus.positions(s), slot);
  await expect
    .poll(() => page.evaluate((s) => nimbus.positions(s), slot), { message: "the thrown body moves", intervals: [150] })
    .not.toEqual(start);
  await page.evaluate(() => (nimbus.lastDone = null));
  await page.locator("#throw").click();
  await until("the button throws too", () => nimbus.slotOf(nimbus.lastDone?.nid ?? "") >= 0);
});

test("pauses, steps and resumes", async () => {
  await page.locator("#pause").click();
  await until("paused", () => nimbus.paused);
  await expect(page.locator("#clock-state")).toHaveText("Paused");
  // Ticks that were under way may still arrive; then it must stand still.
  let stood = -1;
  await expect
    .poll(
      async () => {
        const now = await tick();
        const still = now === stood;
        stood = now;
        return still;
      },
      { message: "the tick stands still", intervals: [900] },
    )
    .toBe(true);
  await page.locator("#step").click();
  await rises(tick, stood);
  await page.waitForTimeout(800);
  expect(await tick()).toBe(stood + 1);
  await page.locator("#pause").click();
  await until("running", () => !nimbus.paused);
  await tickGrows();
});

test("slows time down", async () => {
  await page.evaluate(() => nimbus.send({ type: "speed", factor: 0.5 }));
  await until("half speed", () => nimbus.speed === 0.5);
  await expect(page.locator("#clock-state")).toContainText("0.50×");
  await page.evaluate(() => nimbus.send({ type: "speed", factor: 1 }));
  await until("full speed", () => nimbus.speed === 1);
});

test("shows why a command was refused", async () => {
  await page.evaluate(() => nimbus.send({ type: "scene", name: "no such scene" }));
  await until("refused", () => nimbus.lastRefusal !== null);
  const reason = await page.evaluate(() => nimbus.lastRefusal?.reason ?? "");
  expect(reason.length).toBeGreaterThan(0);
  await expect(page.locator(".toast.bad", { hasText: reason })).toBeVisible();
});

test("tells of the seams and of a picked body", async () => {
  const seq = await page.evaluate(() => nimbus.send({ type: "overlays", on: ["auras", "clusters", "in-transit", "breaches"] }));
  await expect.poll(() => page.evaluate((s) => nimbus.answer(s), seq), { message: "overlays are known" }).toBeNull();
  await page.evaluate(() => nimbus.pick(nimbus.slots()[0]));
  await expect(page.locator("#inspect-epoch")).toHaveText(/^\d+$/);
  await expect(page.locator("#inspect-shape")).not.toHaveText("–");
  await page.keyboard.press("Escape");
  await expect(page.locator("#inspect")).toBeHidden();
});

test("resets the world and changes the scene", async () => {
  const first = await era();
  await page.locator("#reset").click();
  await rises(era, first);
  await until("bodies again", () => nimbus.bodies() > 0);
  await tickGrows();
  const second = await era();
  const name = await page.evaluate(() => nimbus.sceneName);
  const names = await page.locator("#scene option").evaluateAll((options) => options.map((o) => (o as HTMLOptionElement).value));
  const others = names.filter((other) => other !== name);
  const wanted = SMALL_SCENES.find((small) => others.includes(small)) ?? others[0];
  expect(wanted, "another scene to choose").toBeTruthy();
  await page.locator("#scene").selectOption(wanted);
  await rises(era, second);
  await expect(page.locator("#scene-name")).toHaveText(wanted);
  await tickGrows();
  const third = await era();
  await page.locator("#scene").selectOption(name);
  await rises(era, third);
  await until("bodies again", () => nimbus.bodies() > 0);
});

test("another client's rubbish disturbs nobody", async () => {
  const socket = new WebSocket(new URL("ws", url.replace(/^http/, "ws")).href);
  await new Promise((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  socket.on("error", () => {});
  const rubbish: (string | Buffer)[] = [
    "not json",
    '{"type":',
    "[]",
    "null",
    '{"type":"spawn"}',
    '{"type":"spawn","shape":{"ball":{"radius":-1}},"position":[1e39,0,0],"velocity":["x"]}',
    '{"type":"speed","factor":1e308}',
    '{"type":"step","ticks":-5}',
    '{"type":"despawn","nid":"❤"}',
    Buffer.from([4, 0, 0, 0, 255, 255, 255, 255]),
    "{".repeat(60_000),
    Buffer.alloc(70_000, 7),
  ];
  for (let round = 0; round < 5; round++) {
    for (const piece of rubbish) if (socket.readyState === WebSocket.OPEN) socket.send(piece);
  }
  await page.waitForTimeout(500);
  socket.terminate();
  expect(await page.evaluate(() => nimbus.connectionState)).toBe("live");
  await tickGrows();
  await throwOne();
});

test("looks good and threw no errors", async () => {
  const file = process.env.NIMBUS_SCREENSHOT;
  if (file) {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.keyboard.press("h");
    const frames = await page.evaluate(() => nimbus.frames());
    await rises(() => page.evaluate(() => nimbus.frames()), frames + 3);
    await page.screenshot({ path: file, timeout: 30_000 });
  }
  expect(errors).toEqual([]);
  expect(await page.evaluate(() => nimbus.dropped)).toBe(0);
});
