/** The game of examples/browser-game: connects to a gateway with the client package, draws bodies and pushes one. */

import { fileURLToPath } from "node:url";
import type { Connection, Placed } from "@nimbus/client";
import { expect, test } from "@playwright/test";
import { preview } from "vite";
import { startMock, type Mock } from "../tools/mock-gateway.mjs";

declare const game: {
  connection: Connection;
  view: { scale: number; x: number; z: number };
  bodies(): Placed[];
  pushed(): string[];
};

test("draws the bodies of a world and pushes one", async ({ page }) => {
  let mock: Mock | null = null;
  if (!process.env.NIMBUS_URL) mock = await startMock({ bodies: 60 });
  const target = mock?.url ?? process.env.NIMBUS_URL;
  const server = await preview({
    root: fileURLToPath(new URL("../../examples/browser-game", import.meta.url)),
    logLevel: "error",
    preview: { port: 0, host: "127.0.0.1", proxy: { "/ws": { target, ws: true } } },
  });
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  try {
    await page.goto(server.resolvedUrls?.local[0] ?? "");
    await expect(page.locator("#words")).toContainText("You are in the world");
    await expect.poll(() => page.evaluate(() => game.bodies().length)).toBeGreaterThan(0);
    /** Pixels in the colour of the first server or the second; neither the ring nor the ground has it. */
    const coloured = (): Promise<number> =>
      page.evaluate(() => {
        const canvas = document.querySelector("canvas") as HTMLCanvasElement;
        const { data } = (canvas.getContext("2d") as CanvasRenderingContext2D).getImageData(0, 0, canvas.width, canvas.height);
        const wanted = [0xff54b4ff, 0xffffc259];
        return new Uint32Array(data.buffer).filter((pixel) => wanted.includes(pixel)).length;
      });
    await expect.poll(coloured, { message: "bodies are drawn" }).toBeGreaterThan(20);

    // A click beside a body pushes it; bodies move, so it may take some clicks.
    await expect
      .poll(async () => {
        const place = await page.evaluate(() => {
          const { view } = game;
          const canvas = document.querySelector("canvas") as HTMLCanvasElement;
          for (const { position } of game.bodies()) {
            const x = (position[0] - 0.5 - view.x) * view.scale + canvas.width / 2;
            const y = (position[2] - view.z) * view.scale + canvas.height / 2;
            if (x > 0 && x < canvas.width && y > 60 && y < canvas.height) return { x, y };
          }
          return null;
        });
        if (place) await page.mouse.click(place.x, place.y);
        return page.evaluate(() => game.pushed().length);
      })
      .toBeGreaterThan(0);
    await expect(page.locator("#words")).toContainText(/Pushed \d+\.\d+/);

    if (!mock) {
      // The mock answers no questions.
      const near = await page.evaluate(() => game.connection.nearest([0, 1, 0], 500));
      expect(near?.nid).toMatch(/^\d+\.\d+$/);
    }
    expect(errors).toEqual([]);
  } finally {
    await server.close();
    await mock?.close();
  }
});
