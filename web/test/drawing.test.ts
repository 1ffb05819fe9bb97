import { describe, expect, test } from "vitest";
import { drawnStatic, groundSpot, neighbours, rectangle, regionCommand, snapped } from "../src/drawing";
import type { Region } from "@nimbus/client";

/** Three columns, with boundaries at x = -20 and x = 20. */
const COLUMNS: Region[] = [
  { id: 0, boxes: [{ min: [null, null, null], max: [-20, null, null] }] },
  { id: 1, boxes: [{ min: [-20, null, null], max: [20, null, null] }] },
  { id: 2, boxes: [{ min: [20, null, null], max: [null, null, null] }] },
];

describe("a spot on the ground", () => {
  test("is where the line of sight meets it", () => {
    expect(groundSpot([0, 10, 0], [1, -1, 0])).toEqual([10, 0]);
    expect(groundSpot([2, 10, 3], [0, -2, 1], 4)).toEqual([2, 6]);
  });
  test("is nowhere for those who look up or along it", () => {
    expect(groundSpot([0, 10, 0], [1, 1, 0])).toBeNull();
    expect(groundSpot([0, 10, 0], [1, 0, 0])).toBeNull();
  });
});

describe("a drawn static", () => {
  test("stands on the ground and fills the rectangle, whichever way it was drawn", () => {
    const box = { shape: { cuboid: { half: [2, 0.5, 3] } }, position: [0, 0.5, 1] };
    expect(drawnStatic("box", [-2, -2], [2, 4], 1)).toEqual(box);
    expect(drawnStatic("box", [2, 4], [-2, -2], 1)).toEqual(box);
    expect(drawnStatic("ball", [0, 0], [4, 6], 1)).toEqual({ shape: { ball: { radius: 2 } }, position: [2, 2, 3] });
    expect(drawnStatic("cylinder", [0, 0], [4, 4], 6)).toEqual({
      shape: { cylinder: { half_height: 3, radius: 2 } },
      position: [2, 3, 2],
    });
  });
  test("is none when the drag was a click, and never too thin", () => {
    expect(drawnStatic("box", [1, 1], [1.1, 1.1], 1)).toBeNull();
    expect(drawnStatic("box", [0, 0], [5, 0], 1)?.shape).toEqual({ cuboid: { half: [2.5, 0.5, 0.15] } });
  });
});

describe("a drawn region", () => {
  test("is the first box, in front of those there are", () => {
    const command = regionCommand(2, rectangle([10, 0], [-5, 30]), COLUMNS);
    expect(command).toEqual({
      type: "regions",
      rest: 2,
      boxes: [
        { region: 2, min: [-5, null, 0], max: [10, null, 30] },
        { region: 0, min: [null, null, null], max: [-20, null, null] },
        { region: 1, min: [-20, null, null], max: [20, null, null] },
        { region: 2, min: [20, null, null], max: [null, null, null] },
      ],
    });
  });
  test("keeps to boundaries that are near", () => {
    expect(snapped([-25, 0], [15, 40], COLUMNS)).toEqual({ min: [-20, 0], max: [20, 40] });
    expect(snapped([-40, 0], [0, 40], COLUMNS)).toEqual({ min: [-40, 0], max: [0, 40] });
  });
  test("is none without an inside", () => {
    expect(snapped([18, 0], [22, 40], COLUMNS)).toEqual({ min: [18, 0], max: [22, 40] });
    expect(regionCommand(1, rectangle([5, 0], [5, 40]), COLUMNS)).toBeNull();
    expect(regionCommand(1, rectangle([0, 0], [0.1, 9]), COLUMNS)).toBeNull();
  });
});

test("neighbours are the regions that touch", () => {
  expect(neighbours(0, COLUMNS)).toEqual([1]);
  expect(neighbours(1, COLUMNS)).toEqual([0, 2]);
  expect(neighbours(9, COLUMNS)).toEqual([]);
});
