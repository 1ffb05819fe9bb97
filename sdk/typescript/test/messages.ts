/** Builds binary messages byte by byte from the tables of docs/protocol.md, apart from the code that reads them. */

export interface BodyRecord {
  slot: number;
  serial?: number;
  origin?: number;
  shape?: number;
  region?: number;
  kind?: number;
  flags?: number;
  position?: [number, number, number];
  rotation?: [number, number, number, number];
}

export function createMessage(bodies: BodyRecord[]): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(8 + bodies.length * 48));
  view.setUint32(0, 1, true);
  view.setUint32(4, bodies.length, true);
  bodies.forEach((body, i) => {
    const at = 8 + i * 48;
    view.setUint32(at, body.slot, true);
    view.setBigUint64(at + 4, (BigInt(body.origin ?? 1) << 48n) | BigInt(body.serial ?? body.slot), true);
    view.setUint32(at + 12, body.shape ?? 0, true);
    view.setUint16(at + 16, body.region ?? 0, true);
    view.setUint8(at + 18, body.kind ?? 0);
    view.setUint8(at + 19, body.flags ?? 0);
    (body.position ?? [0, 0, 0]).forEach((c, k) => view.setFloat32(at + 20 + k * 4, c, true));
    (body.rotation ?? [0, 0, 0, 1]).forEach((c, k) => view.setFloat32(at + 32 + k * 4, c, true));
  });
  return view.buffer;
}

export function stateMessage(tick: number | bigint, bodies: BodyRecord[]): ArrayBuffer {
  const n = bodies.length;
  const view = new DataView(new ArrayBuffer(16 + n * 24));
  view.setUint32(0, 4, true);
  view.setUint32(4, n, true);
  view.setBigUint64(8, BigInt(tick), true);
  bodies.forEach((body, i) => {
    view.setUint32(16 + i * 4, body.slot, true);
    (body.position ?? [0, 0, 0]).forEach((c, k) => view.setFloat32(16 + n * 4 + (i * 3 + k) * 4, c, true));
    (body.rotation ?? [0, 0, 0, 1]).forEach((c, k) =>
      view.setInt16(16 + n * 16 + (i * 4 + k) * 2, Math.round(c * 32767), true),
    );
  });
  return view.buffer;
}

export function destroyMessage(slots: number[]): ArrayBuffer {
  return new Uint32Array([2, slots.length, ...slots]).buffer;
}

export function leaveMessage(slots: number[]): ArrayBuffer {
  return new Uint32Array([8, slots.length, ...slots]).buffer;
}

export function packedMessage(tick: number, packet: Uint8Array): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(16 + Math.ceil(packet.length / 4) * 4));
  view.setUint32(0, 9, true);
  view.setUint32(4, packet.length, true);
  view.setBigUint64(8, BigInt(tick), true);
  new Uint8Array(view.buffer).set(packet, 16);
  return view.buffer;
}

export function ownerMessage(records: [slot: number, region: number][]): ArrayBuffer {
  return new Uint32Array([3, records.length, ...records.flat()]).buffer;
}

/** A repeatable stream of numbers from 0 to 1. */
export function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

/** A unit quaternion out of a stream of numbers. */
export function unitQuaternion(next: () => number): [number, number, number, number] {
  const q = [next() - 0.5, next() - 0.5, next() - 0.5, next() - 0.5];
  const length = Math.hypot(...q) || 1;
  return q.map((c) => c / length) as [number, number, number, number];
}
