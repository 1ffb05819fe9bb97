import { describe, expect, it } from "vitest";
import { bytesText, Traffic, utf8Length } from "../src/traffic";

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
