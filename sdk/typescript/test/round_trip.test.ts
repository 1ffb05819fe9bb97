import { describe, expect, it } from "vitest";
import { NOBODY, RoundTrip } from "../src/index.js";

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
