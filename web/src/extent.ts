/**
 * The part of a world worth looking at: where the bodies are, and the furniture among them, but not a ground that goes
 * on for a kilometre. The camera frames it and region boundaries are drawn within it.
 */

import { Box3, Vector3 } from "three";

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
const LOOK_WIDTH_MAX = 160;
/** Width of the part that is looked at in a world too wide to see at once, metres. */
const FOCUS_WIDTH = 72;

/** What to look at first: the whole extent, or in a wide world the part of it with the most bodies. */
export function focusOf(positions: Float32Array, extent: Box3): Box3 {
  const bodies = Math.floor(positions.length / 3);
  if (width(extent) <= LOOK_WIDTH_MAX || bodies === 0) return extent;
  // Cells of half the focus, counted as blocks of two by two, so that a crowd on a cell's border is not cut in half.
  const cell = FOCUS_WIDTH / 2;
  const counts = new Map<string, number>();
  let best = { count: 0, x: 0, z: 0, away: Infinity };
  for (let i = 0; i < bodies; i++) {
    const cx = Math.round(positions[i * 3] / cell);
    const cz = Math.round(positions[i * 3 + 2] / cell);
    for (const x of [cx, cx + 1]) {
      for (const z of [cz, cz + 1]) {
        const key = `${x} ${z}`;
        const count = (counts.get(key) ?? 0) + 1;
        counts.set(key, count);
        const away = Math.hypot(x - 0.5, z - 0.5);
        if (count > best.count || (count === best.count && away < best.away)) best = { count, x, z, away };
      }
    }
  }
  const centre = new Vector3((best.x - 0.5) * cell, 0, (best.z - 0.5) * cell);
  const focus = new Box3().setFromCenterAndSize(centre, new Vector3(FOCUS_WIDTH, 0, FOCUS_WIDTH));
  focus.min.y = extent.min.y;
  focus.max.y = Math.min(extent.max.y, extent.min.y + FOCUS_WIDTH / 2);
  return focus;
}

/** The greater of the horizontal extents, metres. */
export function width(box: Box3): number {
  return Math.max(box.max.x - box.min.x, box.max.z - box.min.z);
}

const scratch = new Vector3();
