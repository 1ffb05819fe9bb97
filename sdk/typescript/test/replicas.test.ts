import { describe, expect, test } from "vitest";
import { blend, POSE_STRIDE } from "../src/pose.js";
import { decode, SLOT_LIMIT } from "../src/protocol.js";
import { Replicas } from "../src/replicas.js";
import { type BodyRecord, createMessage, destroyMessage, numbers, ownerMessage, stateMessage, unitQuaternion } from "./messages.js";

function setup(): { replicas: Replicas; events: string[]; apply: (message: ArrayBuffer) => string } {
  const events: string[] = [];
  const replicas = new Replicas({
    created: (slot) => events.push(`+${slot}`),
    destroyed: (slot) => events.push(`-${slot}`),
    ownerChanged: (slot) => events.push(`o${slot}`),
  });
  return { replicas, events, apply: (message) => decode(message, replicas) };
}

/** Where the body would be drawn. */
function drawn(replicas: Replicas, slot: number): number[] {
  const pose = new Float32Array(POSE_STRIDE);
  replicas.shown(slot, pose);
  return [pose[0], pose[1], pose[2]];
}

const at = (slot: number, x: number): BodyRecord => ({ slot, position: [x, 0, 0] });

describe("bodies come and go", () => {
  test("create, own, destroy, and use a slot again", () => {
    const { replicas, events, apply } = setup();
    apply(createMessage([{ slot: 3, region: 1, serial: 44, origin: 2, position: [1, 2, 3] }]));
    expect(replicas.count).toBe(1);
    expect(replicas.nid(3)).toBe("2.44");
    expect(replicas.slotOf("2.44")).toBe(3);
    apply(ownerMessage([[3, 1]]));
    apply(ownerMessage([[3, 2]]));
    expect(replicas.region[3]).toBe(2);
    expect(replicas.position(3)).toEqual([1, 2, 3]);
    apply(destroyMessage([3]));
    expect(replicas.count).toBe(0);
    expect(replicas.position(3)).toBeNull();
    expect(replicas.activeCount).toBe(0);
    apply(createMessage([{ slot: 3, serial: 45 }]));
    expect(replicas.nid(3)).toBe("1.45");
    expect(events).toEqual(["+3", "o3", "-3", "+3"]);
  });

  test("a create for a slot in use replaces the body", () => {
    const { replicas, events, apply } = setup();
    apply(createMessage([{ slot: 0 }]));
    apply(createMessage([{ slot: 0, serial: 9 }]));
    expect(replicas.count).toBe(1);
    expect(events).toEqual(["+0", "-0", "+0"]);
  });

  test("what cannot be is ignored and counted", () => {
    const { replicas, apply } = setup();
    apply(createMessage([{ slot: SLOT_LIMIT }, { slot: 1, position: [NaN, 0, 0] }, { slot: 2, rotation: [0, 0, 0, 0] }]));
    expect(replicas.count).toBe(0);
    apply(createMessage([{ slot: 5, position: [1, 1, 1] }]));
    apply(stateMessage(1, [{ slot: 6 }, { slot: 0xffffffff }, { slot: 5, position: [0, Infinity, 0] }]));
    apply(destroyMessage([77, 0xffffffff]));
    apply(ownerMessage([[78, 1]]));
    expect(replicas.position(5)).toEqual([1, 1, 1]);
    expect(replicas.ignored).toBe(9);
  });

  test("arrays grow to any slot and keep what they held", () => {
    const { replicas, apply } = setup();
    apply(createMessage([{ slot: 1, position: [4, 5, 6] }]));
    apply(createMessage([{ slot: SLOT_LIMIT - 1, position: [7, 8, 9] }]));
    expect(replicas.position(1)).toEqual([4, 5, 6]);
    expect(replicas.position(SLOT_LIMIT - 1)).toEqual([7, 8, 9]);
  });

  test("clear forgets everything", () => {
    const { replicas, apply } = setup();
    apply(createMessage([{ slot: 1 }, { slot: 2 }]));
    apply(stateMessage(9, [at(1, 1)]));
    replicas.clear();
    expect([replicas.count, replicas.activeCount, replicas.latestTick, replicas.slotOf("1.1")]).toEqual([0, 0, -1, -1]);
    apply(stateMessage(1, [at(1, 1)]));
    expect(replicas.ignored).toBe(1);
  });
});

describe("motion", () => {
  test("is a straight line between the last two states", () => {
    const { replicas, apply } = setup();
    apply(createMessage([at(0, 0)]));
    apply(stateMessage(10, [at(0, 0)]));
    replicas.advance(10);
    apply(stateMessage(14, [at(0, 8)]));
    for (const [head, x] of [[10, 0], [11, 2], [13, 6], [14, 8]]) {
      replicas.advance(head);
      expect(drawn(replicas, 0)[0]).toBeCloseTo(x, 5);
    }
  });

  test("no arrival makes a body jump, whether early or late", () => {
    const { replicas, apply } = setup();
    const next = numbers(5);
    apply(createMessage([at(0, 0)]));
    apply(stateMessage(1, [at(0, 0)]));
    replicas.advance(1);
    for (let tick = 2; tick < 400; tick++) {
      replicas.advance(Math.min(replicas.latestTick, Math.max(replicas.head, tick - 1 - next() * 4)));
      const before = drawn(replicas, 0)[0];
      apply(stateMessage(tick, [at(0, Math.sin(tick / 9) * 20)]));
      expect(drawn(replicas, 0)[0]).toBeCloseTo(before, 3);
    }
  });

  test("a body that rested starts to move only from the last tick at which it rested", () => {
    const { replicas, apply } = setup();
    apply(createMessage([at(0, 5), at(1, 0)]));
    apply(stateMessage(10, [at(0, 5), at(1, 0)]));
    for (let tick = 11; tick <= 100; tick++) apply(stateMessage(tick, [at(1, tick)]));
    replicas.advance(100);
    apply(stateMessage(101, [at(0, 6), at(1, 101)]));
    replicas.advance(100.5);
    expect(drawn(replicas, 0)[0]).toBeCloseTo(5.5, 4);
  });

  test("a region that is a tick behind moves as smoothly as the others", () => {
    const { replicas, apply } = setup();
    apply(createMessage([at(0, 0), at(1, 0)]));
    for (let tick = 2; tick <= 40; tick++) {
      const head = tick - 2.5;
      replicas.advance(head);
      // The start, at rest, is not on the line; after some ticks nothing of it is left.
      if (tick > 25) {
        expect(drawn(replicas, 0)[0]).toBeCloseTo(head, 4);
        expect(drawn(replicas, 1)[0]).toBeCloseTo(head, 4);
      }
      apply(stateMessage(tick - 1, [at(1, tick - 1)]));
      apply(stateMessage(tick, [at(0, tick)]));
    }
    replicas.advance(39);
    apply(stateMessage(41, [at(0, 41)]));
    apply(stateMessage(40, [at(1, 40)]));
    expect(replicas.fromTick[1]).toBe(39);
  });

  test("states that came early wait for their tick", () => {
    const { replicas, apply } = setup();
    apply(createMessage([at(0, 0)]));
    // A zigzag, of which nothing may be cut off.
    for (let tick = 1; tick <= 20; tick++) apply(stateMessage(tick, [at(0, tick % 2)]));
    for (let head = 1; head <= 20; head += 0.25) {
      replicas.advance(head);
      const share = head % 1;
      expect(drawn(replicas, 0)[0]).toBeCloseTo(Math.floor(head) % 2 === 0 ? share : 1 - share, 5);
    }
  });

  test("a page that draws nothing keeps only so many", () => {
    const { replicas, apply } = setup();
    apply(createMessage([at(0, 0)]));
    for (let tick = 1; tick <= 1000; tick++) apply(stateMessage(tick, [at(0, tick)]));
    expect(replicas.toTick[0]).toBeGreaterThan(900);
    replicas.advance(999.5);
    expect(drawn(replicas, 0)[0]).toBeCloseTo(999.5, 3);
  });

  test("goes on by itself for a while when no state comes, and then waits", () => {
    const { replicas, apply } = setup();
    apply(createMessage([at(0, 0)]));
    for (let tick = 1; tick <= 10; tick++) apply(stateMessage(tick, [at(0, tick)]));
    for (const [head, x] of [[9.5, 9.5], [12, 12], [20, 20], [25, 25], [40, 25]]) {
      replicas.advance(head);
      expect(drawn(replicas, 0)[0]).toBeCloseTo(x, 3);
    }
  });

  test("a wrong guess is mended without a jump", () => {
    const { replicas, apply } = setup();
    apply(createMessage([at(0, 0)]));
    for (let tick = 1; tick <= 10; tick++) apply(stateMessage(tick, [at(0, tick * 0.2)]));
    replicas.advance(10);
    for (let head = 10; head <= 14; head += 0.5) replicas.advance(head);
    let last = drawn(replicas, 0)[0];
    expect(last).toBeCloseTo(2.8, 3);
    // It had met a wall and turned round.
    for (let head = 14.5; head < 40; head += 0.5) {
      if (head % 1 === 0) apply(stateMessage(head - 2, [at(0, 2 - (head - 12) * 0.1)]));
      replicas.advance(head);
      const x = drawn(replicas, 0)[0];
      expect(Math.abs(x - last)).toBeLessThan(0.35);
      last = x;
    }
    // States come two ticks late and so it is still guessed, but well.
    expect(last).toBeCloseTo(2 - (39.5 - 10) * 0.1, 0);
  });

  test("a body that was taken to go on but rests is led back", () => {
    const { replicas, apply } = setup();
    apply(createMessage([at(0, 0), at(1, 0)]));
    for (let tick = 1; tick <= 10; tick++) apply(stateMessage(tick, [at(0, tick), at(1, tick)]));
    replicas.advance(12);
    expect(drawn(replicas, 0)[0]).toBeCloseTo(12, 3);
    for (let tick = 11; tick <= 60; tick++) {
      apply(stateMessage(tick, [at(1, tick)]));
      replicas.advance(tick - 1);
    }
    expect(drawn(replicas, 0)[0]).toBeCloseTo(10, 3);
    // Pushed again, it starts from there.
    apply(stateMessage(61, [at(0, 11), at(1, 61)]));
    replicas.advance(60.5);
    expect(drawn(replicas, 0)[0]).toBeCloseTo(10.5, 3);
  });

  test("a body whose last state came late is led back", () => {
    for (const settles of [false, true]) {
      const { replicas, apply } = setup();
      const advance = (head: number): void => {
        replicas.advance(head);
        for (let i = replicas.activeCount - 1; settles && i >= 0; i--) {
          if (head >= replicas.toTick[replicas.active[i]]) replicas.settle(i);
        }
      };
      apply(createMessage([at(0, 0), at(1, 0)]));
      for (let tick = 1; tick <= 60; tick++) apply(stateMessage(tick, [at(0, tick / 10), at(1, tick / 10)]));
      for (const head of [59.5, 60.5, 62]) advance(head);
      expect(drawn(replicas, 0)[0]).toBeCloseTo(6.2, 4);
      apply(stateMessage(61, [at(0, 6.1), at(1, 6.1)]));
      for (let tick = 62; tick <= 91; tick++) {
        apply(stateMessage(tick, [at(1, tick / 10)]));
        if (tick > 62) advance(tick - 1);
      }
      expect(replicas.head).toBe(90);
      expect(drawn(replicas, 0)[0]).toBeCloseTo(6.1, 4);
      if (settles) expect([...replicas.active.subarray(0, replicas.activeCount)]).toEqual([1]);
    }
  });

  test("a body that stays put until late states come does not jump", () => {
    const { replicas, apply } = setup();
    apply(createMessage([at(0, 5), at(1, 0)]));
    for (let tick = 1; tick <= 100; tick++) apply(stateMessage(tick, [at(1, tick)]));
    replicas.advance(100.5);
    apply(stateMessage(101, [at(0, 5.4), at(1, 101)]));
    expect(drawn(replicas, 0)[0]).toBeCloseTo(5, 4);
  });

  test("an older state changes nothing; a second message of the same tick is taken", () => {
    const { replicas, apply } = setup();
    apply(createMessage([at(0, 0), at(1, 0)]));
    apply(stateMessage(10, [at(0, 1)]));
    apply(stateMessage(9, [at(0, 7)]));
    apply(stateMessage(10, [at(1, 3)]));
    expect(replicas.position(0)).toEqual([1, 0, 0]);
    expect(replicas.position(1)).toEqual([3, 0, 0]);
    expect(replicas.latestTick).toBe(10);
  });

  test("the active list holds exactly the unsettled bodies under any order of events", () => {
    const { replicas, apply } = setup();
    const next = numbers(11);
    const wanted = new Set<number>();
    for (let tick = 1; tick < 500; tick++) {
      const slot = Math.floor(next() * 40);
      const dice = next();
      if (!replicas.has(slot)) {
        apply(createMessage([{ slot }]));
        wanted.add(slot);
      } else if (dice < 0.3) {
        apply(destroyMessage([slot]));
        wanted.delete(slot);
      } else if (dice < 0.7) {
        apply(stateMessage(tick, [at(slot, tick)]));
        wanted.add(slot);
      } else if (replicas.activeCount > 0) {
        const index = Math.floor(next() * replicas.activeCount);
        wanted.delete(replicas.active[index]);
        replicas.settle(index);
      }
      const active = [...replicas.active.subarray(0, replicas.activeCount)];
      expect(new Set(active)).toEqual(wanted);
      expect(active.length).toBe(wanted.size);
    }
  });
});

test("blending takes the short way round and gives unit quaternions", () => {
  const next = numbers(8);
  const a = new Float32Array(POSE_STRIDE);
  const b = new Float32Array(POSE_STRIDE);
  const out = new Float32Array(POSE_STRIDE);
  for (let round = 0; round < 200; round++) {
    a.set(unitQuaternion(next), 4);
    b.set(unitQuaternion(next), 4);
    const t = next();
    blend(out, 0, a, b, 0, t);
    expect(Math.hypot(out[4], out[5], out[6], out[7])).toBeCloseTo(1, 5);
    const direct = [...out];
    for (let k = 4; k < 8; k++) b[k] = -b[k];
    blend(out, 0, a, b, 0, t);
    direct.forEach((value, k) => expect(out[k]).toBeCloseTo(value, 5));
  }
});
