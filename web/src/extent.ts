/**
 * The part of a world worth looking at: where the bodies are, and the furniture among them, but not a ground that goes
 * on for a kilometre. Region boundaries are drawn within it; the camera frames the bodies in it.
 */

import { Box3, Vector3 } from "three";
import { bodyBounds } from "./body_bounds";

/** Share of the outermost bodies left out at each end of each axis: a stray must not spoil the picture. */
const STRAY_SHARE = 0.01;
/** A static wider than this many times the bodies' spread is ground, not furniture. */
const GROUND_RATIO = 3;
/** The least half width of an extent, metres. */
const HALF_MIN = 4;

/** `positions` holds x y z per body; `statics` the boxes of the static bodies. */
export function interestingExtent(positions: Float32Array, statics: Box3[]): Box3 {
  const extent = new Box3();
  const bodies = Math.floor(positions.length / 3);
  if (bodies > 0) {
    for (const axis of [0, 1, 2] as const) {
      const values = new Float32Array(bodies);
      for (let i = 0; i < bodies; i++) values[i] = positions[i * 3 + axis];
      values.sort();
      const cut = Math.floor(bodies * STRAY_SHARE);
      extent.min.setComponent(axis, values[cut]);
      extent.max.setComponent(axis, values[bodies - 1 - cut]);
    }
    const spread = Math.max(HALF_MIN * 2, width(extent));
    const near = extent.clone().expandByScalar(spread * 0.5);
    for (const box of statics) {
      if (width(box) <= spread * GROUND_RATIO && near.intersectsBox(box)) extent.union(box);
    }
  } else if (statics.length > 0) {
    const widths = statics.map(width);
    const least = Math.max(HALF_MIN * 2, Math.min(...widths));
    statics.forEach((box, i) => {
      if (widths[i] <= least * 4) extent.union(box);
    });
    // A lone ground: look at a part of it.
    if (width(extent) > 80) {
      const top = extent.max.y;
      extent.getCenter(scratch);
      extent.setFromCenterAndSize(scratch.setY(top), new Vector3(40, 0.1, 40));
    }
  }
  if (extent.isEmpty()) extent.set(new Vector3(-10, 0, -10), new Vector3(10, 6, 10));
  extent.getCenter(scratch);
  for (const axis of ["x", "z"] as const) {
    extent.min[axis] = Math.min(extent.min[axis], scratch[axis] - HALF_MIN);
    extent.max[axis] = Math.max(extent.max[axis], scratch[axis] + HALF_MIN);
  }
  extent.max.y = Math.max(extent.max.y, extent.min.y + 2);
  return extent;
}

/** A look at more than this shows bodies as dots; the first look is then at a part, metres. */
const LOOK_WIDTH_MAX = 400;
/** Width of the part that is looked at in a world too wide to see at once, metres. */
const FOCUS_WIDTH = 160;

/**
 * What to look at first: the bodies, or in a wide world those of the part that has the most. Null without bodies: the
 * ground is then all there is.
 */
export function focusOf(positions: Float32Array, radii?: Float32Array): Box3 | null {
  const whole = bodyBounds(positions, radii);
  if (!whole || width(whole) <= LOOK_WIDTH_MAX) return whole;
  const { x, z } = crowdOf(positions);
  const near: number[] = [];
  for (let i = 0; i * 3 + 2 < positions.length; i++) {
    const aside = Math.max(Math.abs(positions[i * 3] - x), Math.abs(positions[i * 3 + 2] - z));
    if (aside <= FOCUS_WIDTH / 2) near.push(i);
  }
  const places = Float32Array.from(near.flatMap((i) => [...positions.subarray(i * 3, i * 3 + 3)]));
  return bodyBounds(places, radii && Float32Array.from(near, (i) => radii[i])) ?? whole;
}

/** The middle of the part of `FOCUS_WIDTH` with the most bodies, the one nearest to the origin if there are several. */
function crowdOf(positions: Float32Array): { x: number; z: number } {
  // Cells of half the focus, counted as blocks of two by two, so that a crowd on a cell's border is not cut in half.
  const cell = FOCUS_WIDTH / 2;
  const counts = new Map<string, number>();
  let best = { count: 0, x: 0, z: 0, away: Infinity };
  for (let i = 0; i * 3 + 2 < positions.length; i++) {
    const cx = Math.floor(positions[i * 3] / cell);
    const cz = Math.floor(positions[i * 3 + 2] / cell);
    if (!Number.isFinite(cx + cz)) continue;
    for (const x of [cx, cx + 1]) {
      for (const z of [cz, cz + 1]) {
        const key = `${x} ${z}`;
        const count = (counts.get(key) ?? 0) + 1;
        counts.set(key, count);
        const away = Math.hypot(x, z);
        if (count > best.count || (count === best.count && away < best.away)) best = { count, x, z, away };
      }
    }
  }
  return { x: best.x * cell, z: best.z * cell };
}

/** The greater of the horizontal extents, metres. */
export function width(box: Box3): number {
  return Math.max(box.max.x - box.min.x, box.max.z - box.min.z);
}

const scratch = new Vector3();
