import { beforeEach, describe, expect, it } from "vitest";
import { treeOf } from "../src/cluster_lines";
import { shapeText, stretches } from "../src/inspect";
import { parseStored, wantedOf } from "../src/overlays";
import { type Breach, decode, parseText, SLOT_LIMIT, type BodySink } from "@nimbus/client";
import { breachText } from "../src/breach_words";
import { Seams, TRANSIT_SHOWN_MS } from "../src/seams";
import { boundingRadius } from "../src/shape_geometry";

const nobody: BodySink = { create: () => {}, destroy: () => {}, owner: () => {}, state: () => {}, leave: () => {}, packed: () => true };

/** Two words a record, built byte by byte from docs/protocol.md. */
function pairs(kind: number, records: [number, number][], asFloat = false): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(8 + records.length * 8));
  view.setUint32(0, kind, true);
  view.setUint32(4, records.length, true);
  records.forEach(([slot, value], i) => {
    view.setUint32(8 + i * 8, slot, true);
    if (asFloat) view.setFloat32(12 + i * 8, value, true);
    else view.setUint32(12 + i * 8, value, true);
  });
  return view.buffer;
}

describe("what is told of the seams", () => {
  let now = 0;
  let seams: Seams;
  beforeEach(() => {
    now = 1000;
    seams = new Seams(() => now);
  });

  it("auras replace those before, and nonsense is left out", () => {
    expect(decode(pairs(5, [[3, 1.5], [SLOT_LIMIT, 1], [4, NaN], [5, -1], [6, 0.25]], true), nobody, seams)).toBe("applied");
    expect([...seams.auraSlots.subarray(0, seams.auraCount)]).toEqual([3, 6]);
    expect([...seams.auraReach.subarray(0, seams.auraCount)]).toEqual([1.5, 0.25]);
    decode(pairs(5, [], true), nobody, seams);
    expect(seams.auraCount).toBe(0);
  });

  it("clusters are the members that share a number", () => {
    decode(pairs(6, [[1, 0], [2, 0], [7, 1], [8, 1], [9, 1], [4, 2]]), nobody, seams);
    expect(seams.clusters.map((members) => [...members])).toEqual([[1, 2], [7, 8, 9]]);
    expect(seams.clustersChanged).toBe(true);
    decode(pairs(6, []), nobody, seams);
    expect(seams.clusters).toEqual([]);
  });

  it("a body in transit stays marked for a moment", () => {
    decode(pairs(7, [[5, 2]]), nobody, seams);
    now += 200;
    decode(pairs(7, []), nobody, seams);
    expect(seams.transits.get(5)).toEqual({ to: 2, since: 1000, seen: 1000 });
    now += TRANSIT_SHOWN_MS;
    seams.sweep(now);
    expect(seams.transits.size).toBe(0);
  });

  it("messages that lie about their length are dropped, and without a listener skipped", () => {
    const cut = pairs(5, [[1, 1], [2, 1]], true).slice(0, 20);
    expect(decode(cut, nobody, seams)).toBe("dropped");
    expect(decode(pairs(7, [[1, 1]]), nobody)).toBe("skipped");
  });

  it("a picture that comes after its overlay was switched off is ignored", () => {
    decode(pairs(5, [[3, 1.5]], true), nobody, seams);
    seams.choose(new Set(["clusters"]));
    decode(pairs(5, [[3, 1.5]], true), nobody, seams);
    decode(pairs(6, [[1, 0], [2, 0]]), nobody, seams);
    decode(pairs(7, [[5, 2]]), nobody, seams);
    expect([seams.auraCount, seams.clusters.length, seams.transits.size]).toEqual([0, 1, 0]);
  });

  it("only breaches not told before are news", () => {
    const breach = (tick: number, factor = "speed"): Breach => ({ tick, region: 1, factor, value: 41.2, limit: 32, bodies: ["0.8"] });
    expect(seams.takeBreaches(1, [breach(5)])).toHaveLength(1);
    expect(seams.takeBreaches(2, [breach(5), breach(9)])).toEqual([breach(9)]);
    expect(seams.takeBreaches(2, [null as unknown as Breach])).toEqual([]);
    expect([seams.breaches, seams.breachTally.inLastMinute(now)]).toEqual([[], 2]);
    seams.clear();
    expect(seams.breachTally.inLastMinute(now)).toBe(0);
    expect(breachText(breach(5))).toBe("speed 41.2 > 32 m/s");
    expect(breachText({ ...breach(5, "cluster_size"), value: 5000, limit: 4096 })).toBe("cluster size 5000 > 4096 bodies");
  });

  it("texts about breaches and bodies need their fields", () => {
    expect(parseText('{"type":"breaches","total":1,"recent":[]}')).toMatchObject({ type: "breaches", total: 1 });
    expect(parseText('{"type":"breaches"}')).toBe("dropped");
    expect(parseText('{"type":"body","nid":"0.1"}')).toBe("dropped");
  });
});

describe("how it is drawn", () => {
  it("joins all points by the shortest tree", () => {
    const points = [[0, 0, 0], [10, 0, 0], [1, 0, 0], [11, 0, 0], [2, 0, 0]];
    const length = treeOf(points).reduce((sum, [a, b]) => sum + Math.abs(points[a][0] - points[b][0]), 0);
    expect(treeOf(points)).toHaveLength(4);
    expect(length).toBe(11);
    expect(treeOf([])).toEqual([]);
    expect(treeOf([[1, 2, 3]])).toEqual([]);
    const many = Array.from({ length: 1000 }, (_, i) => [(i * 7919) % 1000, 0, 0]);
    expect(new Set(treeOf(many).flat()).size).toBe(1000);
  });

  it("reckons the radius of a body as servers do", () => {
    expect(boundingRadius({ ball: { radius: 0.3 } })).toBe(0.3);
    expect(boundingRadius({ cuboid: { half: [2, 3, 6] } })).toBe(7);
    expect(boundingRadius({ capsule: { half_height: 0.5, radius: 0.25 } })).toBe(0.75);
    expect(boundingRadius({ cylinder: { half_height: 1, radius: 2 } })).toBe(3);
    const parts: [{ position: [number, number, number]; rotation: [number, number, number, number] }, { ball: { radius: number } }][] = [
      [{ position: [0, 3, 0], rotation: [0, 0, 0, 1] }, { ball: { radius: 1 } }],
    ];
    expect(boundingRadius({ compound: { parts } })).toBe(4);
    expect(boundingRadius(null as never)).toBe(0.2);
  });

  it("shows who owned a body from when to when", () => {
    const history = [
      { tick: 100, from: 0, to: 1, epoch: 2 },
      { tick: 160, from: 1, to: 3, epoch: 3 },
    ];
    expect(stretches(history, 200)).toEqual([
      { region: 0, from: 40, to: 100 },
      { region: 1, from: 100, to: 160 },
      { region: 3, from: 160, to: 200 },
    ]);
    expect(stretches([], 200)).toEqual([]);
  });

  it("names shapes in a few words", () => {
    expect(shapeText({ ball: { radius: 0.3 } })).toBe("ball, radius 0.3 m");
    expect(shapeText({ cuboid: { half: [0.5, 1, 2] } })).toBe("box, 1 × 2 × 4 m");
    expect(shapeText({ capsule: { half_height: 0.5, radius: 0.25 } })).toBe("capsule, 0.5 × 1.5 m");
    expect(shapeText({} as never)).toBe("–");
  });
});

describe("what is remembered", () => {
  it("takes the usual overlays when nothing sensible is stored", () => {
    for (const text of [null, "{", "7"]) expect(parseStored(text)).toEqual(["regions"]);
    expect(parseStored('["auras","regions","weather"]')).toEqual(["regions", "auras"]);
    expect(parseStored("[]")).toEqual([]);
  });

  it("begins each visit without breaches", () => {
    expect(parseStored('["breaches","regions"]')).toEqual(["regions"]);
  });

  it("asks the gateway only for what it has to send", () => {
    const on = new Set(["regions", "in-transit", "auras"] as const);
    expect(wantedOf(on, true)).toEqual(["auras", "in-transit"]);
    expect(wantedOf(on, false), "the line about breaches needs them").toEqual(["auras", "breaches", "in-transit"]);
    expect(wantedOf(new Set(["breaches"]), true)).toEqual(["breaches"]);
  });
});
