/**
 * Which moment of the world to show: a little behind the newest state, and as little as the network allows.
 *
 * States come late by different amounts. A line through the arrivals says how fast the world's ticks pass and when each
 * state would have come with nothing in its way; how much later they really came is the jitter. The head runs behind
 * that line by the time between two states and the lateness that all but a few keep to, so that nearly every state is
 * there before it is needed. Pace and delay are measured, because a loaded server runs slower than it promised and a
 * network changes while one plays. Times are milliseconds from any fixed point. The same as `playhead.rs`.
 */

/** Arrivals older than this do not count, ms. */
const WINDOW_MS = 2000;
/** Arrivals that are kept; two seconds at 120 states a second. */
const ARRIVALS_MAX = 256;
/** A silence longer than this, such as a pause or a world at rest, starts the measurement of the pace anew, ms. */
const SILENCE_MS = 600;
/** Fewer arrivals, or arrivals within less time, say nothing about the pace. */
const ARRIVALS_MIN = 8;
const SPAN_MIN_MS = 200;
/** The share of states that is to be there in time. */
const IN_TIME = 0.97;
/** Room for the uneven steps of whoever draws, ms. */
const MARGIN_MS = 4;
/** How fast the delay shrinks when the network gets better, ms a ms; it grows at once. */
const SHRINK = 0.03;
/** How much faster or slower than the world the head may run to get to its place, and how soon it should be there. */
const HURRY_MAX = 0.2;
const CATCH_UP_MS = 250;
/** Farther from its place than this, the head jumps, ms. */
const JUMP_MS = 500;
/** Longest step of one call, ms. */
const STEP_MAX_MS = 250;

/** How motion is shown. */
export interface PlaybackOptions {
  /** How far behind the newest state to show, ms; null follows the jitter of the network. */
  delayMs: number | null;
  /** The most that jitter may make of it, ms. */
  delayMaxMs: number;
  /** For how long bodies go on with their last velocities when no state comes, ms. */
  extrapolationMs: number;
}

export const PLAYBACK: PlaybackOptions = { delayMs: null, delayMaxMs: 400, extrapolationMs: 250 };

export class Playhead {
  /** The tick being shown, with a fraction; -1 before the first state. */
  head = -1;
  private latest = -1;
  private paused = false;
  private readonly ticks: number[] = [];
  private readonly times: number[] = [];
  /** The line: the earliest arrivals came at `lineAt + (tick - lineTick) * tickMs`. */
  private hasLine = false;
  private lineTick = 0;
  private lineAt = 0;
  private tickMs: number;
  private lateness = 0;
  private delay = 0;
  private shownAt = 0;

  /** `nominal` is ticks per millisecond until enough states have come to measure. */
  constructor(
    private nominal = 0.06,
    private readonly options: PlaybackOptions = PLAYBACK,
  ) {
    this.tickMs = 1 / nominal;
  }

  /** A new world: its ticks have nothing to do with those before. How uneven the network is, it still knows. */
  reset(ticksPerSecond: number): void {
    this.head = this.latest = -1;
    this.restart(ticksPerSecond / 1000);
  }

  /** Ticks pass at this rate from now on, as far as it was promised. */
  runAt(ticksPerSecond: number, paused: boolean): void {
    const nominal = ticksPerSecond > 0 ? ticksPerSecond / 1000 : 0.06;
    if (nominal === this.nominal && paused === this.paused) return;
    this.paused = paused;
    this.restart(nominal);
  }

  /** A state message of this tick came. */
  arrived(tick: number, now: number): void {
    if (tick <= this.latest) return;
    const { ticks, times } = this;
    const last = times.length > 0 ? times[times.length - 1] : now;
    if (now - last > SILENCE_MS || now < last) ticks.length = times.length = 0;
    this.latest = tick;
    ticks.push(tick);
    times.push(now);
    while (times.length > ARRIVALS_MAX || now - times[0] > WINDOW_MS) {
      ticks.shift();
      times.shift();
    }
    const interval = this.fit();
    const calmer = this.delay - SHRINK * interval;
    const wanted = Math.max(interval + this.lateness + MARGIN_MS, calmer);
    this.delay = this.options.delayMs ?? Math.min(wanted, this.options.delayMaxMs);
    if (this.head < 0) this.head = Math.max(0, tick - this.delay / this.tickMs);
  }

  /** Moves the head to where it should be at this moment and returns it. */
  advance(now: number): number {
    const passed = Math.min(Math.max(now - this.shownAt, 0), STEP_MAX_MS);
    this.shownAt = now;
    if (this.latest < 0) return this.head;
    if (this.paused || !this.hasLine) {
      // Time stands still, so nothing more will come: show how it ended.
      this.head = Math.min(this.latest, this.head + passed * this.nominal);
      return this.head;
    }
    const target = this.lineTick + (now - this.lineAt - this.delay) / this.tickMs;
    const evenly = this.head + passed / this.tickMs;
    const behind = (target - evenly) * this.tickMs;
    const hurry = Math.max(-HURRY_MAX, Math.min(HURRY_MAX, behind / CATCH_UP_MS));
    const moved = Math.abs(behind) > JUMP_MS ? target : evenly + (passed / this.tickMs) * hurry;
    this.head = Math.max(0, Math.min(moved, this.latest + this.options.extrapolationMs / this.tickMs));
    return this.head;
  }

  /** How far the head keeps behind a state that comes in time, ms. */
  delayMs(): number {
    return this.delay;
  }

  /** How late all but a few states come, against the earliest, ms. */
  jitterMs(): number {
    return this.lateness;
  }

  /** Ticks per millisecond. */
  pace(): number {
    return 1 / this.tickMs;
  }

  private restart(nominal: number): void {
    this.nominal = nominal;
    this.tickMs = 1 / nominal;
    this.hasLine = false;
    this.ticks.length = this.times.length = 0;
  }

  /** Puts the least-squares line through the arrivals, moved to the earliest of them; returns the time between two, ms. */
  private fit(): number {
    const { ticks, times } = this;
    const count = ticks.length;
    const [tick0, time0] = [ticks[0], times[0]];
    let [meanTick, meanTime] = [0, 0];
    for (let i = 0; i < count; i++) {
      meanTick += (ticks[i] - tick0) / count;
      meanTime += (times[i] - time0) / count;
    }
    this.tickMs = 1 / this.nominal;
    const isMeasured = count >= ARRIVALS_MIN && times[count - 1] - time0 >= SPAN_MIN_MS;
    if (isMeasured) {
      let [both, square] = [0, 0];
      for (let i = 0; i < count; i++) {
        const offset = ticks[i] - tick0 - meanTick;
        both += offset * (times[i] - time0 - meanTime);
        square += offset * offset;
      }
      const slope = both / square;
      // A burst after a stall must not look like a world that ran away.
      if (Number.isFinite(slope)) this.tickMs = Math.min(Math.max(slope, 0.06 / this.nominal), 20 / this.nominal);
    }
    const late = ticks.map((tick, i) => times[i] - time0 - (tick - tick0) * this.tickMs).sort((a, b) => a - b);
    // Against a pace that was only promised, every state of a slow server would be late.
    this.lateness = isMeasured ? late[Math.ceil(count * IN_TIME) - 1] - late[0] : 0;
    this.lineTick = tick0;
    this.lineAt = time0 + late[0];
    this.hasLine = true;
    return Math.max(1, (ticks[count - 1] - tick0) / Math.max(1, count - 1)) * this.tickMs;
  }
}
