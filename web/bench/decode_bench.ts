/** Decodes synthetic states of many moving bodies and writes their instance matrices; no drawing. Runs in a browser. */

import { World } from "../src/world";
import { createMessage, numbers, stateMessage, unitQuaternion, type BodyRecord } from "../../sdk/typescript/test/messages";

export interface BenchResult {
  bodies: number;
  frames: number;
  bytes_per_state: number;
  mean_ms: number;
  p50_ms: number;
  p99_ms: number;
  max_ms: number;
}

const WARM_UP = 60;
/** Different messages that are sent in turn. */
const MESSAGES = 32;

declare global {
  interface Window {
    runDecodeBench: (bodies: number, frames: number) => Promise<BenchResult>;
  }
}

window.runDecodeBench = async (bodies, frames) => {
  const world = new World();
  const next = numbers(1);
  const shapes = [
    { cuboid: { half: [0.5, 0.5, 0.5] } },
    { ball: { radius: 0.4 } },
    { cylinder: { half_height: 0.5, radius: 0.3 } },
  ];
  world.text(JSON.stringify({ type: "world", era: 1, name: "bench", about: "", tick_hz: 60, statics: [] }));
  shapes.forEach((shape, id) => world.text(JSON.stringify({ type: "shape", id, shape })));
  const records: BodyRecord[] = Array.from({ length: bodies }, (_, slot) => ({
    slot,
    shape: slot % shapes.length,
    region: slot % 4,
    position: [next() * 100, next() * 20, next() * 100],
    rotation: unitQuaternion(next),
  }));
  world.binary(createMessage(records));
  // Made beforehand, so that the garbage of making them is not collected while we measure.
  const messages = Array.from({ length: MESSAGES }, () => {
    for (const record of records) {
      if (record.position) record.position[1] += (next() - 0.5) * 0.1;
      record.rotation = unitQuaternion(next);
    }
    return stateMessage(0, records);
  });
  const times: number[] = [];
  for (let frame = 0; frame < frames + WARM_UP; frame++) {
    const message = messages[frame % MESSAGES];
    new Uint32Array(message)[2] = frame + 1;
    world.binary(message);
    world.frame(performance.now());
    if (frame >= WARM_UP) times.push(world.cost.last());
    // A pause as between frames, so that the head moves as it does in use and every body is interpolated.
    await new Promise((resolve) => setTimeout(resolve, 4));
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))];
  return {
    bodies,
    frames,
    bytes_per_state: messages[0].byteLength,
    mean_ms: times.reduce((sum, value) => sum + value, 0) / times.length,
    p50_ms: at(0.5),
    p99_ms: at(0.99),
    max_ms: times[times.length - 1],
  };
};
