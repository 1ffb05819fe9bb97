/**
 * How the way between two states is bent where a body falls. A straight line is wrong for it: over three ticks by three
 * millimetres. Whatever three places say of a body that hit something is not what they say of one that falls, so its way stays
 * straight, and nothing is shown beneath the floor that it hit. The same as `curve.rs`.
 */

/** By so much, metres, the middle of a way may be off that of a body that falls, and still be taken for one. */
const OFF_M = 0.00025;
/** Most that a way is bent, m/s². */
const BEND_MAX = 10;

/** What falling is in a world. */
export class Fall {
  /** Acceleration, m/s²; none while it is not known. */
  gravity: readonly number[] = [0, 0, 0];
  /** How long a tick of the world takes, seconds. */
  tickSeconds = 1 / 60;

  /**
   * Writes what bends the way from one place to another to `out` at `at`, half an acceleration in metres a tick and tick,
   * if nothing but gravity has moved the body there from an earlier place; otherwise leaves it as it is. Places are `first` and
   * then `gap` ticks apart, and lie in their arrays at the offsets that follow them.
   */
  bend(
    out: Float32Array,
    at: number,
    first: number,
    gap: number,
    earlier: Float32Array,
    e: number,
    from: Float32Array,
    f: number,
    to: Float32Array,
    t: number,
  ): void {
    if (!(first > 0 && gap > 0)) return;
    const perTick = 2 / (first + gap);
    const square = this.tickSeconds * this.tickSeconds;
    let [off, size] = [0, 0];
    for (let k = 0; k < 3; k++) {
      // The velocities of the two ways are those in the middle of each.
      const bend = ((to[t + k] - from[f + k]) / gap - (from[f + k] - earlier[e + k]) / first) * perTick;
      off += (bend - this.gravity[k] * square) ** 2;
      size += bend ** 2;
    }
    // The shorter the way before, the more it counts by what its ends were rounded.
    if (!((Math.sqrt(off) * gap * gap) / 8 <= OFF_M * Math.max(1, gap / first))) return;
    const share = 0.5 * Math.min(1, (BEND_MAX * square) / Math.sqrt(size || 1));
    for (let k = 0; k < 3; k++) {
      out[at + k] = ((to[t + k] - from[f + k]) / gap - (from[f + k] - earlier[e + k]) / first) * perTick * share;
    }
  }
}
