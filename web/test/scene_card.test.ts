import { expect, test } from "vitest";
import { probeText } from "../src/probe";
import type { NodeStats, Region } from "@nimbus/client";
import { sceneFacts, serverFacts } from "../src/scene_card";

const REGIONS: Region[] = [
  { id: 0, boxes: [{ min: [null, null, null], max: [0, null, null] }] },
  { id: 1, boxes: [{ min: [0, null, null], max: [null, null, null] }] },
];
const NODE: NodeStats = {
  id: 1,
  region: 1,
  bodies: 40,
  awake: 3,
  step_ms_p50: 0.5,
  step_ms_p99: 2.25,
  migrations: 7,
  auras: 2,
  ghosts: 1,
  breaches: 0,
  late_ticks: 4,
  epoch: 2,
  alive: true,
  killable: true,
};

test("a scene tells what it promises, as far as it said so", () => {
  const state = { facts: null, stats: null, regions: REGIONS, bodies: 9, statics: 2, gateway: "a:1", gateways: 2, role: "builder" };
  const facts = new Map(sceneFacts(state));
  expect(facts.get("regions")).toBe("2 of 2 boxes");
  expect(facts.get("gateway")).toBe("a:1, one of 2");
  expect(facts.has("gravity")).toBe(false);
  const told = sceneFacts({
    ...state,
    facts: {
      type: "world",
      era: 1,
      name: "x",
      about: "",
      tick_hz: 60,
      gravity: [0, -9.81, 0],
      tolerances: { speed: 32, latency_ms: 4, frame_ms: 28 },
      radius_max: 4,
      kill_box: { min: [null, -5, 0], max: [1, 2, null] },
      statics: [],
    },
  });
  expect(new Map(told).get("gravity")).toBe("0  -9.81  0 m/s²");
  expect(new Map(told).get("promised up to")).toBe("32 m/s, 4 ms between servers, 28 ms a wake-up");
  expect(new Map(told).get("the world ends")).toBe("−∞ … 1, -5 … 2, 0 … ∞");
});

test("a server tells whom it touches and whether it is protected", () => {
  const facts = new Map(serverFacts(NODE, REGIONS));
  expect(facts.get("neighbours")).toBe("region 0");
  expect(facts.get("life")).toBe("epoch 2, its backup has everything");
  const spare = serverFacts({ ...NODE, region: null, killable: false }, REGIONS);
  expect(spare[0][1]).toBe("Server 1, spare");
  expect(new Map(spare).has("neighbours")).toBe(false);
});

test("a ray tells what it met, how far and how old that is", () => {
  const hit = { nid: "7.42", distance: 4.5, point: [0, 0, 0] as [number, number, number], normal: [0, 1, 0] as [number, number, number] };
  expect(probeText({ hit, age: 2 }, (nid) => `Body ${nid}`)).toBe("Body 7.42 at 4.50 m, seen 2 ticks ago");
  expect(probeText({ hit: null, age: 1 }, String)).toBe("Nothing within 2000 m, seen 1 tick ago");
});
