/**
 * Where the odds of each kind of bit are in the one array that a snapshot keeps of them, and how a number is read with them.
 * The same as `model.rs`.
 */

import type { RangeReader } from "./range_reader.js";

/** A kind of bit has two guesses at its odds. */
const GUESSES = 2;
/** Numbers are below two to this. */
const SIZE_MAX = 27;
/** Sizes with odds of their own; larger ones share the last. */
const SIZES = 14;
/** Sizes whose second bit has odds of its own. */
const TOPS = 6;
/** Classes of how far off a prediction was, by its bits, and of how far off the components before it were. */
const MISSES = 6;
const SO_FAR = 4;

/** Where the odds of a number are, from its first. */
const NEGATIVE = GUESSES;
const SIZE = NEGATIVE + 3 * GUESSES;
const TOP = SIZE + SIZES * GUESSES;
const NUMBER = TOP + TOPS * GUESSES;
const COMPONENTS = 3 * MISSES * SO_FAR * NUMBER;

/** Bodies more or fewer than in the snapshot before. */
export const COUNT = 0;
/** Slots left out between two bodies. */
export const GAP = COUNT + NUMBER;
const STAYS = GAP + NUMBER;
const AT_REST = STAYS + 3 * 2 * GUESSES;
/** A turn too far to be a difference. */
export const LEAP = AT_REST + 3 * GUESSES;
/** Differences to the same body earlier: `component` tells which. */
export const POSITION = LEAP + GUESSES;
export const ROTATION = POSITION + COMPONENTS;
/** Differences to another body: `axis` tells which. */
export const FRESH_POSITION = ROTATION + COMPONENTS;
export const FRESH_ROTATION = FRESH_POSITION + 3 * NUMBER;
const ODDS = FRESH_ROTATION + 3 * NUMBER;

/** Odds that know nothing yet. */
export function freshModel(): Uint16Array {
  return new Uint16Array(ODDS).fill(1 << 15);
}

/** Whether a body stays where it was: by what it did before, and whether the body before it stays. */
export function stays(habit: number, neighbourStays: boolean): number {
  return STAYS + (habit * 2 + (neighbourStays ? 1 : 0)) * GUESSES;
}

/** Whether a body is at rest, by what it did before. */
export function atRest(habit: number): number {
  return AT_REST + habit * GUESSES;
}

/** The number of an axis, by how far off the last prediction for the body was and the components before this one are. */
export function component(first: number, axis: number, miss: number, greatest: number): number {
  const soFar = greatest === 0 ? 0 : greatest < 3 ? 1 : greatest < 12 ? 2 : 3;
  return first + ((axis * MISSES + miss) * SO_FAR + soFar) * NUMBER;
}

/** The number of an axis. */
export function axis(first: number, which: number): number {
  return first + which * NUMBER;
}

/** The class of a difference by its greatest component. */
export function miss(greatest: number): number {
  return Math.min(32 - Math.clz32(greatest), MISSES - 1);
}

/** Reads a number, below 2^27 in magnitude. `lean` is one whose sign may have to do with this one's. */
export function readNumber(reader: RangeReader, model: Uint16Array, at: number, lean: number): number {
  if (reader.bit(model, at)) return 0;
  const sign = lean > 0 ? 2 : lean < 0 ? 0 : 1;
  const isNegative = reader.bit(model, at + NEGATIVE + sign * GUESSES);
  let size = 0;
  while (size < SIZE_MAX - 1 && reader.bit(model, at + SIZE + Math.min(size, SIZES - 1) * GUESSES)) size++;
  let magnitude = 1;
  if (size > 0) {
    const top = reader.bit(model, at + TOP + (Math.min(size, TOPS) - 1) * GUESSES) ? 3 : 2;
    magnitude = (top << (size - 1)) | reader.plain(size - 1);
  }
  return isNegative ? -magnitude : magnitude;
}
