/** Throwing: which bodies there are to throw, and the command for one that leaves the camera along a direction. */

import type { Vector3 } from "three";
import type { Command, RegionBox, Shape, Vec3 } from "@nimbus/client";

export interface Throwable {
  name: string;
  shape: () => Shape;
}

/** What a person can choose from. Each call of `shape` may give another individual of its kind. */
export const THROWABLES: Throwable[] = [
  { name: "Ball", shape: () => ({ ball: { radius: 0.4 } }) },
  { name: "Crate", shape: () => ({ cuboid: { half: [0.4, 0.4, 0.4] } }) },
  { name: "Plank", shape: () => ({ cuboid: { half: [0.9, 0.12, 0.25] } }) },
  { name: "Capsule", shape: () => ({ capsule: { half_height: 0.4, radius: 0.3 } }) },
  { name: "Cylinder", shape: () => ({ cylinder: { half_height: 0.4, radius: 0.4 } }) },
  { name: "Cone", shape: () => ({ cone: { half_height: 0.5, radius: 0.45 } }) },
  { name: "Rock", shape: () => rock(Math.floor(Math.random() * ROCKS)) },
  { name: "Dumb-bell", shape: dumbbell },
  { name: "Boulder", shape: () => ({ ball: { radius: 1.2 } }) },
];

/** How many different rocks there are: each is a geometry of its own, so there must not be one for each throw. */
const ROCKS = 5;

/** Distance before the camera at which the body appears, metres: never inside the lens. */
const LEAD = 1.8;

/** How far inside the world a body thrown from outside appears, metres. */
const INSIDE = 1;

/**
 * The command that throws a body. `direction` is a unit vector, `speed` in metres a second. Seen from outside the world,
 * the body starts where the line of sight enters it; null when that line never does.
 */
export function throwCommand(
  shape: Shape,
  eye: Vector3,
  direction: Vector3,
  speed: number,
  world: RegionBox | null,
): Command | null {
  const lead = world === null ? LEAD : entry(eye, direction, world);
  if (lead === null) return null;
  return {
    type: "spawn",
    shape,
    position: rounded(eye.clone().addScaledVector(direction, lead)),
    velocity: rounded(direction.clone().multiplyScalar(speed)),
  };
}

/** Distance along a line of sight at which it is well inside a box, at least `LEAD`; null when it misses. */
function entry(eye: Vector3, direction: Vector3, box: RegionBox): number | null {
  let near = LEAD;
  let far = Infinity;
  for (let axis = 0; axis < 3; axis++) {
    const [from, along] = [eye.getComponent(axis), direction.getComponent(axis)];
    const low = (box.min[axis] ?? -Infinity) + INSIDE;
    const high = (box.max[axis] ?? Infinity) - INSIDE;
    if (Math.abs(along) < 1e-6) {
      if (from < low || from > high) return null;
      continue;
    }
    const [a, b] = [(low - from) / along, (high - from) / along];
    near = Math.max(near, Math.min(a, b));
    far = Math.min(far, Math.max(a, b));
  }
  return near <= far ? near : null;
}

function rounded(v: Vector3): Vec3 {
  return [v.x, v.y, v.z].map((c) => Math.round(c * 1e4) / 1e4) as Vec3;
}

function rock(which: number): Shape {
  const points: Vec3[] = [];
  for (let i = 0; i < 14; i++) {
    // Evenly spread over a sphere, each at its own distance.
    const y = 1 - (2 * (i + 0.5)) / 14;
    const ring = Math.sqrt(1 - y * y);
    const turn = i * 2.39996;
    const r = 0.38 + (((i + 1) * (which * 7 + 3) * 37) % 16) * 0.01;
    const point = [Math.cos(turn) * ring * r, y * r * 0.8, Math.sin(turn) * ring * r];
    points.push(point.map((c) => Math.round(c * 1e3) / 1e3) as Vec3);
  }
  return { "convex-hull": { points } };
}

function dumbbell(): Shape {
  const still: [number, number, number, number] = [0, 0, 0, 1];
  return {
    compound: {
      parts: [
        [{ position: [0, -0.55, 0], rotation: still }, { ball: { radius: 0.34 } }],
        [{ position: [0, 0.55, 0], rotation: still }, { ball: { radius: 0.34 } }],
        [{ position: [0, 0, 0], rotation: still }, { cylinder: { half_height: 0.5, radius: 0.12 } }],
      ],
    },
  };
}
