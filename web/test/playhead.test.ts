import { describe, expect, test } from "vitest";
import { Playhead } from "../src/playhead";
import { numbers } from "./messages";

/** Plays `seconds` of states at `hz` with network jitter and frames at `fps`; returns each frame's head and the newest tick. */
function play(hz: number, fps: number, seconds: number, jitterMs: number, everyTicks = 1): { head: number; latest: number }[] {
  const next = numbers(4);
  const playhead = new Playhead(0.06);
  const arrivals: { tick: number; at: number }[] = [];
  for (let tick = 1; tick < seconds * hz; tick += everyTicks) {
    const at = (tick / hz) * 1000 + next() * jitterMs;
    arrivals.push({ tick, at: Math.max(at, arrivals[arrivals.length - 1]?.at ?? 0) });
  }
  const frames: { head: number; latest: number }[] = [];
  let seen = 0;
  for (let now = 0; now < seconds * 1000; now += 1000 / fps) {
    while (seen < arrivals.length && arrivals[seen].at <= now) playhead.arrived(arrivals[seen].tick, arrivals[seen++].at);
    frames.push({ head: playhead.advance(now), latest: seen > 0 ? arrivals[seen - 1].tick : -1 });
  }
  return frames;
}

describe("the head", () => {
  for (const [hz, fps, jitter, every] of [[60, 60, 4, 1], [60, 144, 8, 1], [60, 30, 4, 1], [60, 60, 10, 3], [24, 60, 6, 1], [240, 60, 4, 1]]) {
    test(`runs evenly and close behind at ${hz} ticks a second, every ${every}, ${fps} frames, ${jitter} ms of jitter`, () => {
      const frames = play(hz, fps, 8, jitter, every).slice(fps * 3);
      const perFrame = hz / fps;
      for (let i = 1; i < frames.length; i++) {
        const step = frames[i].head - frames[i - 1].head;
        expect(step).toBeGreaterThanOrEqual(0);
        expect(step).toBeLessThanOrEqual(perFrame * 1.5);
        expect(frames[i].head).toBeLessThanOrEqual(frames[i].latest);
        expect(frames[i].latest - frames[i].head).toBeLessThan(every * 3 + hz * 0.06);
      }
      const travelled = frames[frames.length - 1].head - frames[0].head;
      expect(travelled / ((frames.length - 1) * perFrame)).toBeCloseTo(1, 1);
    });
  }

  test("comes to rest on the last tick when states stop, and catches up after a long absence", () => {
    const playhead = new Playhead(0.06);
    for (let tick = 1; tick <= 60; tick++) playhead.arrived(tick, tick * 16.7);
    for (let now = 1000; now < 2000; now += 16) playhead.advance(now);
    expect(playhead.head).toBe(60);
    playhead.arrived(5000, 90_000);
    playhead.advance(90_016);
    expect(5000 - playhead.head).toBeLessThan(40);
  });

  test("a new world starts anew, also at a lower tick", () => {
    const playhead = new Playhead(0.06);
    playhead.arrived(900, 10);
    playhead.reset(60);
    playhead.arrived(3, 20);
    expect(playhead.advance(21)).toBeLessThanOrEqual(3);
  });
});
