import { describe, expect, test } from "vitest";
import { type BodySink, CREATE, CREATE_WORDS, decode, nidText, parseText } from "../src/protocol.js";
import { createMessage, destroyMessage, leaveMessage, numbers, ownerMessage, packedMessage, stateMessage } from "./messages.js";

class Recorder implements BodySink {
  calls: string[] = [];
  created: { words: Uint32Array; floats: Float32Array }[] = [];
  states: { tick: number; slots: number[]; positions: number[]; rotations: number[]; buffer: ArrayBufferLike }[] = [];
  destroyed: number[] = [];
  owners: number[] = [];
  create(count: number, words: Uint32Array, floats: Float32Array): void {
    this.calls.push(`create ${count}`);
    this.created.push({ words, floats });
  }
  destroy(slots: Uint32Array): void {
    this.calls.push("destroy");
    this.destroyed.push(...slots);
  }
  owner(count: number, words: Uint32Array): void {
    this.calls.push(`owner ${count}`);
    this.owners.push(...words);
  }
  state(tick: number, slots: Uint32Array, positions: Float32Array, rotations: Int16Array): void {
    this.calls.push("state");
    this.states.push({
      tick,
      slots: [...slots],
      positions: [...positions],
      rotations: [...rotations],
      buffer: positions.buffer,
    });
  }
  leave(slots: Uint32Array): void {
    this.calls.push(`leave ${[...slots].join(" ")}`);
  }
  packed(tick: number, packet: Uint8Array): boolean {
    this.calls.push(`packed ${tick}: ${[...packet].join(" ")}`);
    return packet[0] !== 99;
  }
}

describe("binary messages", () => {
  test("a create record is read field by field", () => {
    const sink = new Recorder();
    const message = createMessage([
      { slot: 1 },
      { slot: 7, origin: 3, serial: 2 ** 40 + 5, shape: 9, region: 513, kind: 1, flags: 1, position: [1, 2, 3], rotation: [0, 1, 0, 0] },
    ]);
    expect(decode(message, sink)).toBe("applied");
    const { words, floats } = sink.created[0];
    const at = CREATE_WORDS;
    expect(words[at + CREATE.slot]).toBe(7);
    expect(nidText(words[at + CREATE.nidLow], words[at + CREATE.nidHigh])).toBe(`3.${2 ** 40 + 5}`);
    expect(words[at + CREATE.shape]).toBe(9);
    expect(words[at + CREATE.packed]).toBe(513 | (1 << 16) | (1 << 24));
    expect([...floats.subarray(at + CREATE.position, at + CREATE.position + 7)]).toEqual([1, 2, 3, 0, 1, 0, 0]);
  });

  test("a state is seen without copying, with a tick beyond 32 bits", () => {
    const sink = new Recorder();
    const tick = 2n ** 33n + 17n;
    const message = stateMessage(tick, [
      { slot: 4, position: [1.5, -2, 3], rotation: [0, 0, 0, 1] },
      { slot: 2, position: [4, 5, 6], rotation: [-1, 0, 0, 0] },
    ]);
    expect(decode(message, sink)).toBe("applied");
    const state = sink.states[0];
    expect(state.tick).toBe(Number(tick));
    expect(state.slots).toEqual([4, 2]);
    expect(state.positions).toEqual([1.5, -2, 3, 4, 5, 6]);
    expect(state.rotations).toEqual([0, 0, 0, 32767, -32767, 0, 0, 0]);
    expect(state.buffer).toBe(message);
  });

  test("destroy and owner", () => {
    const sink = new Recorder();
    decode(destroyMessage([3, 9]), sink);
    decode(ownerMessage([[3, 2]]), sink);
    expect(sink.destroyed).toEqual([3, 9]);
    expect(sink.owners).toEqual([3, 2]);
  });

  test("leave and packed", () => {
    const sink = new Recorder();
    expect(decode(leaveMessage([3, 9]), sink)).toBe("applied");
    expect(decode(packedMessage(7, new Uint8Array([1, 2, 3, 4, 5])), sink)).toBe("applied");
    expect(decode(packedMessage(8, new Uint8Array(0)), sink)).toBe("applied");
    expect(decode(packedMessage(9, new Uint8Array([99])), sink)).toBe("dropped");
    expect(sink.calls).toEqual(["leave 3 9", "packed 7: 1 2 3 4 5", "packed 8: ", "packed 9: 99"]);
  });

  test("an unknown kind is skipped", () => {
    const sink = new Recorder();
    expect(decode(new Uint32Array([99, 5]).buffer, sink)).toBe("skipped");
    expect(sink.calls).toEqual([]);
  });

  test("every cut of every message is dropped, and none reaches the sink", () => {
    const messages = [
      createMessage([{ slot: 1 }, { slot: 2 }]),
      destroyMessage([1, 2, 3]),
      ownerMessage([[1, 1], [2, 2]]),
      stateMessage(5, [{ slot: 1 }, { slot: 2 }]),
      leaveMessage([1, 2]),
      packedMessage(5, new Uint8Array(9)),
    ];
    for (const message of messages) {
      for (let length = 0; length < message.byteLength; length++) {
        const sink = new Recorder();
        expect(decode(message.slice(0, length), sink)).toBe("dropped");
        expect(sink.calls).toEqual([]);
      }
    }
  });

  test("a count that lies is dropped, however large", () => {
    for (const kind of [1, 2, 3, 4, 8, 9]) {
      for (const count of [0, 2, 1000, 0x7fffffff, 0xffffffff]) {
        const sink = new Recorder();
        const words = new Uint32Array(2 + 19);
        words.set([kind, count]);
        expect(decode(words.buffer, sink)).toBe("dropped");
        expect(sink.calls).toEqual([]);
      }
    }
  });

  test("random bytes never throw", () => {
    const next = numbers(42);
    for (let round = 0; round < 3000; round++) {
      const bytes = new Uint8Array(Math.floor(next() * 200)).map(() => next() * 256);
      if (bytes.length > 0) bytes[0] = next() * 10;
      if (bytes.length > 4) bytes.fill(0, 1, 4);
      expect(["applied", "skipped", "dropped"]).toContain(decode(bytes.buffer, new Recorder()));
    }
  });
});

describe("text messages", () => {
  test("known types are taken, unknown skipped, rubbish dropped", () => {
    expect(parseText('{"type":"clock","paused":true,"speed":1}')).toEqual({ type: "clock", paused: true, speed: 1 });
    expect(parseText('{"type":"weather"}')).toBe("skipped");
    expect(parseText('{"type":"constructor"}')).toBe("skipped");
    for (const text of ["", "{", "null", "7", "[]", "{}", '{"type":1}', '{"type":"world"}', '{"type":"map","regions":3}']) {
      expect(parseText(text), text).toBe("dropped");
    }
  });
});
