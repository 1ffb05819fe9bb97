import { expect, test } from "vitest";
import { createMessage } from "../../sdk/typescript/test/messages";
import { width } from "../src/extent";
import { World } from "../src/world";

const GROUND = { id: "0.1", shape: { cuboid: { half: [500, 1, 500] } }, position: [0, -1, 0], rotation: [0, 0, 0, 1] };

function load(name: string): string {
  return JSON.stringify({ type: "world", era: 1, name, about: "", tick_hz: 60, statics: [GROUND] });
}

test("a world is looked at by its bodies, wherever on the ground they are, and by its ground until they come", () => {
  const world = new World();
  world.text(load("late"));
  expect(world.extentChanged).toBe(true);
  expect(world.focus).toBe(world.extent);
  world.extentChanged = false;
  const bodies = Array.from({ length: 40 }, (_, slot) => ({
    slot,
    position: [180 + (slot % 8), 1 + slot / 8, -90] as [number, number, number],
  }));
  world.binary(createMessage([...bodies, { slot: 40, position: [-9000, 1, 0] }]));
  world.frame(performance.now());
  expect(world.extentChanged).toBe(true);
  expect(world.focus.min.x).toBeGreaterThan(170);
  expect(world.focus.max.x).toBeLessThan(200);
  expect(width(world.whole)).toBeLessThan(20);
  world.text(load("next"));
  expect(world.focus, "the bodies of the last world are forgotten").toBe(world.extent);
});
