import { beforeEach, describe, expect, it } from "vitest";
import type { Breach } from "@nimbus/client";
import { bodiesMeant, BREACHES_MAX, type Bucket, BUCKETS, segmentsOf, Timeline, WAYS_MAX } from "../src/timeline";
import { hintLines } from "../src/timeline_view";
import { World } from "../src/world";
import { createMessage, ownerMessage, stateMessage } from "../../sdk/typescript/test/messages";

/** Ticks of a bucket at 60 ticks a second. */
const WIDTH = 30;

let timeline: Timeline;
beforeEach(() => {
  timeline = new Timeline();
  timeline.reset(60);
});

function breach(tick: number, bodies: string[] = []): Breach {
  return { tick, region: 2, factor: "latency", value: 31.5, limit: 16, bodies };
}

function filled(tick: number): Bucket[] {
  return timeline.at(tick).filter((bucket) => bucket !== null);
}

describe("buckets", () => {
  it("gather hand-overs of half a second by from and to, with the first body of each way", () => {
    timeline.handOver(60, 0, 1, () => "1.1");
    timeline.handOver(70, 0, 1, () => "1.2");
    timeline.handOver(89, 1, 0, () => "1.3");
    timeline.handOver(90, 0, 1, () => "1.4");
    const [first, second] = filled(100);
    expect(first).toMatchObject({ start: 60, end: 90, handOvers: 3 });
    expect(first.ways).toEqual([
      { from: 0, to: 1, count: 2, nid: "1.1", tick: 60 },
      { from: 1, to: 0, count: 1, nid: "1.3", tick: 89 },
    ]);
    expect(second.start).toBe(90);
    expect(timeline.at(100).slice(-2)).toEqual([first, second]);
  });

  it("do not ask for a name that they have no use for", () => {
    let asked = 0;
    const name = (): string => String(asked++);
    for (let i = 0; i < 5; i++) timeline.handOver(1, 0, 1, name);
    expect(asked).toBe(1);
  });

  it("leave the strip after a minute, and their places are used again", () => {
    timeline.handOver(0, 0, 1, () => "1.1");
    const span = BUCKETS * WIDTH;
    expect(timeline.at(span - 1)[0]?.start).toBe(0);
    expect(filled(span)).toEqual([]);
    timeline.handOver(span, 2, 3, () => "1.2");
    expect(filled(span)).toMatchObject([{ start: span, handOvers: 1 }]);
    expect(timeline.totals(span)).toEqual({ handOvers: 1, breaches: 0 });
  });

  it("take what comes late, but not what is older than the strip or at no time at all", () => {
    timeline.handOver(10_000, 0, 1, () => "1.1");
    timeline.breach(breach(9_000));
    timeline.breach(breach(10_000 - BUCKETS * WIDTH - WIDTH));
    timeline.handOver(-1, 0, 1, () => "1.2");
    timeline.breach(breach(NaN));
    expect(timeline.ignored).toBe(3);
    expect(timeline.totals(10_000)).toEqual({ handOvers: 1, breaches: 1 });
  });

  it("hold no more than they may, and count the rest", () => {
    for (let i = 0; i < 1000; i++) {
      timeline.handOver(5, i, i + 1, () => `1.${i}`);
      timeline.breach(breach(5, [`1.${i}`]));
    }
    for (let tick = 0; tick < 100_000; tick += 7) timeline.handOver(tick + 10, 0, 1, () => "1.1");
    expect(timeline.at(100_000).length).toBe(BUCKETS);
    timeline.reset(60);
    for (let i = 0; i < 1000; i++) timeline.handOver(5, i, i + 1, () => `1.${i}`);
    for (let i = 0; i < 1000; i++) timeline.breach(breach(5));
    const [bucket] = filled(5);
    expect([bucket.ways.length, bucket.handOvers]).toEqual([WAYS_MAX, 1000]);
    expect([bucket.breaches.length, bucket.breachCount]).toEqual([BREACHES_MAX, 1000]);
  });

  it("are as wide as the world's tick rate wants, and go with the world", () => {
    timeline.reset(120);
    timeline.handOver(59, 0, 1, () => "1.1");
    timeline.handOver(60, 0, 1, () => "1.2");
    expect(filled(60).map((bucket) => bucket.start)).toEqual([0, 60]);
    timeline.reset(60);
    expect(filled(60)).toEqual([]);
  });
});

describe("a column", () => {
  it("is stacked by new owner, in shares", () => {
    for (const [from, to] of [[0, 2], [1, 2], [0, 1], [3, 2]]) timeline.handOver(1, from, to, () => "1.1");
    expect(segmentsOf(filled(1)[0])).toEqual([
      { to: 1, share: 0.25, from: 0 },
      { to: 2, share: 0.75, from: 0.25 },
    ]);
  });

  it("means the body whose part of it was clicked, then the others", () => {
    timeline.handOver(1, 0, 1, () => "1.1");
    timeline.handOver(1, 0, 2, () => "1.2");
    timeline.handOver(1, 3, 2, () => "1.3");
    timeline.handOver(1, 3, 2, () => "1.4");
    timeline.breach(breach(2, ["1.9"]));
    const [bucket] = filled(2);
    expect(bodiesMeant(bucket, 0.1)).toEqual(["1.1", "1.3", "1.2", "1.9"]);
    expect(bodiesMeant(bucket, 0.9)).toEqual(["1.3", "1.2", "1.1", "1.9"]);
    expect(bodiesMeant(bucket, null)[0]).toBe("1.9");
  });

  it("tells its ticks, who gave what to whom, and what did not hold", () => {
    timeline.handOver(31, 0, 1, () => "1.1");
    timeline.handOver(32, 0, 1, () => "1.2");
    timeline.breach(breach(33, ["1.9"]));
    const [ticks, broken, moved] = [
      { regions: [], words: "tick 30 to 59" },
      { regions: [2], words: "⚠ latency 31.5 > 16 ms, Server 2, tick 33, body 1.9", bad: true },
      { regions: [0, 1], words: "Server 0 to Server 1, tick 31: body 1.1 and 1 more" },
    ];
    const nameOf = (region: number): string => `Server ${region}`;
    expect(hintLines(filled(33)[0], nameOf, true)).toEqual([ticks, broken, moved]);
    expect(hintLines(filled(33)[0], nameOf, false), "nobody asked for breaches").toEqual([ticks, moved]);
  });
});

it("a world writes its changes of owner down, and forgets them with the world", () => {
  const world = new World();
  const load = JSON.stringify({ type: "world", era: 1, name: "x", about: "", tick_hz: 60, statics: [] });
  world.text(load);
  world.binary(createMessage([{ slot: 4, serial: 9, region: 1 }]));
  world.binary(stateMessage(40, [{ slot: 4 }]));
  world.binary(ownerMessage([[4, 3]]));
  world.binary(ownerMessage([[4, 3]]));
  const [bucket] = world.timeline.at(40).filter((found) => found !== null);
  expect(bucket.ways).toEqual([{ from: 1, to: 3, count: 1, nid: "1.9", tick: 40 }]);
  world.text(load);
  expect(world.timeline.totals(40)).toEqual({ handOvers: 0, breaches: 0 });
});
