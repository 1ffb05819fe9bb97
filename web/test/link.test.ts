import { describe, expect, it } from "vitest";
import { Jitter } from "../src/jitter";
import { Playhead } from "../src/playhead";
import { NOBODY, RoundTrip } from "../src/round_trip";
import { bytesText, Traffic, utf8Length } from "../src/traffic";
import { numbers } from "./messages";

describe("traffic", () => {
  it("becomes rates, binary and text apart", () => {
    const traffic = new Traffic(1000);
    traffic.binary(4000);
    traffic.binary(2000);
    traffic.text("{}é");
    expect(traffic.take(1500, 300)).toEqual({ binaryBytes: 12_000, textBytes: 8, messages: 6, bodies: 600 });
    expect(traffic.take(2500, 310)).toEqual({ binaryBytes: 0, textBytes: 0, messages: 0, bodies: 10 });
  });

  it("has no rate over no time, and loses nothing for it", () => {
    const traffic = new Traffic(0);
    traffic.binary(100);
    expect(traffic.take(0, 5).binaryBytes).toBe(0);
    expect(traffic.take(1000, 5)).toMatchObject({ binaryBytes: 100, bodies: 5 });
  });

  it("counts text as it is on the wire", () => {
    for (const text of ["", "plain", "é", "–", "❤", "a😀b", "日本"]) {
      expect(utf8Length(text), text).toBe(new TextEncoder().encode(text).length);
    }
  });

  it("is written with three digits", () => {
    const written = [0, 999, 999.7, 1000, 12_345, 123_456, 999_499, 999_700, 1_234_567, 123_456_789].map(bytesText);
    expect(written).toEqual(["0 B", "999 B", "1.00 kB", "1.00 kB", "12.3 kB", "123 kB", "999 kB", "1.00 MB", "1.23 MB", "123 MB"]);
  });
});

describe("jitter", () => {
  const PACE = 0.06;

  it("is nothing when states come evenly, also when ticks are left out", () => {
    const jitter = new Jitter();
    for (const tick of [1, 2, 3, 5, 6, 9, 10]) jitter.arrived(tick, tick / PACE, PACE);
    expect(jitter.ms).toBeCloseTo(0, 6);
  });

  it("comes to the mean difference when they do not", () => {
    const jitter = new Jitter();
    // Every other state is 4 ms late, so every distance is 4 ms off.
    for (let tick = 1; tick < 200; tick++) jitter.arrived(tick, tick / PACE + (tick % 2) * 4, PACE);
    expect(jitter.ms).toBeCloseTo(4, 1);
  });

  it("is not disturbed by a pause, and is bounded by the lateness", () => {
    const jitter = new Jitter();
    const next = numbers(5);
    for (let tick = 1; tick < 100; tick++) jitter.arrived(tick, tick / PACE, PACE);
    for (let tick = 100; tick < 200; tick++) jitter.arrived(tick, 60_000 + tick / PACE + next() * 3, PACE);
    expect(jitter.ms).toBeGreaterThan(0.2);
    expect(jitter.ms).toBeLessThan(3);
    jitter.reset();
    expect(jitter.ms).toBe(0);
  });
});

describe("the round trip", () => {
  it("is the time from a question to its answer, and only to its own", () => {
    const trip = new RoundTrip();
    expect(trip.due(0)).toBe(true);
    expect(trip.ms(0)).toBeNull();
    trip.asked(7, 0);
    expect(trip.due(500)).toBe(false);
    expect(trip.answered(6, 10)).toBe(false);
    expect(trip.answered(null, 10)).toBe(false);
    expect(trip.answered(7, 12)).toBe(true);
    expect(trip.answered(7, 13)).toBe(false);
    expect(trip.ms(1000)).toBe(12);
    expect(trip.due(2000)).toBe(true);
  });

  it("is not known when nobody hears or answers", () => {
    const trip = new RoundTrip();
    trip.asked(-1, 0);
    expect(trip.due(1)).toBe(true);
    trip.asked(1, 0);
    trip.answered(1, 20);
    expect(trip.ms(11_000)).toBeNull();
    trip.asked(2, 12_000);
    trip.reset();
    expect(trip.answered(2, 12_010)).toBe(false);
    expect(trip.due(12_010)).toBe(true);
  });

  it("awaits only so many answers", () => {
    const trip = new RoundTrip();
    for (let seq = 1; seq <= 100; seq++) trip.asked(seq, seq);
    expect(trip.answered(1, 200)).toBe(false);
    expect(trip.answered(100, 200)).toBe(true);
  });

  it("asks about an id that has the form of one", () => {
    const [origin, serial] = NOBODY.split(".").map(BigInt);
    expect([origin, serial]).toEqual([(1n << 16n) - 1n, (1n << 48n) - 1n]);
  });
});

it("the playback delay is the time from the head to the newest state", () => {
  const playhead = new Playhead();
  expect(playhead.delayMs()).toBe(0);
  for (let tick = 0; tick <= 60; tick++) {
    playhead.arrived(tick, tick * 20);
    playhead.advance(tick * 20);
  }
  expect(playhead.delayMs()).toBeCloseTo((60 - playhead.head) * 20, 6);
  expect(playhead.delayMs()).toBeGreaterThan(5);
  expect(playhead.delayMs()).toBeLessThan(100);
});
