/**
 * What is known of each body, indexed by slot: who owns it, and the stretch of motion it is on.
 *
 * A body's motion is a line from `from` at `fromTick` to `to` at `toTick`, bent where the body falls; the picture shows the
 * point at `head`, the tick being drawn. States that came but are not due yet wait in a queue. When the head is beyond the last state of a
 * body in motion, the body goes on with its last velocities for a while: its line is a guess. When a state then says
 * otherwise, the line starts again from what is on the screen and leads to where the body will be, so that no arrival,
 * late or early, makes a body jump. Only bodies whose line has not ended are in the `active` list; a resting world
 * costs nothing per frame.
 */

import { Fall } from "./fall.js";
import { grown } from "./grown.js";
import { blend, POSE_STRIDE } from "./pose.js";
import { CREATE, CREATE_WORDS, nidText, SLOT_LIMIT, type BodySink } from "./protocol.js";
import { SampleQueue } from "./sample_queue.js";
import { StreamDecodeError, StreamDecoder } from "./stream/decoder.js";

const QUANTUM = 1 / 32767;
/** Servers may be so many ticks apart. A body not mentioned for longer, while others were, lies still. */
const SERVERS_APART_TICKS = 3;
/** States farther apart than this say nothing about the velocity, ticks. */
const VELOCITY_TICKS_MAX = 30;
/**
 * A body that is told of every so many ticks is waited for this many times as long. Where more moves than there are bytes for,
 * the next word of it comes about as late as the last one did.
 */
const GAPS_WAITED = 2;
/** How long it takes to lead a body back to where it really is, ticks. */
const CORRECTION_TICKS = 7;
/** A body that is farther from where it really is jumps there, metres. */
const JUMP = 5;

/** What a line is made of. */
const KNOWN = 0;
/** Ends where the last velocities take the body. */
const GUESS = 1;
/** Starts where the body was shown and ends where it probably will be. */
const CORRECTION = 2;
/** Starts where the body was shown and ends where it lies. */
const BACK = 3;

/** Told about bodies that come and go, after the replica is written and before it is erased. */
export interface ReplicaListener {
  created(slot: number): void;
  /** `outOfSight` when it lives on where this client does not look. */
  destroyed(slot: number, outOfSight: boolean): void;
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
  /** The tick being drawn. `advance` moves it. */
  head = -1;
  /** For how many ticks a body goes on by itself when no state comes. */
  extrapolationTicks = 15;
  /** Records that named an impossible slot, a slot without a body, or a place that is no place. */
  ignored = 0;
  /** Records of motion that came, ever. */
  updates = 0;
  /** The gateway does not tell of every body at every tick: who is not mentioned may have moved. */
  isSparse = false;
  /** How whatever falls moves in this world. */
  readonly fall = new Fall();

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
  /** The newest state of each body, and its tick. */
  newest = new Float32Array(0);
  newestTick = new Float64Array(0);
  /** Ticks between the last two states of each body, as far as they say anything about its velocity. */
  private gap = new Uint8Array(0);
  private line = new Uint8Array(0);
  /** What bends a line, three to a body, m a tick and tick. */
  private bend = new Float32Array(0);
  /** 1 for a body of which a compressed stream says that it is at rest. */
  private resting = new Uint8Array(0);
  private stream = new StreamDecoder();
  private readonly queue = new SampleQueue(POSE_STRIDE);
  private readonly scratch = new Float32Array(POSE_STRIDE);
  private readonly before = new Float32Array(POSE_STRIDE);
  private readonly pose = new Float32Array(POSE_STRIDE);
  private readonly pair = new Float32Array(POSE_STRIDE);
  private readonly pairEnd = new Float32Array(POSE_STRIDE);
  /** The newest tick that anything was heard of. */
  private heardTick = -1;

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
    this.queue.clear();
    this.stream = new StreamDecoder();
    this.latestTick = this.priorTick = this.heardTick = this.head = -1;
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
      if (this.alive[slot]) this.remove(slot, false);
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
      for (let k = 0; k < 3; k++) this.newest[o + k] = floats[p + k];
      for (let k = 0; k < 4; k++) this.newest[o + 4 + k] = floats[q + k];
      for (let k = 0; k < POSE_STRIDE; k++) this.from[o + k] = this.to[o + k] = this.newest[o + k];
      this.fromTick[slot] = this.toTick[slot] = this.newestTick[slot] = this.latestTick;
      this.resting[slot] = this.gap[slot] = 0;
      this.straight(slot, KNOWN);
      this.activate(slot);
      this.listener.created(slot);
    }
  }

  destroy(slots: Uint32Array): void {
    this.removeAll(slots, false);
  }

  leave(slots: Uint32Array): void {
    this.removeAll(slots, true);
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
    this.arrive(tick);
    // A region may be a tick behind the others; its bodies rested until the tick before the one it speaks of.
    const restedUntil = this.isSparse ? -Infinity : Math.min(this.priorTick, tick - 1);
    const { scratch } = this;
    for (let i = 0; i < slots.length; i++) {
      for (let k = 0; k < 3; k++) scratch[k] = positions[i * 3 + k];
      for (let k = 0; k < 4; k++) scratch[4 + k] = rotations[i * 4 + k] * QUANTUM;
      // A plain state does not say.
      this.resting[slots[i]] = 0;
      this.place(slots[i], tick, restedUntil, scratch);
    }
  }

  packed(tick: number, packet: Uint8Array): boolean {
    let decoded;
    try {
      decoded = this.stream.decode(packet);
    } catch (error) {
      if (error instanceof StreamDecodeError) return false;
      throw error;
    }
    this.arrive(tick);
    const { slots, atRest, positions, rotations } = decoded;
    const { newest, resting, scratch } = this;
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i];
      if (!this.has(slot)) {
        this.ignored++;
        continue;
      }
      for (let k = 0; k < 3; k++) scratch[k] = positions[i * 3 + k];
      for (let k = 0; k < 4; k++) scratch[4 + k] = rotations[i * 4 + k];
      const rested = resting[slot] === 1;
      const o = slot * POSE_STRIDE;
      let isSame = true;
      for (let k = 0; k < POSE_STRIDE; k++) if (k !== 3 && scratch[k] !== newest[o + k]) isSame = false;
      // One that moves and is where it was is only not told of; one that lies still is known to.
      if (isSame && (rested || atRest[i] === 0)) continue;
      this.updates++;
      resting[slot] = atRest[i];
      this.place(slot, tick, rested ? Math.min(this.priorTick, tick - 1) : -Infinity, scratch);
    }
    return true;
  }

  /** The world has come to this tick, whether anything moved or not. */
  heard(tick: number): void {
    if (tick > this.heardTick) this.heardTick = tick;
  }

  /** Moves on to the tick to be drawn: every active body gets the line that the tick lies on. */
  advance(head: number): void {
    this.head = head;
    const { active, toTick, line, queue } = this;
    for (let i = 0; i < this.activeCount; i++) {
      const slot = active[i];
      while (head >= toTick[slot] && queue.count(slot) > 0) this.shift(slot);
      if ((line[slot] === GUESS || line[slot] === CORRECTION) && this.rests(slot)) this.leadBack(slot);
      else if (line[slot] === KNOWN && head > toTick[slot] && !this.rests(slot)) this.guess(slot);
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

  /**
   * Takes the entry at `index` out of the active list by moving the last one there. A body whose line ends where it was only
   * thought to go stays, because it may have to be led back.
   */
  settle(index: number): void {
    const line = this.line[this.active[index]];
    if (line === GUESS || line === CORRECTION) return;
    this.takeOut(index);
  }

  private takeOut(index: number): void {
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
    return [this.newest[o], this.newest[o + 1], this.newest[o + 2]];
  }

  /** Writes where the body is shown at `head` to `out` at `at`. */
  shown(slot: number, out: Float32Array, at = 0): void {
    const share = this.progress(slot);
    blend(out, at, this.from, this.to, slot * POSE_STRIDE, share);
    const span = this.toTick[slot] - this.fromTick[slot];
    const sag = share * (1 - share) * span * span;
    for (let k = 0; k < 3; k++) out[at + k] -= this.bend[slot * 3 + k] * sag;
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

  /** A message with states of this tick begins. */
  private arrive(tick: number): void {
    if (tick > this.latestTick) {
      this.priorTick = this.latestTick < 0 ? tick : this.latestTick;
      this.latestTick = tick;
    }
    this.heard(tick);
  }

  /** Where a body was at a tick. Until `restedUntil` it was not mentioned, which means that it had not moved. */
  private place(slot: number, tick: number, restedUntil: number, pose: Float32Array): void {
    const { newest, newestTick, before } = this;
    const sum = pose[0] + pose[1] + pose[2];
    if (slot >= this.capacity || this.alive[slot] === 0 || sum - sum !== 0) {
      this.ignored++;
      return;
    }
    const known = newestTick[slot];
    if (tick < known) return;
    const o = slot * POSE_STRIDE;
    const rested = known > restedUntil ? known : restedUntil;
    // Nearly always the state follows others that are not shown yet, and what was known before does not matter.
    const justWaits = this.line[slot] === KNOWN && this.head < this.toTick[slot] && rested === known && tick > known;
    if (!justWaits) for (let k = 0; k < POSE_STRIDE; k++) before[k] = newest[o + k];
    for (let k = 0; k < POSE_STRIDE; k++) newest[o + k] = pose[k];
    newestTick[slot] = tick;
    if (tick > known) this.gap[slot] = Math.min(tick - known, VELOCITY_TICKS_MAX);
    if (justWaits && !this.queue.isFull(slot)) this.queue.push(slot, tick, newest, o);
    else if (tick === known) this.replaceLast(slot, o);
    else if (this.head <= tick && this.isTrue(slot, rested)) this.append(slot, o, before, known, rested, tick);
    else this.correct(slot, o, before, rested, tick);
    if (this.activeAt[slot] === 0) this.activate(slot);
  }

  /** A state that follows the last one: the next line, or one that has to wait. */
  private append(slot: number, o: number, before: Float32Array, known: number, rested: number, tick: number): void {
    const { from, to, fromTick, toTick, newest, queue } = this;
    if (queue.count(slot) > 0 || this.head < toTick[slot]) {
      // A page that draws nothing does not take them; it sees the newest when it looks again.
      while (queue.isFull(slot)) this.shift(slot);
      if (rested > known) queue.push(slot, rested, before, 0);
      queue.push(slot, tick, newest, o);
      return;
    }
    const first = this.line[slot] === KNOWN ? rested - fromTick[slot] : 0;
    this.straight(slot, KNOWN);
    if (rested === known) this.fall.bend(this.bend, slot * 3, first, tick - rested, from, o, before, 0, newest, o);
    for (let k = 0; k < POSE_STRIDE; k++) {
      from[o + k] = before[k];
      to[o + k] = newest[o + k];
    }
    fromTick[slot] = rested;
    toTick[slot] = tick;
  }

  /** A line of this kind without a bend. */
  private straight(slot: number, line: number): void {
    this.line[slot] = line;
    // Not `fill`, whose call costs more than it does.
    for (let k = 0; k < 3; k++) this.bend[slot * 3 + k] = 0;
  }

  /** True when the body is shown where it was known to be until tick `rested`, also after it was led back there. */
  private isTrue(slot: number, rested: number): boolean {
    const line = this.line[slot];
    return this.head <= rested && (line === KNOWN || (line === BACK && this.head >= this.toTick[slot]));
  }

  /** Another state of the same tick. */
  private replaceLast(slot: number, o: number): void {
    if (this.line[slot] !== KNOWN) return;
    if (this.queue.count(slot) > 0) this.queue.replaceLast(slot, this.newest, o);
    else {
      for (let k = 0; k < POSE_STRIDE; k++) this.to[o + k] = this.newest[o + k];
      this.straight(slot, KNOWN);
    }
  }

  /** The queued state that is next becomes the end of the line. */
  private shift(slot: number): void {
    const { from, to, fromTick, toTick, pair: earlier } = this;
    const o = slot * POSE_STRIDE;
    const first = this.line[slot] === KNOWN ? toTick[slot] - fromTick[slot] : 0;
    for (let k = 0; k < POSE_STRIDE; k++) {
      earlier[k] = from[o + k];
      from[o + k] = to[o + k];
    }
    fromTick[slot] = toTick[slot];
    toTick[slot] = this.queue.shift(slot, to, o);
    this.straight(slot, KNOWN);
    this.fall.bend(this.bend, slot * 3, first, toTick[slot] - fromTick[slot], earlier, 0, from, o, to, o);
  }

  /** True when the body lies where its newest state says. */
  private rests(slot: number): boolean {
    // A gateway does not repeat where a body is while that cannot be told from where it was said to be. So one that went on by
    // itself for as long as it may, without a word, is where it was told of last.
    const usual = this.isSparse ? Math.max(this.extrapolationTicks, this.gap[slot] * GAPS_WAITED) : 0;
    return this.resting[slot] === 1 || this.heardTick - this.newestTick[slot] > Math.max(SERVERS_APART_TICKS, usual);
  }

  /** Goes on with the velocities of the line that has ended. */
  private guess(slot: number): void {
    const { from, to, fromTick, toTick, scratch } = this;
    const span = toTick[slot] - fromTick[slot];
    if (!(span > 0 && span <= VELOCITY_TICKS_MAX && this.extrapolationTicks > 0)) return;
    const o = slot * POSE_STRIDE;
    blend(scratch, 0, from, to, o, 1 + this.extrapolationTicks / span);
    for (let k = 0; k < POSE_STRIDE; k++) {
      from[o + k] = to[o + k];
      to[o + k] = scratch[k];
    }
    fromTick[slot] = toTick[slot];
    toTick[slot] += this.extrapolationTicks;
    this.straight(slot, GUESS);
  }

  /** It was thought that the body goes on, but it lies still. */
  private leadBack(slot: number): void {
    const o = slot * POSE_STRIDE;
    this.shown(slot, this.scratch);
    for (let k = 0; k < POSE_STRIDE; k++) {
      this.from[o + k] = this.scratch[k];
      this.to[o + k] = this.newest[o + k];
    }
    this.fromTick[slot] = this.head;
    this.toTick[slot] = this.head + CORRECTION_TICKS;
    this.straight(slot, BACK);
  }

  /**
   * A state came for a body that is shown where it was guessed to be, or came too late to be shown in time: leads the
   * body from there to where it will be. Until tick `rested` it was where `before` says.
   */
  private correct(slot: number, o: number, before: Float32Array, rested: number, tick: number): void {
    const { from, to, fromTick, toTick, newest, head } = this;
    const end = this.line[slot] === CORRECTION && toTick[slot] > head ? toTick[slot] : head + CORRECTION_TICKS;
    const shown = this.pose;
    this.shown(slot, shown);
    const span = tick - rested;
    const ahead = this.resting[slot] ? 0 : Math.max(0, Math.min(end - tick, this.extrapolationTicks));
    const share = span <= VELOCITY_TICKS_MAX ? 1 + ahead / span : 1;
    this.pair.set(before, 0);
    for (let k = 0; k < POSE_STRIDE; k++) this.pairEnd[k] = newest[o + k];
    blend(this.pairEnd, 0, this.pair, this.pairEnd, 0, share);
    const away = Math.hypot(shown[0] - newest[o], shown[1] - newest[o + 1], shown[2] - newest[o + 2]);
    for (let k = 0; k < POSE_STRIDE; k++) {
      from[o + k] = away > JUMP ? newest[o + k] : shown[k];
      to[o + k] = tick >= end ? newest[o + k] : this.pairEnd[k];
    }
    fromTick[slot] = head;
    toTick[slot] = Math.max(tick, end);
    this.straight(slot, tick >= end ? KNOWN : CORRECTION);
  }

  private removeAll(slots: Uint32Array, outOfSight: boolean): void {
    for (let i = 0; i < slots.length; i++) {
      if (this.has(slots[i])) this.remove(slots[i], outOfSight);
      else this.ignored++;
    }
  }

  private remove(slot: number, outOfSight: boolean): void {
    this.listener.destroyed(slot, outOfSight);
    this.queue.drop(slot);
    this.alive[slot] = 0;
    this.count--;
    if (this.activeAt[slot]) this.takeOut(this.activeAt[slot] - 1);
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
    this.newest = grown(this.newest, capacity * POSE_STRIDE);
    this.newestTick = grown(this.newestTick, capacity);
    this.gap = grown(this.gap, capacity);
    this.line = grown(this.line, capacity);
    this.bend = grown(this.bend, capacity * 3);
    this.resting = grown(this.resting, capacity);
    this.queue.grow(capacity);
    this.active = grown(this.active, capacity);
    this.activeAt = grown(this.activeAt, capacity);
    this.capacity = capacity;
  }
}
