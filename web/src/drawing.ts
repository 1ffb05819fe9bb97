/**
 * What a drag on the ground becomes: a static to put in, or boxes that give a rectangle to a region. Pure, so that it can
 * be tested without a picture.
 */

import type { Command, DrawnBox, Region, Shape, Vec3 } from "@nimbus/client";

/** A place on the ground, x and z, metres. */
export type Spot = [number, number];

export type StaticForm = "box" | "ball" | "cylinder";

export const STATIC_FORMS: readonly { form: StaticForm; name: string }[] = [
  { form: "box", name: "Box" },
  { form: "ball", name: "Ball" },
  { form: "cylinder", name: "Pillar" },
];

/** A drag shorter than this draws nothing, metres: it was a click. */
export const DRAG_MIN = 0.3;
/** Edges of a rectangle keep to boundaries that are nearer than this, metres: slivers are of no use to anybody. */
export const SNAP = 8;

/** Where a line of sight meets the ground, or null when it does not. */
export function groundSpot(origin: Vec3, direction: Vec3, height = 0): Spot | null {
  if (Math.abs(direction[1]) < 1e-6) return null;
  const way = (height - origin[1]) / direction[1];
  return way > 0 ? [origin[0] + direction[0] * way, origin[2] + direction[2] * way] : null;
}

/** The corners of the rectangle between two spots, the lower ones first. */
export function rectangle(a: Spot, b: Spot): { min: Spot; max: Spot } {
  return { min: [Math.min(a[0], b[0]), Math.min(a[1], b[1])], max: [Math.max(a[0], b[0]), Math.max(a[1], b[1])] };
}

/** The static that a drag from one spot to another draws, standing on the ground; null when the drag is too short. */
export function drawnStatic(form: StaticForm, a: Spot, b: Spot, height: number): Static | null {
  const { min, max } = rectangle(a, b);
  const [wide, deep] = [max[0] - min[0], max[1] - min[1]];
  if (Math.hypot(wide, deep) < DRAG_MIN) return null;
  const half = (length: number): number => Math.max(length, DRAG_MIN) / 2;
  const middle: Spot = [(min[0] + max[0]) / 2, (min[1] + max[1]) / 2];
  if (form === "ball") {
    const radius = round(half(Math.min(wide, deep) || Math.max(wide, deep)));
    return { shape: { ball: { radius } }, position: at(middle, radius) };
  }
  const half_height = round(height / 2);
  if (form === "cylinder") {
    const radius = round(half(Math.min(wide, deep) || Math.max(wide, deep)));
    return { shape: { cylinder: { half_height, radius } }, position: at(middle, half_height) };
  }
  return { shape: { cuboid: { half: [round(half(wide)), half_height, round(half(deep))] } }, position: at(middle, half_height) };
}

export interface Static {
  shape: Shape;
  position: Vec3;
}

/** The command that puts a static into the world. */
export function staticCommand({ shape, position }: Static): Command {
  return { type: "static", shape, position };
}

/** The rectangle between two spots, with edges that lie near a boundary moved to it. */
export function snapped(a: Spot, b: Spot, regions: readonly Region[], reach = SNAP): { min: Spot; max: Spot } {
  const { min, max } = rectangle(a, b);
  const cuts = [boundaries(regions, 0), boundaries(regions, 2)];
  const near = (value: number, axis: number): number => {
    let best = value;
    let least = reach;
    for (const cut of cuts[axis]) {
      const way = Math.abs(cut - value);
      if (way < least) [best, least] = [cut, way];
    }
    return best;
  };
  // Two edges never keep to the same boundary: nothing would be left between them.
  const edges = ([0, 1] as const).map((axis) => {
    const moved = [near(min[axis], axis), near(max[axis], axis)];
    return moved[0] < moved[1] ? moved : [min[axis], max[axis]];
  });
  return { min: [edges[0][0], edges[1][0]], max: [edges[0][1], edges[1][1]] };
}

/**
 * The command that gives a rectangle to a region and leaves the rest as it is: the first box that holds a place wins. Null
 * when the rectangle has no inside.
 */
export function regionCommand(region: number, drawn: { min: Spot; max: Spot }, regions: readonly Region[]): Command | null {
  if (drawn.max[0] - drawn.min[0] < DRAG_MIN || drawn.max[1] - drawn.min[1] < DRAG_MIN) return null;
  const first: DrawnBox = {
    region,
    min: [round(drawn.min[0]), null, round(drawn.min[1])],
    max: [round(drawn.max[0]), null, round(drawn.max[1])],
  };
  const others = regions.flatMap(({ id, boxes }) => boxes.map(({ min, max }) => ({ region: id, min, max })));
  return { type: "regions", boxes: [first, ...others], rest: region };
}

/** The regions that touch a region, in order: whose servers must talk to its own. */
export function neighbours(region: number, regions: readonly Region[]): number[] {
  const own = regions.find(({ id }) => id === region);
  if (!own) return [];
  const touch = (a: Region["boxes"][number], b: Region["boxes"][number]): boolean =>
    [0, 1, 2].every((axis) => {
      const low = Math.max(a.min[axis] ?? -Infinity, b.min[axis] ?? -Infinity);
      const high = Math.min(a.max[axis] ?? Infinity, b.max[axis] ?? Infinity);
      return low <= high;
    });
  const others = regions.filter(({ id, boxes }) => id !== region && boxes.some((b) => own.boxes.some((a) => touch(a, b))));
  return others.map(({ id }) => id).sort((a, b) => a - b);
}

function boundaries(regions: readonly Region[], axis: number): Set<number> {
  const found = new Set<number>();
  for (const { boxes } of regions) {
    for (const { min, max } of boxes) {
      for (const bound of [min[axis], max[axis]]) if (typeof bound === "number") found.add(bound);
    }
  }
  return found;
}

function at(spot: Spot, height: number): Vec3 {
  return [round(spot[0]), height, round(spot[1])];
}

function round(value: number): number {
  return Math.round(value * 1e3) / 1e3;
}
