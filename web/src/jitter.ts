/**
 * How unevenly states arrive: the mean difference between when a state came and when it should have, given the one
 * before it, smoothed as in RFC 3550. Times are milliseconds from any fixed point.
 */

/** Weight of the newest difference. */
const GAIN = 1 / 16;
/** After a silence as long as this, a pause for instance, there is nothing to compare with, ms. */
const SILENCE_MS = 600;

export class Jitter {
  /** Milliseconds; 0 before it can be told. */
  ms = 0;
  private tick = -1;
  private at = 0;

  reset(): void {
    this.ms = 0;
    this.tick = -1;
  }

  /** A state of a new tick came, at a pace of so many ticks a millisecond. */
  arrived(tick: number, now: number, pace: number): void {
    const waited = now - this.at;
    if (this.tick >= 0 && tick > this.tick && waited <= SILENCE_MS && pace > 0) {
      const expected = (tick - this.tick) / pace;
      this.ms += (Math.abs(waited - expected) - this.ms) * GAIN;
    }
    this.tick = tick;
    this.at = now;
  }
}
