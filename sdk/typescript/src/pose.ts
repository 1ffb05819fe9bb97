/** Poses in flat arrays, and those between two others. */

/** Floats per pose: x y z, one unused, then the quaternion x y z w. */
export const POSE_STRIDE = 8;

/** Writes the pose a share `t` of the way from `a` to `b` (both at offset `o`) to `out` at `at`; unit quaternion out. */
export function blend(
  out: Float32Array,
  at: number,
  a: Float32Array,
  b: Float32Array,
  o: number,
  t: number,
): void {
  const s = 1 - t;
  out[at] = a[o] * s + b[o] * t;
  out[at + 1] = a[o + 1] * s + b[o + 1] * t;
  out[at + 2] = a[o + 2] * s + b[o + 2] * t;
  const dot = a[o + 4] * b[o + 4] + a[o + 5] * b[o + 5] + a[o + 6] * b[o + 6] + a[o + 7] * b[o + 7];
  // q and -q are the same turn; take the shorter way round.
  const u = dot < 0 ? -t : t;
  const x = a[o + 4] * s + b[o + 4] * u;
  const y = a[o + 5] * s + b[o + 5] * u;
  const z = a[o + 6] * s + b[o + 6] * u;
  const w = a[o + 7] * s + b[o + 7] * u;
  const square = x * x + y * y + z * z + w * w;
  const inverse = square > 1e-12 ? 1 / Math.sqrt(square) : 0;
  out[at + 4] = x * inverse;
  out[at + 5] = y * inverse;
  out[at + 6] = z * inverse;
  out[at + 7] = inverse > 0 ? w * inverse : 1;
}
