/**
 * What the viewer knows of each body, indexed by slot: who owns it, and the stretch of motion it is on.
 *
 * A body's motion is a line from `from` at `fromTick` to `to` at `toTick`; the picture shows the point at `head`, the
 * tick being drawn. When a new state comes, the line starts again from what is on the screen, so that no arrival, late
 * or early, makes a body jump. Only bodies whose line has not ended are in the `active` list; a resting world costs
 * nothing per frame.
 */

import { CREATE, CREATE_WORDS, nidText, SLOT_LIMIT, type BodySink } from "./protocol";

/** Floats per pose: x y z, one unused, then the quaternion x y z w. */
export const POSE_STRIDE = 8;

const QUANTUM = 1 / 32767;

/** Told about bodies that come and go, after the replica is written and before it is erased. */
export interface ReplicaListener {
  created(slot: number): void;
  destroyed(slot: number): void;
  /** `from` is the region that owned it before. */
  ownerChanged(slot: number, from: number): void;
}

export class Replicas implements BodySink {
  /** Slots that the arrays have room for. */
  capacity = 0;
  /** Bodies that exist. */
  count = 0;
  /** The newest tick any state message named; -1 before the first. */
  latestTick = -1;
  /** The tick being drawn. The frame loop moves it. */
  head = -1;
  /** Records that named an impossible slot, a slot without a body, or a place that is no place. */
  ignored = 0;
  /** Records of motion that came, ever. */
  updates = 0;

  alive = new Uint8Array(0);
  region = new Uint16Array(0);
  kind = new Uint8Array(0);
  flags = new Uint8Array(0);
  shape = new Uint32Array(0);
  nidLow = new Uint32Array(0);
  nidHigh = new Uint32Array(0);
  from = new Float32Array(0);
  to = new Float32Array(0);
  fromTick = new Float64Array(0);
  toTick = new Float64Array(0);

  /** Slots whose picture is not yet where the newest state says; the first `activeCount` entries count. */
  active = new Uint32Array(0);
  activeCount = 0;
  /** Place in the active list plus one; 0 for a settled body. */
  private activeAt = new Uint32Array(0);
  /** The newest state tick before `latestTick`: a body not mentioned was still in its place then. */
  private priorTick = -1;
  /** One past the greatest slot ever used. */
  private slotEnd = 0;

  constructor(private readonly listener: ReplicaListener) {}

  /** Forgets every body, without telling the listener one by one. */
  clear(): void {
    this.alive.fill(0);
    this.activeAt.fill(0);
    this.activeCount = 0;
    this.count = 0;
    this.slotEnd = 0;
    this.latestTick = this.priorTick = this.head = -1;
  }

  create(count: number, words: Uint32Array, floats: Float32Array): void {
    for (let i = 0, at = 0; i < count; i++, at += CREATE_WORDS) {
      const slot = words[at + CREATE.slot];
      const p = at + CREATE.position;
      const q = at + CREATE.rotation;
      const sum = floats[p] + floats[p + 1] + floats[p + 2];
      const length = Math.hypot(floats[q], floats[q + 1], floats[q + 2], floats[q + 3]);
      if (slot >= SLOT_LIMIT || sum - sum !== 0 || !(length > 0.5 && length < 2)) {
        this.ignored++;
        continue;
      }
      if (slot >= this.capacity) this.grow(slot + 1);
      if (this.alive[slot]) this.remove(slot);
      const packed = words[at + CREATE.packed];
      this.alive[slot] = 1;
      this.count++;
      if (slot >= this.slotEnd) this.slotEnd = slot + 1;
      this.nidLow[slot] = words[at + CREATE.nidLow];
      this.nidHigh[slot] = words[at + CREATE.nidHigh];
      this.shape[slot] = words[at + CREATE.shape];
      this.region[slot] = packed & 0xffff;
      this.kind[slot] = (packed >>> 16) & 0xff;
      this.flags[slot] = packed >>> 24;
      const o = slot * POSE_STRIDE;
      for (let k = 0; k < 3; k++) this.from[o + k] = this.to[o + k] = floats[p + k];
      for (let k = 0; k < 4; k++) this.from[o + 4 + k] = this.to[o + 4 + k] = floats[q + k];
      this.fromTick[slot] = this.toTick[slot] = this.latestTick;
      this.activate(slot);
      this.listener.created(slot);
    }
  }

  destroy(slots: Uint32Array): void {
    for (let i = 0; i < slots.length; i++) {
      if (this.has(slots[i])) this.remove(slots[i]);
      else this.ignored++;
    }
  }

  owner(count: number, words: Uint32Array): void {
    for (let i = 0; i < count; i++) {
      const slot = words[i * 2];
      if (!this.has(slot)) {
        this.ignored++;
        continue;
      }
      const region = words[i * 2 + 1] & 0xffff;
      if (this.region[slot] === region) continue;
      const from = this.region[slot];
      this.region[slot] = region;
      this.listener.ownerChanged(slot, from);
    }
  }

  state(tick: number, slots: Uint32Array, positions: Float32Array, rotations: Int16Array): void {
    this.updates += slots.length;
    if (tick > this.latestTick) {
      this.priorTick = this.latestTick < 0 ? tick : this.latestTick;
      this.latestTick = tick;
    }
    const { alive, from, to, fromTick, toTick, activeAt, head } = this;
    // A region may be a tick behind the others; its bodies rested until the tick before the one it speaks of.
    const restedUntil = Math.min(this.priorTick, tick - 1);
    const capacity = this.capacity;
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i];
      const x = positions[i * 3];
      const y = positions[i * 3 + 1];
      const z = positions[i * 3 + 2];
      const sum = x + y + z;
      if (slot >= capacity || alive[slot] === 0 || sum - sum !== 0) {
        this.ignored++;
        continue;
      }
      const known = toTick[slot];
      if (tick < known) continue;
      const o = slot * POSE_STRIDE;
      if (tick > known) {
        if (head >= known) {
          for (let k = 0; k < POSE_STRIDE; k++) from[o + k] = to[o + k];
          fromTick[slot] = known > restedUntil ? known : restedUntil;
        } else if (head > fromTick[slot]) {
          blend(from, o, from, to, o, (head - fromTick[slot]) / (known - fromTick[slot]));
          fromTick[slot] = head;
        }
        toTick[slot] = tick;
      }
      const r = i * 4;
      to[o] = x;
      to[o + 1] = y;
      to[o + 2] = z;
      to[o + 4] = rotations[r] * QUANTUM;
      to[o + 5] = rotations[r + 1] * QUANTUM;
      to[o + 6] = rotations[r + 2] * QUANTUM;
      to[o + 7] = rotations[r + 3] * QUANTUM;
      if (activeAt[slot] === 0) this.activate(slot);
    }
  }

  /** True when a body lives in the slot. */
  has(slot: number): boolean {
    return slot < this.capacity && this.alive[slot] === 1;
  }

  /** How far along its line the body is at `head`: 0 at the start, 1 at the end and after. */
  progress(slot: number): number {
    const end = this.toTick[slot];
    if (this.head >= end) return 1;
    const start = this.fromTick[slot];
    return this.head <= start ? 0 : (this.head - start) / (end - start);
  }

  /** Takes the entry at `index` out of the active list by moving the last one there. */
  settle(index: number): void {
    this.activeAt[this.active[index]] = 0;
    const last = --this.activeCount;
    if (index === last) return;
    this.active[index] = this.active[last];
    this.activeAt[this.active[index]] = index + 1;
  }

  /** The newest known place of a body. */
  position(slot: number): [number, number, number] | null {
    if (!this.has(slot)) return null;
    const o = slot * POSE_STRIDE;
    return [this.to[o], this.to[o + 1], this.to[o + 2]];
  }

  /** The body's id as people write it. */
  nid(slot: number): string | null {
    return this.has(slot) ? nidText(this.nidLow[slot], this.nidHigh[slot]) : null;
  }

  /** The slot of the body with this id, or -1. A search: for clicks and tests, not for frames. */
  slotOf(nid: string): number {
    const parsed = /^(\d+)\.(\d+)$/.exec(nid);
    if (!parsed) return -1;
    const serial = Number(parsed[2]);
    const low = serial % 4294967296;
    const high = Number(parsed[1]) * 65536 + Math.floor(serial / 4294967296);
    for (let slot = 0; slot < this.slotEnd; slot++) {
      if (this.nidLow[slot] === low && this.nidHigh[slot] === high && this.alive[slot]) return slot;
    }
    return -1;
  }

  /** The id of some body, always the same while it lives; null when there is none. */
  anyNid(): string | null {
    for (let slot = 0; slot < this.slotEnd; slot++) if (this.alive[slot]) return this.nid(slot);
    return null;
  }

  /** Calls `visit` for every body, in slot order. */
  each(visit: (slot: number) => void): void {
    for (let slot = 0; slot < this.slotEnd; slot++) if (this.alive[slot]) visit(slot);
  }

  private remove(slot: number): void {
    this.listener.destroyed(slot);
    this.alive[slot] = 0;
    this.count--;
    if (this.activeAt[slot]) this.settle(this.activeAt[slot] - 1);
  }

  private activate(slot: number): void {
    if (this.activeAt[slot]) return;
    this.active[this.activeCount++] = slot;
    this.activeAt[slot] = this.activeCount;
  }

  private grow(least: number): void {
    let capacity = Math.max(1024, this.capacity);
    while (capacity < least) capacity *= 2;
    this.alive = grown(this.alive, capacity);
    this.region = grown(this.region, capacity);
    this.kind = grown(this.kind, capacity);
    this.flags = grown(this.flags, capacity);
    this.shape = grown(this.shape, capacity);
    this.nidLow = grown(this.nidLow, capacity);
    this.nidHigh = grown(this.nidHigh, capacity);
    this.from = grown(this.from, capacity * POSE_STRIDE);
    this.to = grown(this.to, capacity * POSE_STRIDE);
    this.fromTick = grown(this.fromTick, capacity);
    this.toTick = grown(this.toTick, capacity);
    this.active = grown(this.active, capacity);
    this.activeAt = grown(this.activeAt, capacity);
    this.capacity = capacity;
  }
}

/** Writes the pose a share `t` of the way from `a` to `b` (both at offset `o`) to `out` at `at`; unit quaternion out. */
export function blend(
  out: Float32Array,
  at: number,
  a: Float32Array,
  b: Float32Array,
  o: number,
  t: number,
): void {
  const s = 1 - t;
  out[at] = a[o] * s + b[o] * t;
  out[at + 1] = a[o + 1] * s + b[o + 1] * t;
  out[at + 2] = a[o + 2] * s + b[o + 2] * t;
  const dot = a[o + 4] * b[o + 4] + a[o + 5] * b[o + 5] + a[o + 6] * b[o + 6] + a[o + 7] * b[o + 7];
  // q and -q are the same turn; take the shorter way round.
  const u = dot < 0 ? -t : t;
  const x = a[o + 4] * s + b[o + 4] * u;
  const y = a[o + 5] * s + b[o + 5] * u;
  const z = a[o + 6] * s + b[o + 6] * u;
  const w = a[o + 7] * s + b[o + 7] * u;
  const square = x * x + y * y + z * z + w * w;
  const inverse = square > 1e-12 ? 1 / Math.sqrt(square) : 0;
  out[at + 4] = x * inverse;
  out[at + 5] = y * inverse;
  out[at + 6] = z * inverse;
  out[at + 7] = inverse > 0 ? w * inverse : 1;
}

interface Growable<T> {
  readonly length: number;
  set(from: T): void;
}

function grown<T extends Growable<T>>(old: T, length: number): T {
  const next = new (old.constructor as new (length: number) => T)(length);
  next.set(old);
  return next;
}
