import { beforeEach, describe, expect, it } from "vitest";
import type { Breach } from "@nimbus/client";
import { BreachTally, GROUPS_MAX, LINE_MS } from "../src/breach_tally";
import { type Label, placeLabels } from "../src/label_places";

let tally: BreachTally;
beforeEach(() => {
  tally = new BreachTally();
});

function skew(value: number, region = 0): Breach {
  return { tick: 100, region, factor: "skew", value, limit: 2, bodies: [] };
}

describe("the line about breaches", () => {
  it("is empty when there are none, and again a minute after the last", () => {
    expect(tally.line(0)).toBe("");
    tally.take(1, [skew(12)], 1000);
    expect(tally.line(1000)).toBe("clock skew 12 > 2 ms · 1 breach in the last minute");
    expect(tally.line(59_000)).not.toBe("");
    expect(tally.line(62_000)).toBe("");
  });

  it("counts also those that were not told in detail", () => {
    tally.take(5000, [skew(3)], 1000);
    tally.take(5389, [skew(4), skew(12)], 2000);
    expect(tally.line(2000)).toBe("clock skew 12 > 2 ms · 390 breaches in the last minute");
  });

  it("changes at most once a second, however many come", () => {
    const seen = new Set<string>();
    let total = 0;
    for (let now = 10_000; now < 15_000; now += 50) {
      tally.take((total += 8), [skew(now / 100)], now);
      seen.add(tally.line(now));
    }
    expect(seen.size).toBe(5000 / LINE_MS);
  });

  it("restarts with the world, though the gateway counts on", () => {
    tally.take(700, [skew(9)], 1000);
    tally.take(800, [], 1100);
    expect(tally.line(1100)).toContain("101 breaches");
    tally.restart();
    expect([tally.line(1110), tally.inLastMinute(1110), tally.groups(1110)]).toEqual(["", 0, []]);
    tally.take(803, [skew(7)], 2200);
    expect(tally.line(2200)).toContain("3 breaches");
  });

  it("is not misled by totals of servers that began anew or of another gateway", () => {
    tally.take(700, [], 1000);
    tally.take(2, [skew(7)], 1100);
    expect(tally.inLastMinute(1100)).toBe(1);
    tally.forgetTotal();
    tally.take(9000, [], 1200);
    expect(tally.inLastMinute(1200)).toBe(1);
  });
});

describe("breaches by factor and server", () => {
  it("are counted with the latest of each, the latest first", () => {
    const fast: Breach = { ...skew(41), factor: "speed", limit: 32, bodies: ["1.7"] };
    tally.take(4, [skew(3, 0), skew(4, 1), fast, skew(5, 0)], 1000);
    const groups = tally.groups(1000).map(({ latest, count }) => [latest.factor, latest.region, latest.value, count]);
    expect(groups).toEqual([["skew", 0, 5, 2], ["speed", 0, 41, 1], ["skew", 1, 4, 1]]);
    expect(tally.groups(61_500)).toEqual([]);
  });

  it("are bounded in number", () => {
    for (let region = 0; region < 1000; region++) tally.take(region + 1, [skew(3, region)], region);
    expect(tally.groups(1000)).toHaveLength(GROUPS_MAX);
    expect(tally.groups(1000)[0].latest.region).toBe(999);
    expect(tally.inLastMinute(1000)).toBe(1000);
  });
});

describe("labels in the view", () => {
  const label = (x: number, y: number): Label => ({ x, y, width: 0.4, height: 0.06 });

  it("stand side by side, move up where one stands already, and give up when there is no room", () => {
    expect(placeLabels([label(0, 0), label(0.5, 0), label(0.1, 0)], 20)).toEqual([0, 0, 1]);
    const rows = placeLabels(Array.from({ length: 9 }, () => label(0, 0)), 20);
    expect(rows).toEqual([0, 1, 2, 3, -1, -1, -1, -1, -1]);
  });

  it("keep clear of others that were there before", () => {
    expect(placeLabels([label(0, 0), label(0.9, 0)], 20, [label(0.1, 0.01)])).toEqual([2, 0]);
  });

  it("never overlap and are never too many; the first ones have the choice", () => {
    const labels = Array.from({ length: 300 }, (_, i) => label(Math.sin(i * 7.3), Math.cos(i * 3.1)));
    const rows = placeLabels(labels, 20);
    const placed = labels.flatMap((one, i) => (rows[i] < 0 ? [] : [{ ...one, y: one.y + rows[i] * 0.06 * 1.15 }]));
    expect(placed).toHaveLength(20);
    expect(rows[0]).toBe(0);
    placed.forEach((a, i) => {
      for (const b of placed.slice(0, i)) {
        const apart = Math.abs(a.x - b.x) >= 0.4 - 1e-9 || Math.abs(a.y - b.y) >= 0.06 - 1e-9;
        expect(apart).toBe(true);
      }
    });
  });
});
