/**
 * Rotations as few numbers. The same as `rotation.rs`: nothing but the four operations and the square root, in double
 * precision and in a fixed order, because both ends of a stream must come to the same bits.
 */

/** A unit quaternion, x y z w. */
export type Turn = readonly [number, number, number, number];
/** The axis of a turn times the tangent of half its angle. */
export type Twist = readonly [number, number, number];

/** No rotation. */
export const STILL: Turn = [0, 0, 0, 1];
/** Below this cosine of half the angle a turn is no longer told as a difference: 150 degrees. */
const LEAP_COSINE = 0.25;
/** Which components are not the largest. */
const OTHERS = [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]] as const;

/** `a` after `b`. */
function product(a: Turn, b: Turn): Turn {
  return [
    a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
    a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
    a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
    a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
  ];
}

/** At unit length; still if it has none. */
function unit(q: Turn): Turn {
  const length = Math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  if (!(length > 1e-6 && length < Infinity)) return STILL;
  return [q[0] / length, q[1] / length, q[2] / length, q[3] / length];
}

/** What leads from one rotation to another, or null when that is too far. */
export function twistBetween(from: Turn, to: Turn): Twist | null {
  const way = product(to, [-from[0], -from[1], -from[2], from[3]]);
  const sign = way[3] < 0 ? -1 : 1;
  const w = sign * way[3];
  return w >= LEAP_COSINE ? [(sign * way[0]) / w, (sign * way[1]) / w, (sign * way[2]) / w] : null;
}

/** A rotation after a twist. */
export function twisted(from: Turn, by: Twist): Turn {
  return unit(product([by[0], by[1], by[2], 1], from));
}

/** The rotation of which these are the three smallest components. */
export function fromSmallestThree(largest: number, three: Twist): Turn {
  const q: [number, number, number, number] = [0, 0, 0, 1];
  OTHERS[largest].forEach((place, i) => (q[place] = three[i]));
  const rest = 1 - three[0] * three[0] - three[1] * three[1] - three[2] * three[2];
  q[largest] = Math.sqrt(Math.max(rest, 0));
  return unit(q);
}
