/** The box that holds the bodies, but for those few that flew far away from all others. */

import { Box3, Vector3 } from "three";

/** A body further outside the middle half of all bodies than this many times its width is a stray. */
const STRAY_SPREADS = 5;
/** What counts as the least width of the middle half, metres: bodies in one heap are no strays of each other. */
const SPREAD_MIN = 4;
/** Share of the outermost bodies left out at each end of each axis where there are many. */
const STRAY_SHARE = 0.01;
/** Of more bodies than this a part stands for all: the bounds are taken every second, and sorting takes time. */
const SAMPLES_MAX = 4096;
/** A long or wide body is not all of what there is to see, metres. */
const RADIUS_MAX = 8;
/** The least half width of the box and its least height, metres. */
const HALF_MIN = 3;
const HEIGHT_MIN = 2;

const AXES = [0, 1, 2] as const;

/** `positions` holds x y z per body, `radii` how far it reaches. Null when there are no bodies. */
export function bodyBounds(positions: Float32Array, radii?: Float32Array): Box3 | null {
  const kept = withoutStrays(positions);
  if (kept.length === 0) return null;
  const cut = Math.floor(kept.length * STRAY_SHARE);
  const bounds = new Box3();
  for (const axis of AXES) {
    const reach = (i: number): number => Math.min(radii?.[i] ?? 0, RADIUS_MAX);
    const lows = Float32Array.from(kept, (i) => positions[i * 3 + axis] - reach(i)).sort();
    const highs = Float32Array.from(kept, (i) => positions[i * 3 + axis] + reach(i)).sort();
    bounds.min.setComponent(axis, lows[cut]);
    bounds.max.setComponent(axis, highs[kept.length - 1 - cut]);
  }
  const centre = bounds.getCenter(new Vector3());
  for (const axis of ["x", "z"] as const) {
    bounds.min[axis] = Math.min(bounds.min[axis], centre[axis] - HALF_MIN);
    bounds.max[axis] = Math.max(bounds.max[axis], centre[axis] + HALF_MIN);
  }
  bounds.max.y = Math.max(bounds.max.y, bounds.min.y + HEIGHT_MIN);
  return bounds;
}

/** The numbers of the bodies that are near enough to the others, along every axis. */
function withoutStrays(positions: Float32Array): number[] {
  const finite: number[] = [];
  const step = Math.max(1, Math.ceil(positions.length / 3 / SAMPLES_MAX));
  for (let i = 0; i * 3 + 2 < positions.length; i += step) {
    if (AXES.every((axis) => Number.isFinite(positions[i * 3 + axis]))) finite.push(i);
  }
  if (finite.length === 0) return finite;
  const middles = AXES.map((axis) => {
    const sorted = Float32Array.from(finite, (i) => positions[i * 3 + axis]).sort();
    const at = (share: number): number => sorted[Math.round((sorted.length - 1) * share)];
    return { low: at(0.25), high: at(0.75) };
  });
  // One spread for all axes: a flat field of bodies with a tower on it has no strays above.
  const spread = Math.max(SPREAD_MIN, ...middles.map(({ low, high }) => high - low));
  return finite.filter((i) =>
    AXES.every((axis) => {
      const value = positions[i * 3 + axis];
      const { low, high } = middles[axis];
      return value >= low - STRAY_SPREADS * spread && value <= high + STRAY_SPREADS * spread;
    }),
  );
}
