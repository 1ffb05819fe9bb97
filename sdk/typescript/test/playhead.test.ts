import { describe, expect, test } from "vitest";
import { decode, PLAYBACK, type PlaybackOptions, Playhead, POSE_STRIDE, Replicas } from "../src/index.js";
import { createMessage, numbers, stateMessage } from "./messages.js";

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
      let beyond = 0;
      for (let i = 1; i < frames.length; i++) {
        const step = frames[i].head - frames[i - 1].head;
        expect(step).toBeGreaterThanOrEqual(0);
        expect(step).toBeLessThanOrEqual(perFrame * 1.5);
        if (frames[i].head > frames[i].latest) beyond++;
        expect(frames[i].latest - frames[i].head).toBeLessThan(every * 3 + hz * 0.06);
      }
      // Nearly every state is there before it is needed.
      expect(beyond).toBeLessThan(frames.length * 0.05);
      const travelled = frames[frames.length - 1].head - frames[0].head;
      expect(travelled / ((frames.length - 1) * perFrame)).toBeCloseTo(1, 1);
    });
  }

  test("stops a little beyond the last tick when states stop, and catches up after a long absence", () => {
    const playhead = new Playhead(0.06);
    for (let tick = 1; tick <= 60; tick++) playhead.arrived(tick, tick * 16.7);
    for (let now = 1000; now < 2000; now += 16) playhead.advance(now);
    expect(playhead.head).toBeGreaterThan(60);
    expect(playhead.head).toBeLessThan(60 + 16);
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

  test("shows how it ended when time stands still", () => {
    const playhead = new Playhead(0.06);
    for (let tick = 1; tick <= 60; tick++) playhead.arrived(tick, tick * 16.7);
    playhead.runAt(60, true);
    for (let now = 1000; now < 2000; now += 16) playhead.advance(now);
    expect(playhead.head).toBe(60);
  });
});

describe("the delay", () => {
  /** A body on a circle, seen through the head: how far it is shown from the truth of the tick being shown, on average. */
  function error(jitterMs: number, options: Partial<PlaybackOptions>): number {
    const next = numbers(9);
    const playhead = new Playhead(0.06, { ...PLAYBACK, ...options });
    const replicas = new Replicas({ created: () => undefined, destroyed: () => undefined, ownerChanged: () => undefined });
    const truth = (tick: number): [number, number, number] => [5 * Math.cos((tick / 60) * Math.PI), 1, 5 * Math.sin((tick / 60) * Math.PI)];
    decode(createMessage([{ slot: 0, position: truth(0) }]), replicas);
    const arrivals: number[] = [];
    for (let tick = 1; tick <= 720; tick++) {
      arrivals.push(Math.max(arrivals[tick - 2] ?? 0, (tick / 60) * 1000 + 30 + next() * jitterMs));
    }
    let [seen, sum, count] = [0, 0, 0];
    const pose = new Float32Array(POSE_STRIDE);
    for (let now = 3; now < 11_000; now += 1000 / 60) {
      for (; arrivals[seen] <= now; seen++) {
        decode(stateMessage(seen + 1, [{ slot: 0, position: truth(seen + 1) }]), replicas);
        playhead.arrived(seen + 1, arrivals[seen]);
      }
      replicas.advance(playhead.advance(now));
      if (now < 3000) continue;
      replicas.shown(0, pose);
      const [x, y, z] = truth(replicas.head);
      sum += Math.hypot(pose[0] - x, pose[1] - y, pose[2] - z);
      count++;
    }
    return sum / count;
  }

  test("keeps what is shown close to the truth, which no delay at all does not", () => {
    const adaptive = error(60, {});
    expect(adaptive).toBeLessThan(0.002);
    expect(error(60, { delayMs: 0 })).toBeGreaterThan(adaptive * 30);
  });

  test("follows the jitter up at once and down slowly", () => {
    const playhead = new Playhead(0.06);
    let clock = 0;
    const feed = (from: number, to: number, late: (tick: number) => number): number => {
      for (let tick = from; tick < to; tick++) {
        clock = Math.max(clock, (tick / 60) * 1000 + late(tick));
        playhead.arrived(tick, clock);
        playhead.advance(clock);
      }
      return playhead.delayMs();
    };
    const calm = feed(1, 120, () => 0);
    expect(calm).toBeLessThan(25);
    expect(playhead.jitterMs()).toBeLessThan(1);
    const rough = feed(120, 240, (tick) => (tick % 7 === 0 ? 80 : 0));
    expect(rough).toBeGreaterThan(calm + 60);
    const later = feed(240, 420, () => 0);
    expect(later).toBeLessThan(rough);
    expect(later).toBeGreaterThan(calm);
    expect(feed(420, 900, () => 0)).toBeLessThan(calm + 5);
  });
});
