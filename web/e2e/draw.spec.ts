/**
 * A static and a region drawn with the mouse, a body that comes to rest on the one and belongs to the other, and a ray
 * that finds it. Against the gateway at NIMBUS_URL, without drawing: the mock has no physics.
 */

import { expect, test, type Page } from "@playwright/test";
import type { Hooks } from "../src/test_hooks";

declare const nimbus: Hooks;

const url = process.env.NIMBUS_URL ?? "";

test.skip(url === "", "needs a real world: set NIMBUS_URL");
test.describe.configure({ mode: "serial" });

let page: Page;
/** What the world was before, for those who come after us. */
let found = "";

test.beforeAll(async ({ browser }) => {
  page = await browser.newPage();
  await page.setViewportSize({ width: 1000, height: 700 });
  await page.goto(`${url}?render=off`);
  await until("connected", () => nimbus.connectionState === "live" && nimbus.bodies() > 0);
  found = await page.evaluate(() => nimbus.sceneName);
  await load("tower");
  await until("bodies and regions", () => nimbus.bodies() > 0 && nimbus.regions().length > 1);
  // From further away there is room to draw.
  await page.mouse.move(500, 300);
  for (let i = 0; i < 6; i++) await page.mouse.wheel(0, 400);
  // The camera comes to rest.
  await expect
    .poll(() =>
      page.evaluate(async () => {
        const before = JSON.stringify(nimbus.camera);
        await new Promise((resolve) => setTimeout(resolve, 400));
        return before === JSON.stringify(nimbus.camera);
      }),
    )
    .toBe(true);
});

test.afterAll(async () => {
  if (found) await load(found);
  await page?.close();
});

async function load(scene: string): Promise<void> {
  const before = await page.evaluate(() => nimbus.era());
  await page.evaluate((name) => nimbus.send({ type: "scene", name }), scene);
  await expect.poll(() => page.evaluate(() => nimbus.era()), { intervals: [150] }).toBeGreaterThan(before);
}

async function until(what: string, condition: () => boolean): Promise<void> {
  await expect.poll(() => page.evaluate(condition), { message: what, intervals: [150] }).toBe(true);
}

/** Where a place of the world is on the page, in pixels. */
async function pixels(place: [number, number, number]): Promise<[number, number]> {
  const [x, y] = await page.evaluate((at) => nimbus.screenOf(at), place);
  const size = page.viewportSize() ?? { width: 0, height: 0 };
  return [x * size.width, y * size.height];
}

/** A place on the ground near the middle of the view with no body near it or before it. */
async function free(): Promise<[number, number]> {
  return page.evaluate(() => {
    const { position, direction } = nimbus.camera;
    const way = -position[1] / direction[1];
    const middle = [position[0] + direction[0] * way, position[2] + direction[2] * way];
    const bodies = nimbus.slots().map((slot) => nimbus.positions(slot) ?? [0, 0, 0]);
    // How far a body is from the line of sight to a place.
    const aside = (body: number[], to: number[]): number => {
      const way = to.map((value, axis) => value - position[axis]);
      const share = way.reduce((sum, value, axis) => sum + value * (body[axis] - position[axis]), 0) / way.reduce((sum, value) => sum + value * value, 0);
      const along = Math.min(1, Math.max(0, share));
      return Math.hypot(...way.map((value, axis) => position[axis] + value * along - body[axis]));
    };
    for (let ring = 0; ring < 12; ring++) {
      for (let turn = 0; turn < 12; turn++) {
        const [x, z] = [middle[0] + 4 * ring * Math.sin(turn), middle[1] + 4 * ring * Math.cos(turn)];
        const [u, v] = nimbus.screenOf([x, 0, z]);
        const seen = u > 0.42 && u < 0.68 && v > 0.3 && v < 0.75;
        const apart = (body: number[]): boolean => Math.hypot(body[0] - x, body[2] - z) > 8 && aside(body, [x, 2, z]) > 5;
        if (seen && bodies.every(apart)) return [x, z];
      }
    }
    throw new Error("there is no free place in the view");
  });
}

async function drag(from: [number, number, number], to: [number, number, number]): Promise<void> {
  const [a, b] = [await pixels(from), await pixels(to)];
  await page.mouse.move(...a);
  await page.mouse.down();
  await page.mouse.move((a[0] + b[0]) / 2, (a[1] + b[1]) / 2, { steps: 4 });
  await page.mouse.move(...b, { steps: 4 });
}

async function answered(): Promise<{ nid: string | null; refused: string | null }> {
  await until("an answer", () => nimbus.lastDone !== null || nimbus.lastRefusal !== null);
  return page.evaluate(() => ({ nid: nimbus.lastDone?.nid ?? null, refused: nimbus.lastRefusal?.reason ?? null }));
}

async function forget(): Promise<void> {
  await page.evaluate(() => {
    nimbus.lastDone = null;
    nimbus.lastRefusal = null;
  });
}

let stone = "";
let spot: [number, number] = [0, 0];

test("Esc ends what is being drawn, and then the tool", async () => {
  await page.keyboard.press("n");
  expect(await page.evaluate(() => nimbus.tool)).toBe("static");
  await expect(page.locator("#tool-static")).toHaveAttribute("aria-pressed", "true");
  const statics = await page.evaluate(() => nimbus.statics());
  const [x, z] = await free();
  await forget();
  await drag([x - 3, 0, z - 3], [x + 3, 0, z + 3]);
  await page.keyboard.press("Escape");
  await page.mouse.up();
  expect(await page.evaluate(() => nimbus.tool)).toBe("static");
  await page.keyboard.press("Escape");
  expect(await page.evaluate(() => nimbus.tool)).toBeNull();
  await page.waitForTimeout(800);
  expect(await page.evaluate(() => [nimbus.statics(), nimbus.lastDone])).toEqual([statics, null]);
});

test("a static is drawn, and a body comes to rest on it", async () => {
  const statics = await page.evaluate(() => nimbus.statics());
  spot = await free();
  const [x, z] = spot;
  await page.keyboard.press("n");
  await page.locator("#tool-height").fill("2");
  await forget();
  await drag([x - 3, 0, z - 3], [x + 3, 0, z + 3]);
  await page.mouse.up();
  const { nid, refused } = await answered();
  expect(refused).toBeNull();
  stone = nid ?? "";
  await expect.poll(() => page.evaluate((id) => nimbus.hasStatic(id), stone)).toBe(true);
  expect(await page.evaluate(() => nimbus.statics())).toBe(statics + 1);
  await page.keyboard.press("Escape");

  await forget();
  await page.evaluate(
    ([px, pz]) => nimbus.send({ type: "spawn", shape: { cuboid: { half: [0.3, 0.3, 0.3] } }, position: [px, 4, pz], velocity: [0, 0, 0] }),
    spot,
  );
  const cube = await answered();
  expect(cube.refused).toBeNull();
  const place = (): Promise<number[] | null> =>
    page.evaluate((id) => nimbus.positions(nimbus.slotOf(id)), cube.nid ?? "");
  await expect.poll(async () => Math.abs(((await place())?.[1] ?? 0) - 2.3) < 0.03, { intervals: [200] }).toBe(true);
  await page.waitForTimeout(1000);
  expect(Math.abs(((await place())?.[1] ?? 0) - 2.3)).toBeLessThan(0.03);
});

test("a ray finds the static, and says how far and how old", async () => {
  const [x, z] = spot;
  await page.keyboard.press("y");
  await page.mouse.click(...(await pixels([x + 2, 2, z + 2])));
  const card = page.locator("#probe");
  await expect(card).toBeVisible();
  await expect(page.locator("#probe-text")).toHaveText(new RegExp(`Static ${stone.replace(".", "\\.")} at \\d+\\.\\d+ m, seen .*tick`));
  const probed = await page.evaluate(() => nimbus.probed);
  expect(probed?.hit?.nid).toBe(stone);
  expect(probed?.hit?.point[1]).toBeCloseTo(2, 1);
  expect(probed?.age).toBeLessThan(120);
  await forget();
  await page.locator("#probe-remove").click();
  expect((await answered()).refused).toBeNull();
  await expect.poll(() => page.evaluate((id) => nimbus.hasStatic(id), stone)).toBe(false);
  await expect(card).toBeHidden();
  await page.keyboard.press("Escape");
});

test("a region is drawn, and what cannot be is refused in a toast", async () => {
  await page.keyboard.press("g");
  const [x, z] = spot;
  const other = async (at: [number, number]): Promise<number> => {
    const own = await page.evaluate(([px, pz]) => nimbus.regionAt([px, 1, pz]), at);
    return page.evaluate((id) => nimbus.regions().find((region) => region.id !== id)?.id ?? -1, own);
  };
  await page.locator("#tool-server").selectOption(String(await other(spot)));
  await forget();
  await drag([x - 1, 0, z - 1], [x + 1, 0, z + 1]);
  await page.mouse.up();
  const { refused } = await answered();
  expect(refused).toContain("must be at least");
  await expect(page.locator(".toast.bad", { hasText: "must be at least" })).toBeVisible();

  // Large enough for what the world promises, with one edge on the boundary that is nearest.
  const least = Number(/must be at least ([\d.]+) m/.exec(refused ?? "")?.[1]);
  const cuts = await page.evaluate(() => {
    const all = nimbus.regions().flatMap(({ boxes }) => boxes.flatMap(({ min, max }) => [min[0], max[0]]));
    return [...new Set(all.filter((cut): cut is number => cut !== null))].sort((a, b) => a - b);
  });
  const low = cuts.reduce((best, cut) => (Math.abs(cut - x) < Math.abs(best - x) ? cut : best));
  const next = cuts.find((cut) => cut > low) ?? Infinity;
  const high = next - low < 3 * least ? next : low + 1.5 * least;
  const inside: [number, number] = [(low + high) / 2, z];
  const to = await other(inside);
  await page.locator("#tool-server").selectOption(String(to));
  // Panels must not be in the way of so large a drag.
  await page.keyboard.press("p");
  await forget();
  await drag([low + 0.5, 0, z - least], [high - 0.5, 0, z + least]);
  await page.mouse.up();
  await page.keyboard.press("p");
  expect((await answered()).refused).toBeNull();
  await expect.poll(() => page.evaluate(([px, pz]) => nimbus.regionAt([px, 1, pz]), inside)).toBe(to);
  await page.keyboard.press("Escape");
  expect(await page.evaluate(() => nimbus.tool)).toBeNull();
});

test("the scene and its servers are shown in figures", async () => {
  await page.keyboard.press("i");
  const card = page.locator("#scene-card");
  await expect(card).toBeVisible();
  await expect(card).toContainText("gravity");
  await expect(card).toContainText("neighbours");
  await expect(card.locator("section")).toHaveCount(await page.evaluate(() => nimbus.stats?.nodes.length ?? -1));
  await page.keyboard.press("i");
  await expect(card).toBeHidden();
});
