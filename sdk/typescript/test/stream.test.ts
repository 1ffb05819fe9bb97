import { describe, expect, test } from "vitest";
import { type Decoded, SLOT_LIMIT, StreamDecodeError, StreamDecoder } from "../src/index.js";
import { numbers } from "./messages.js";
import { type Expected, streams, sumOf, wordsOf } from "./packed_fixture.js";

/** What became of a packet: its snapshot, or why there is none. Anything else that is thrown fails the test. */
function attempt(decoder: StreamDecoder, packet: Uint8Array): Decoded | string {
  try {
    return decoder.decode(packet);
  } catch (error) {
    if (error instanceof StreamDecodeError) return error.kind;
    throw error;
  }
}

function check(decoded: Decoded | null, expected: Expected, name: string): void {
  if (expected === null || decoded === null) {
    expect(decoded, name).toBe(expected);
    return;
  }
  const words = wordsOf(decoded);
  if (expected.words) expect([...words], name).toEqual([...expected.words]);
  expect([decoded.slots.length, sumOf(words)], name).toEqual([expected.count, expected.sum]);
}

describe("a compressed stream", () => {
  streams().forEach((frames, number) => {
    test(`${number} is decoded to the bit as in Rust`, () => {
      const decoder = new StreamDecoder();
      frames.forEach(({ packet, arrives }, sequence) => {
        if (!arrives) return;
        const name = `frame ${sequence}`;
        const decoded = decoder.decode(packet);
        expect(decoded.sequence).toBe(sequence);
        check(decoded, arrives.now, name);
        check(decoder.snapshot(sequence - 1), arrives.before, `before ${name}`);
        expect(attempt(decoder, packet), "the same once more").toBe("late");
      });
    });
  });

  test("has packets of every kind", () => {
    const heads = streams().flatMap((frames) => frames.map(({ packet }) => packet[4]));
    expect(heads.filter((head) => head === 0).length).toBeGreaterThan(3);
    expect(heads.filter((head) => head > 0 && head < 0x80).length).toBeGreaterThan(100);
    expect(heads.filter((head) => head > 0x80).length).toBeGreaterThan(20);
  });

  test("a packet that goes on from what is not known is refused, and so is one that cannot be", () => {
    const [frames] = streams();
    const decoder = new StreamDecoder();
    expect(attempt(decoder, frames[1].packet)).toBe("base");
    expect(attempt(decoder, new Uint8Array(0))).toBe("length");
    expect(attempt(decoder, new Uint8Array([9, 0, 0, 0]))).toBe("length");
    for (const head of [0x80, 0x81, 32, 0x7f]) expect(attempt(decoder, new Uint8Array([9, 0, 0, 0, head, 1]))).toBe("base");
    expect(attempt(decoder, new Uint8Array([...frames[0].packet, 0]))).toBe("length");
    expect(typeof attempt(decoder, frames[0].packet)).toBe("object");
  });

  test("thousands of damaged packets are refused or become some snapshot, and harm nothing", () => {
    const next = numbers(77);
    const below = (limit: number): number => Math.floor(next() * limit);
    for (const frames of streams()) {
      const arrived = frames.filter(({ arrives }) => arrives);
      let decoder = new StreamDecoder();
      let refused = 0;
      arrived.forEach(({ packet, arrives }, known) => {
        for (let round = 0; round < 10; round++) {
          const damaged = packet.slice(0, below(4) === 0 ? below(packet.length + 1) : packet.length);
          for (let flips = below(4); flips >= 0 && damaged.length > 0; flips--) damaged[below(damaged.length)] ^= 1 << below(8);
          const outcome = attempt(decoder, damaged);
          if (typeof outcome === "string") {
            refused++;
            continue;
          }
          expect(outcome.slots.length).toBeLessThanOrEqual(4096);
          expect(outcome.slots.every((slot, i) => slot < SLOT_LIMIT && (i === 0 || slot > outcome.slots[i - 1]))).toBe(true);
          expect(outcome.positions.every((c) => Math.abs(c) <= 4097)).toBe(true);
          expect(outcome.rotations.every((c) => Math.abs(c) <= 1.0001)).toBe(true);
          // It was believed, so from here on the two ends differ: begin again with all that had arrived before.
          decoder = new StreamDecoder();
          for (const earlier of arrived.slice(0, known)) decoder.decode(earlier.packet);
        }
        check(decoder.decode(packet), arrives?.now ?? null, "after all that");
      });
      expect(refused).toBeGreaterThan(arrived.length * 5);
    }
  });

  test("bytes that mean nothing do not take long or much", () => {
    const next = numbers(5);
    const decoder = new StreamDecoder();
    for (let round = 0; round < 2000; round++) {
      const noise = new Uint8Array(5 + Math.floor(next() * 300)).map(() => next() * 256);
      noise[4] = 0;
      attempt(decoder, noise);
    }
    // All zeros and all ones say the likeliest thing again and again.
    for (const fill of [0, 0xff]) attempt(decoder, new Uint8Array(100_000).fill(fill));
  });
});
