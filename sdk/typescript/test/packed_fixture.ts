/** Reads `fixtures/packed.bin`: packets of compressed streams and what our decoder in Rust makes of them, see `packed_fixture.rs`. */

import { readFileSync } from "node:fs";
import type { Decoded } from "../src/index.js";

/** Words of a body: slot, at rest, and the bits of its position and rotation. */
const BODY_WORDS = 9;
const NONE = 0xffffffff;

/** A snapshot as it should be; null for none. */
export type Expected = { count: number; sum: number; words: Uint32Array | null } | null;

export interface Frame {
  packet: Uint8Array<ArrayBuffer>;
  /** What is known after it arrived, of it and of the one before it; null when it gets lost. */
  arrives: { now: Expected; before: Expected } | null;
}

/** The frames of each stream. */
export function streams(): Frame[][] {
  const file = readFileSync(new URL("fixtures/packed.bin", import.meta.url));
  const bytes = Uint8Array.from(file);
  const words = new Uint32Array(bytes.buffer);
  let at = 0;
  const packet = (): Uint8Array<ArrayBuffer> => {
    const length = words[at++];
    const start = at * 4;
    at += Math.ceil(length / 4);
    return bytes.slice(start, start + length);
  };
  const snapshot = (): Expected => {
    const [count, sum, inFull] = words.subarray(at, (at += 3));
    if (count === NONE) return null;
    return { count, sum, words: inFull === 1 ? words.subarray(at, (at += count * BODY_WORDS)) : null };
  };
  const frame = (): Frame => {
    const arrives = words[at++] === 1;
    return { packet: packet(), arrives: arrives ? { now: snapshot(), before: snapshot() } : null };
  };
  const all = Array.from({ length: words[at++] }, () => Array.from({ length: words[at++] }, frame));
  if (at !== words.length) throw new Error("the fixture is not as long as what is in it");
  return all;
}

/** A snapshot in the words of the fixture. */
export function wordsOf({ slots, atRest, positions, rotations }: Decoded): Uint32Array {
  const words = new Uint32Array(slots.length * BODY_WORDS);
  const floats = new Float32Array(words.buffer);
  slots.forEach((slot, i) => {
    const o = i * BODY_WORDS;
    words[o] = slot;
    words[o + 1] = atRest[i];
    floats.set(positions.subarray(i * 3, i * 3 + 3), o + 2);
    floats.set(rotations.subarray(i * 4, i * 4 + 4), o + 5);
  });
  return words;
}

/** FNV-1a over words. */
export function sumOf(words: Uint32Array): number {
  return words.reduce((sum, word) => Math.imul(sum ^ word, 0x01000193), 0x811c9dc5) >>> 0;
}
