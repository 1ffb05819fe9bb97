/**
 * Decides which tick to draw at a moment: a little behind the newest state, at the pace at which states really come.
 *
 * Pace is measured, not taken from the tick rate, because a loaded server may run slower than it promised and a slow
 * motion factor may change at any time. Times are in milliseconds from any fixed point.
 */

/** States older than this do not count for the pace, ms. */
const PACE_WINDOW_MS = 1000;
/** A silence longer than this starts the measurement anew, ms. */
const SILENCE_MS = 600;
/** How much faster or slower than the pace the head may run to get back to its place. */
const CORRECTION = 0.3;

export class Playhead {
  /** The tick being drawn, with a fraction; -1 before the first state. */
  head = -1;
  private latest = -1;
  private interval = 1;
  private arrivals: { tick: number; at: number }[] = [];
  private drawnAt = 0;

  /** `nominal` is ticks per millisecond until enough states have come to measure. */
  constructor(private nominal = 0.06) {}

  /** A new world: nothing is known any more. */
  reset(ticksPerSecond: number): void {
    this.head = this.latest = -1;
    this.interval = 1;
    this.arrivals = [];
    this.nominal = ticksPerSecond / 1000;
  }

  /** A state message of this tick came. */
  arrived(tick: number, now: number): void {
    if (tick <= this.latest) return;
    const last = this.arrivals[this.arrivals.length - 1];
    if (last && now - last.at > SILENCE_MS) this.arrivals = [];
    else if (last) this.interval += (Math.min(tick - last.tick, 30) - this.interval) * 0.1;
    this.latest = tick;
    this.arrivals.push({ tick, at: now });
    while (this.arrivals[0].at < now - PACE_WINDOW_MS) this.arrivals.shift();
    if (this.head < 0) this.head = tick;
  }

  /** Moves the head to where it should be at this moment and returns it. */
  advance(now: number): number {
    const passed = Math.min(Math.max(now - this.drawnAt, 0), 250);
    this.drawnAt = now;
    if (this.latest < 0) return this.head;
    const pace = this.pace();
    const wanted = this.interval + pace * 8;
    const lag = this.latest - this.head;
    if (lag > Math.max(12 * this.interval, pace * 500)) {
      this.head = this.latest - wanted;
    } else {
      const error = (lag - wanted) / (wanted * 2);
      const correction = Math.max(-CORRECTION, Math.min(CORRECTION, error));
      this.head = Math.min(this.latest, this.head + pace * passed * (1 + correction));
    }
    return this.head;
  }

  /** How far the head is behind the newest state, ms. */
  delayMs(): number {
    const pace = this.pace();
    return this.latest < 0 || pace <= 0 ? 0 : (this.latest - this.head) / pace;
  }

  /** Ticks per millisecond. */
  pace(): number {
    const first = this.arrivals[0];
    const last = this.arrivals[this.arrivals.length - 1];
    if (!first || last.at - first.at < 200) return this.nominal;
    return (last.tick - first.tick) / (last.at - first.at);
  }
}
