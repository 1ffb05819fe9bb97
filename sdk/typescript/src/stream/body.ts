/** One body out of bits, as `body.rs` puts it into them, and its motion, as `prediction.rs` keeps it. */

import * as odds from "./model.js";
import { readNumber } from "./model.js";
import type { RangeReader } from "./range_reader.js";
import { fromSmallestThree, STILL, type Turn, type Twist, twistBetween, twisted } from "./rotation.js";
import type { Snapshot } from "./snapshot.js";

/** Parts of a step of a position. */
const PARTS = 16;
const STEP_M = 1000 * 1e-6;
/** A part of a step, metres. */
export const PART_M = STEP_M / PARTS;
/** Furthest position along an axis, parts of a step: four kilometres. */
const LIMIT = Math.trunc(4096 / STEP_M) * PARTS;
const STEP_RAD = 250 * 1e-3 * (Math.PI / 180);
/** One step of a turn, as the tangent of half its angle. */
const HALF_TURN = STEP_RAD / 2;
/** Steps of a component that is not the largest, from the middle to the end, and its bits. */
const GRID_STEPS = Math.ceil(Math.SQRT1_2 / (STEP_RAD / 2));
const GRID_WIDTH = 32 - Math.clz32(2 * GRID_STEPS);

/** Velocities are in parts of this. */
const VELOCITY_PARTS = 256;
const VELOCITY_MAX = 2 ** 30;
const SPIN_MAX = 0.5;

/** The order in which axes are told: along the ground, then up; turns about the vertical first. */
const AXES = [0, 2, 1] as const;
const TURN_AXES = [1, 0, 2] as const;
const NO_LEAN: Twist = [0, 0, 0];

/** Bodies out of one packet, one after the other, into a snapshot; those of another that they go on from are `ticks` older. */
export class BodyReader {
  private neighbourStays = false;

  constructor(
    private readonly reader: RangeReader,
    private readonly now: Snapshot,
    private readonly base: Snapshot | null,
    private readonly ticks: number,
  ) {}

  /** Reads the next body, which is `before` in the older snapshot, or none of it (-1). False for what is no body. */
  read(slot: number, before: number): boolean {
    const { now } = this;
    now.slots[now.count] = slot;
    const base = before < 0 ? null : this.base;
    const isRead = base === null ? this.readFresh() : this.readKnown(base, before);
    if (isRead) now.count++;
    return isRead;
  }

  private readKnown(base: Snapshot, before: number): boolean {
    const { reader, now, ticks } = this;
    const { model } = now;
    const habit = habitOf(base, before);
    this.neighbourStays = reader.bit(model, odds.stays(habit, this.neighbourStays));
    if (this.neighbourStays) {
      keepStill(base, before, now);
      return true;
    }
    const at = now.count;
    const rests = reader.bit(model, odds.atRest(habit));
    now.atRest[at] = rests ? 1 : 0;
    const steps = this.components(odds.POSITION, AXES, triple(base.velocity, before), base.positionMiss[before], 0);
    for (let k = 0; k < 3; k++) {
      const way = Math.floor((base.velocity[before * 3 + k] * ticks) / VELOCITY_PARTS);
      const place = Math.max(-LIMIT, Math.min(LIMIT, base.position[before * 3 + k] + way));
      if (!this.place(k, place + steps[k] * PARTS)) return false;
    }
    const greatest = greatestOf(steps);
    now.positionMiss[at] = odds.miss(greatest);
    now.rotationMiss[at] = 0;
    if (reader.bit(model, odds.LEAP)) {
      if (!this.rotationInFull()) return false;
    } else {
      const spin = triple(base.spin, before);
      const turn = twisted(base.turn(before), [spin[0] * ticks, spin[1] * ticks, spin[2] * ticks]);
      this.twist(turn, this.components(odds.ROTATION, TURN_AXES, spin, base.rotationMiss[before], greatest));
    }
    if (rests) stop(now, at);
    else follow(base, before, now, at, ticks);
    return true;
  }

  /** A body that the older snapshot has not got is told as a difference to the one before it in the packet. */
  private readFresh(): boolean {
    const { reader, now } = this;
    const { model } = now;
    const at = now.count;
    this.neighbourStays = false;
    now.atRest[at] = reader.bit(model, odds.atRest(0)) ? 1 : 0;
    const steps = this.fresh(odds.FRESH_POSITION);
    for (let k = 0; k < 3; k++) {
      if (!this.place(k, (at === 0 ? 0 : now.position[at * 3 - 3 + k]) + steps[k] * PARTS)) return false;
    }
    now.positionMiss[at] = odds.miss(greatestOf(steps));
    now.rotationMiss[at] = 0;
    stop(now, at);
    if (reader.bit(model, odds.LEAP)) return this.rotationInFull();
    this.twist(at === 0 ? STILL : now.turn(at - 1), this.fresh(odds.FRESH_ROTATION));
    return true;
  }

  /** Three components, each in the light of those before it. */
  private components(first: number, axes: readonly number[], leans: Twist, miss: number, before: number): Twist {
    const coded: [number, number, number] = [0, 0, 0];
    let greatest = before;
    for (const axis of axes) {
      coded[axis] = readNumber(this.reader, this.now.model, odds.component(first, axis, miss, greatest), leans[axis]);
      greatest = greatestOf(coded);
    }
    return coded;
  }

  private fresh(first: number): Twist {
    const read = (axis: number): number => readNumber(this.reader, this.now.model, odds.axis(first, axis), NO_LEAN[axis]);
    return [read(0), read(1), read(2)];
  }

  private place(axis: number, parts: number): boolean {
    this.now.position[this.now.count * 3 + axis] = parts;
    // A step beyond the limit is what rounding may come to.
    return Math.abs(parts) <= LIMIT + PARTS;
  }

  private twist(turn: Turn, steps: Twist): void {
    const { now } = this;
    now.rotationMiss[now.count] = odds.miss(greatestOf(steps));
    now.rotation.set(twisted(turn, [steps[0] * HALF_TURN, steps[1] * HALF_TURN, steps[2] * HALF_TURN]), now.count * 4);
  }

  private rotationInFull(): boolean {
    const steps = [0, 0, 0].map(() => this.reader.plain(GRID_WIDTH));
    const [a, b, c] = steps.map((step) => ((step - GRID_STEPS) / GRID_STEPS) * Math.SQRT1_2);
    const largest = this.reader.plain(2);
    this.now.rotation.set(fromSmallestThree(largest, [a, b, c]), this.now.count * 4);
    return steps.every((step) => step <= 2 * GRID_STEPS);
  }
}

/** What a body did: nothing at all, nothing for now, something. */
function habitOf({ atRest, velocity, spin }: Snapshot, body: number): number {
  if (atRest[body] === 1) return 0;
  const moves = (column: Int32Array | Float32Array): boolean =>
    column[body * 3] !== 0 || column[body * 3 + 1] !== 0 || column[body * 3 + 2] !== 0;
  return moves(velocity) || moves(spin) ? 2 : 1;
}

/** The same body at the same place, not moving. */
function keepStill(base: Snapshot, before: number, now: Snapshot): void {
  const at = now.count;
  now.atRest[at] = base.atRest[before];
  now.positionMiss[at] = now.rotationMiss[at] = 0;
  for (let k = 0; k < 3; k++) now.position[at * 3 + k] = base.position[before * 3 + k];
  for (let k = 0; k < 4; k++) now.rotation[at * 4 + k] = base.rotation[before * 4 + k];
  stop(now, at);
}

function stop(now: Snapshot, at: number): void {
  now.velocity.fill(0, at * 3, at * 3 + 3);
  now.spin.fill(0, at * 3, at * 3 + 3);
}

/** Takes the motion from an earlier snapshot into account. */
function follow(base: Snapshot, before: number, now: Snapshot, at: number, ticks: number): void {
  const twist = twistBetween(base.turn(before), now.turn(at)) ?? NO_LEAN;
  const span = Math.max(1, ticks);
  for (let k = 0; k < 3; k++) {
    const way = (now.position[at * 3 + k] - base.position[before * 3 + k]) * VELOCITY_PARTS;
    now.velocity[at * 3 + k] = Math.max(-VELOCITY_MAX, Math.min(VELOCITY_MAX, Math.trunc(way / span)));
    now.spin[at * 3 + k] = Math.max(-SPIN_MAX, Math.min(SPIN_MAX, twist[k] / span));
  }
}

function greatestOf(steps: Twist): number {
  return Math.max(Math.abs(steps[0]), Math.abs(steps[1]), Math.abs(steps[2]));
}

function triple(column: Int32Array | Float32Array, body: number): Twist {
  return [column[body * 3], column[body * 3 + 1], column[body * 3 + 2]];
}
