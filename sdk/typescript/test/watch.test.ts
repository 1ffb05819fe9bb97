import { describe, expect, test } from "vitest";
import { decode, Gateways, POSE_STRIDE, Replicas, Session, StreamDecoder } from "../src/index.js";
import { type BodyRecord, createMessage, leaveMessage, packedMessage, stateMessage } from "./messages.js";
import { streams } from "./packed_fixture.js";

const at = (slot: number, x: number): BodyRecord => ({ slot, position: [x, 0, 0] });

function watching(): Replicas {
  const replicas = new Replicas({ created: () => undefined, destroyed: () => undefined, ownerChanged: () => undefined });
  replicas.isSparse = true;
  return replicas;
}

function shown(replicas: Replicas, slot: number): number {
  const pose = new Float32Array(POSE_STRIDE);
  replicas.shown(slot, pose);
  return pose[0];
}

describe("a client that watches", () => {
  test("does not take a body for resting that it is not told of", () => {
    const replicas = watching();
    decode(createMessage([at(0, 0), at(1, 0)]), replicas);
    for (let tick = 3; tick <= 30; tick += 3) decode(stateMessage(tick, [at(0, tick / 8), at(1, 0)]), replicas);
    replicas.advance(30);
    // Others move, and it goes on by itself.
    for (let tick = 33; tick <= 42; tick += 3) decode(stateMessage(tick, [at(1, 0)]), replicas);
    replicas.advance(36);
    expect(shown(replicas, 0)).toBeCloseTo(36 / 8, 3);
    // Mentioned again it is taken to have moved evenly meanwhile, not to have rested until then.
    decode(stateMessage(45, [at(0, 45 / 8), at(1, 0)]), replicas);
    for (let head = 36; head <= 45; head += 0.5) {
      replicas.advance(head);
      expect(shown(replicas, 0)).toBeCloseTo(head / 8, 3);
    }
  });

  test("leads a body that stopped back to where it was told of last", () => {
    for (const isOtherMoving of [true, false]) {
      const replicas = watching();
      decode(createMessage([at(0, 0), at(1, 0)]), replicas);
      for (let tick = 3; tick <= 60; tick += 3) decode(stateMessage(tick, [at(0, tick / 10), at(1, tick)]), replicas);
      let last = 0;
      for (let head = 0.5; head <= 100; head += 0.5) {
        const tick = Math.floor(head) + 3;
        // Other bodies tell of the tick, or the figures do.
        if (tick > 60 && tick % 3 === 0 && isOtherMoving) decode(stateMessage(tick, [at(1, tick)]), replicas);
        if (tick > 60 && tick % 30 === 0) replicas.heard(tick - 10);
        replicas.advance(head);
        // As a page does that draws.
        for (let i = replicas.activeCount - 1; i >= 0; i--) if (head >= replicas.toTick[replicas.active[i]]) replicas.settle(i);
        expect(Math.abs(shown(replicas, 0) - last)).toBeLessThan(0.2);
        last = shown(replicas, 0);
      }
      expect(last).toBeCloseTo(6, 5);
      // Told of again, it goes there without a jump.
      decode(stateMessage(102, [at(0, 6.5)]), replicas);
      replicas.advance(100.1);
      expect(shown(replicas, 0)).toBeLessThan(6.1);
      replicas.advance(110);
      expect(shown(replicas, 0)).toBeCloseTo(6.5, 3);
    }
  });

  test("waits longer for a body that it is told of rarely", () => {
    const replicas = watching();
    decode(createMessage([at(0, 0), at(1, 0)]), replicas);
    for (let tick = 3; tick <= 120; tick += 3) {
      decode(stateMessage(tick, tick % 24 === 0 ? [at(0, tick / 10), at(1, tick)] : [at(1, tick)]), replicas);
    }
    for (let head = 96; head <= 135; head++) replicas.advance(head);
    for (let tick = 123; tick <= 141; tick += 3) decode(stateMessage(tick, [at(1, tick)]), replicas);
    replicas.advance(138);
    expect(shown(replicas, 0)).toBeCloseTo(13.5, 3);
  });

  test("a body that waits for word of it does not jump when that comes", () => {
    const replicas = watching();
    decode(createMessage([at(0, 0), at(1, 0)]), replicas);
    for (let tick = 3; tick <= 90; tick += 3) decode(stateMessage(tick, tick <= 30 ? [at(0, tick / 10)] : [at(1, tick)]), replicas);
    // Others are far ahead of what is shown, so it never goes on by itself.
    replicas.advance(60);
    expect(shown(replicas, 0)).toBeCloseTo(3, 5);
    decode(stateMessage(93, [at(0, 4)]), replicas);
    expect(shown(replicas, 0)).toBeCloseTo(3, 5);
  });

  test("loses sight of bodies, which live on", () => {
    const session = new Session();
    session.handleText(JSON.stringify({ type: "welcome", protocol: 1, client: 3, role: "player", scenes: [] }), 0);
    session.handleBinary(createMessage([at(4, 0), at(5, 0)]), 0);
    session.ask({ type: "watch", eye: [0, 0, 0], range: 9 }, 0).answer.catch(() => undefined);
    expect(session.replicas.isSparse).toBe(false);
    session.handleText(JSON.stringify({ type: "done", seq: 1 }), 0);
    expect(session.replicas.isSparse).toBe(true);
    session.handleBinary(leaveMessage([4, 77]), 1);
    expect([...session.posesAt(2)].map(({ slot }) => slot)).toEqual([5]);
    const events = [];
    for (let event = session.events.pop(); event; event = session.events.pop()) events.push(event);
    expect(events.at(-1)).toEqual({ type: "out-of-sight", nid: "1.4" });
  });

  test("asks gateways for no bodies but those", () => {
    const gateways = new Gateways(["ws://here:1/ws"], () => "t");
    expect(gateways.url()).toBe("ws://here:1/ws?token=t");
    gateways.isWatched = true;
    expect(gateways.url()).toBe("ws://here:1/ws?token=t&bodies=watched");
  });
});

describe("a compressed stream", () => {
  test("places bodies, and knows which of them rest", () => {
    const [frames] = streams();
    const replicas = watching();
    const decoder = new StreamDecoder();
    const slots = Array.from({ length: 24 }, (_, i) => i * 3 + 1);
    decode(createMessage(slots.map((slot) => at(slot, 0))), replicas);
    frames.forEach(({ packet }, frame) => {
      const tick = (frame + 1) * 3;
      expect(decode(packedMessage(tick, packet), replicas)).toBe("applied");
      replicas.advance(tick - 3);
      const decoded = decoder.decode(packet);
      decoded.slots.forEach((slot, i) => {
        expect(replicas.position(slot)).toEqual([...decoded.positions.subarray(i * 3, i * 3 + 3)]);
      });
    });
    expect([replicas.latestTick, replicas.ignored]).toEqual([600, 0]);
    // What rests is shown where it lies, however long nothing more comes.
    replicas.advance(700);
    const last = decoder.snapshot(frames.length - 1);
    last?.slots.forEach((slot, i) => {
      if (last.atRest[i] === 1) expect(Math.abs(shown(replicas, slot) - last.positions[i * 3])).toBeLessThan(1e-5);
    });
    expect(last?.atRest.some((rests) => rests === 1)).toBe(true);
    // So is what was not said to rest, once the world has gone on without a word of it.
    replicas.heard(800);
    for (const head of [701, 710]) replicas.advance(head);
    last?.slots.forEach((slot, i) => expect(Math.abs(shown(replicas, slot) - last.positions[i * 3])).toBeLessThan(1e-5));
    expect(last?.atRest.some((rests) => rests === 0)).toBe(true);
  });

  test("that is damaged is dropped, and begins anew with a world", () => {
    const [frames] = streams();
    const replicas = watching();
    expect(decode(packedMessage(3, frames[1].packet), replicas)).toBe("dropped");
    expect(replicas.latestTick).toBe(-1);
    expect(decode(packedMessage(3, frames[0].packet), replicas)).toBe("applied");
    expect(replicas.ignored).toBeGreaterThan(0);
    expect(decode(packedMessage(6, frames[0].packet), replicas)).toBe("dropped");
    replicas.clear();
    expect(decode(packedMessage(3, frames[0].packet), replicas)).toBe("applied");
  });
});
