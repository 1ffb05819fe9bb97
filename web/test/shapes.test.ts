import { Box3, Vector3 } from "three";
import { describe, expect, test } from "vitest";
import { interestingExtent, width } from "../src/extent";
import type { Quat, Shape, Vec3 } from "@nimbus/client";
import { buildForm, formOf } from "../src/shape_geometry";

const STILL: Quat = [0, 0, 0, 1];

function boundsOf(shape: Shape): { min: number[]; max: number[] } {
  const form = formOf(shape);
  const box = buildForm(form).boundingBox ?? new Box3();
  const scale = new Vector3(...form.scale);
  return { min: box.min.multiply(scale).toArray(), max: box.max.multiply(scale).toArray() };
}

function expectBounds(shape: Shape, min: Vec3, max: Vec3, slack = 0.02): void {
  const bounds = boundsOf(shape);
  for (let k = 0; k < 3; k++) {
    expect(Math.abs(bounds.min[k] - min[k]), JSON.stringify(bounds)).toBeLessThan(slack);
    expect(Math.abs(bounds.max[k] - max[k]), JSON.stringify(bounds)).toBeLessThan(slack);
  }
}

describe("geometry has the size its description says", () => {
  test("simple shapes", () => {
    expectBounds({ ball: { radius: 2 } }, [-2, -2, -2], [2, 2, 2]);
    expectBounds({ cuboid: { half: [1, 2, 3] } }, [-1, -2, -3], [1, 2, 3]);
    expectBounds({ capsule: { half_height: 0.5, radius: 0.3 } }, [-0.3, -0.8, -0.3], [0.3, 0.8, 0.3]);
    expectBounds({ cylinder: { half_height: 0.5, radius: 0.3 } }, [-0.3, -0.5, -0.3], [0.3, 0.5, 0.3]);
    expectBounds({ cone: { half_height: 0.5, radius: 0.3 } }, [-0.3, -0.5, -0.3], [0.3, 0.5, 0.3]);
  });

  test("hull, compound, mesh and height field", () => {
    expectBounds({ "convex-hull": { points: [[1, 0, 0], [-1, 0, 0], [0, 2, 0], [0, 0, 3], [0, 0.1, 0.1]] } }, [-1, 0, 0], [1, 2, 3]);
    const parts: [{ position: Vec3; rotation: Quat }, Shape][] = [
      [{ position: [0, 2, 0], rotation: STILL }, { ball: { radius: 1 } }],
      [{ position: [0, 0, 0], rotation: [0, 0, Math.SQRT1_2, Math.SQRT1_2] }, { cuboid: { half: [1, 3, 1] } }],
    ];
    expectBounds({ compound: { parts } }, [-3, -1, -1], [3, 3, 1]);
    expectBounds({ "tri-mesh": { vertices: [[0, 0, 0], [1, 0, 0], [0, 1, 2]], triangles: [[0, 1, 2]] } }, [0, 0, 0], [1, 1, 2]);
    const field = { rows: 2, columns: 3, heights: [0, 1, 0, 0, 0, 2], scale: [10, 3, 4] as Vec3 };
    expectBounds({ "height-field": field }, [-5, 0, -2], [5, 6, 2]);
  });

  test("boxes of any size share one geometry; equal hulls do too", () => {
    expect(formOf({ cuboid: { half: [1, 2, 3] } }).key).toBe(formOf({ cuboid: { half: [4, 4, 4] } }).key);
    const points: Vec3[] = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]];
    expect(formOf({ "convex-hull": { points } }).key).toBe(formOf({ "convex-hull": { points: [...points] } }).key);
  });

  test("nonsense becomes a small box and throws nothing", () => {
    const nonsense: unknown[] = [
      {},
      { sphere: { radius: 1 } },
      { ball: {} },
      { ball: { radius: -1 } },
      { cuboid: { half: [1, NaN, 1] } },
      { "convex-hull": { points: [] } },
      { "convex-hull": { points: [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]] } },
      { compound: {} },
      { compound: { parts: [] } },
      { "tri-mesh": { vertices: [], triangles: [[0, 1, 2]] } },
      { "height-field": { rows: 100, columns: 100, heights: [], scale: [1, 1, 1] } },
    ];
    for (const shape of nonsense) {
      const geometry = buildForm(formOf(shape as Shape));
      expect(geometry.getAttribute("position").count, JSON.stringify(shape)).toBeGreaterThan(0);
    }
  });
});

describe("the interesting extent", () => {
  const box = (x: number, y: number, z: number, half: number): Box3 =>
    new Box3(new Vector3(x - half, y - half, z - half), new Vector3(x + half, y + half, z + half));

  test("leaves out huge grounds and strays, and takes furniture in", () => {
    const positions = new Float32Array(300 * 3);
    for (let i = 0; i < 300; i++) positions.set([(i % 20) - 10, (i % 7) + 1, Math.floor(i / 20) - 7], i * 3);
    positions.set([900, 0, 0], 0);
    const extent = interestingExtent(positions, [box(0, -500, 0, 500), box(12, 1, 0, 1)]);
    expect(width(extent)).toBeLessThan(40);
    expect(extent.max.x).toBeGreaterThanOrEqual(13);
  });

  test("is sound without bodies and without anything", () => {
    for (const extent of [interestingExtent(new Float32Array(0), []), interestingExtent(new Float32Array(0), [box(0, -500, 0, 500)])]) {
      expect(extent.isEmpty()).toBe(false);
      expect(width(extent)).toBeLessThan(100);
    }
  });
});
