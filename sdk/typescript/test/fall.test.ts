import { describe, expect, test } from "vitest";
import { decode, Playhead, POSE_STRIDE, Replicas, type Vec3 } from "../src/index.js";
import { createMessage, stateMessage } from "./messages.js";

const HZ = 60;

/** What is shown of a body, with states 20 times a second, of a client that watches: the tick that is shown, and the place. */
function shownOf(seconds: number, truth: (tick: number) => Vec3): { head: number; place: Vec3 }[] {
  const playhead = new Playhead(HZ / 1000);
  const replicas = new Replicas({ created: () => undefined, destroyed: () => undefined, ownerChanged: () => undefined });
  replicas.isSparse = true;
  replicas.fall.gravity = [0, -9.81, 0];
  decode(createMessage([{ slot: 0, position: truth(0) }]), replicas);
  const pose = new Float32Array(POSE_STRIDE);
  const shown: { head: number; place: Vec3 }[] = [];
  for (let tick = 1; tick <= seconds * HZ; tick++) {
    const now = (tick / HZ) * 1000;
    if (tick % 3 === 0) {
      decode(stateMessage(tick, [{ slot: 0, position: truth(tick) }]), replicas);
      playhead.arrived(tick, now);
    }
    // Frames fall between ticks.
    replicas.advance(playhead.advance(now + 7));
    replicas.shown(0, pose);
    if (tick > HZ) shown.push({ head: replicas.head, place: [pose[0], pose[1], pose[2]] });
  }
  return shown;
}

const off = (a: Vec3, b: Vec3): number => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);

describe("between states", () => {
  test("a body that falls is shown within a millimetre of where it was", () => {
    const truth = (tick: number): Vec3 => [(2 * tick) / HZ, (30 * tick) / HZ - 4.905 * (tick / HZ) ** 2, 0];
    for (const { head, place } of shownOf(6, truth)) expect(off(place, truth(head)), `tick ${head}`).toBeLessThan(1e-3);
  });

  test("a body that bounces is never shown beneath the floor", () => {
    for (const speed of [0.3, 1, 2, 4, 7.5]) {
      const flight = (2 * speed) / 9.81;
      const truth = (tick: number): Vec3 => {
        const s = (tick / HZ) % flight;
        return [0, Math.max(0, speed * s - 4.905 * s * s), 0];
      };
      for (const { head, place } of shownOf(6, truth)) expect(place[1], `${speed} m/s, tick ${head}`).toBeGreaterThan(-1e-5);
    }
  });

  test("a body that stops is not shown beyond", () => {
    for (let stop = 0; stop < 12; stop++) {
      // Against a wall, after sliding, and on the floor, at every phase between two states.
      const left = (tick: number): number => Math.max(0, 90 + stop * 0.5 - tick) / HZ;
      for (const { place } of shownOf(3, (tick) => [-3 * left(tick), 0, 0])) expect(place[0]).toBeLessThan(1e-5);
      for (const { place } of shownOf(3, (tick) => [-2.5 * left(tick) ** 2, 0, 0])) expect(place[0]).toBeLessThan(1e-5);
      const falls = (tick: number): Vec3 => [0, 4 * left(tick) - 4.905 * left(tick) ** 2, 0];
      for (const { place } of shownOf(3, falls)) expect(place[1]).toBeGreaterThan(-1e-5);
    }
  });

  test("a body that was put elsewhere goes there straight", () => {
    const away = 121.5;
    const truth = (tick: number): Vec3 => [tick > away ? 3 : 0, 40 - 4.905 * (tick / HZ) ** 2, 0];
    for (const { head, place } of shownOf(3, truth)) {
      if (head < 120 || head > 123) continue;
      const share = (head - 120) / 3;
      expect(place[1]).toBeCloseTo(truth(120)[1] * (1 - share) + truth(123)[1] * share, 4);
    }
  });
});
