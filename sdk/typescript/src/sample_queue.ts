/**
 * States that came but are not shown yet, a queue for each body, all in one pool: memory goes with the bodies in motion,
 * not with the greatest slot.
 */

import { grown } from "./grown.js";

/** States that one body may have waiting before the oldest is given up: more than half a second of 60 a second. */
const PER_BODY_MAX = 40;
const NONE = 0xffffffff;

export class SampleQueue {
  private first = new Uint32Array(0);
  private last = new Uint32Array(0);
  private counts = new Uint8Array(0);
  /** The pool: tick, pose and follower of each state. */
  private ticks = new Float64Array(0);
  private poses = new Float32Array(0);
  private next = new Uint32Array(0);
  private free = NONE;

  /** `stride` floats a pose. */
  constructor(private readonly stride: number) {}

  /** Makes room for slots below `capacity`. */
  grow(capacity: number): void {
    this.first = grown(this.first, capacity);
    this.last = grown(this.last, capacity);
    this.counts = grown(this.counts, capacity);
  }

  count(slot: number): number {
    return this.counts[slot];
  }

  isFull(slot: number): boolean {
    return this.counts[slot] >= PER_BODY_MAX;
  }

  push(slot: number, tick: number, pose: Float32Array, at: number): void {
    const sample = this.take();
    this.ticks[sample] = tick;
    this.write(sample, pose, at);
    if (this.counts[slot]++ === 0) this.first[slot] = sample;
    else this.next[this.last[slot]] = sample;
    this.last[slot] = sample;
  }

  /** Puts another pose in the place of the last. The queue must not be empty. */
  replaceLast(slot: number, pose: Float32Array, at: number): void {
    this.write(this.last[slot], pose, at);
  }

  /** Takes the first out, writes its pose to `out` and returns its tick. The queue must not be empty. */
  shift(slot: number, out: Float32Array, at: number): number {
    const sample = this.first[slot];
    const from = sample * this.stride;
    for (let k = 0; k < this.stride; k++) out[at + k] = this.poses[from + k];
    this.first[slot] = this.next[sample];
    this.counts[slot]--;
    this.release(sample);
    return this.ticks[sample];
  }

  /** Forgets what waits for a slot. */
  drop(slot: number): void {
    while (this.counts[slot] > 0) {
      const sample = this.first[slot];
      this.first[slot] = this.next[sample];
      this.counts[slot]--;
      this.release(sample);
    }
  }

  /** Forgets everything. */
  clear(): void {
    this.counts.fill(0);
    this.free = NONE;
    for (let sample = this.ticks.length - 1; sample >= 0; sample--) this.release(sample);
  }

  private write(sample: number, pose: Float32Array, at: number): void {
    const to = sample * this.stride;
    for (let k = 0; k < this.stride; k++) this.poses[to + k] = pose[at + k];
  }

  private take(): number {
    if (this.free === NONE) this.enlarge();
    const sample = this.free;
    this.free = this.next[sample];
    return sample;
  }

  private release(sample: number): void {
    this.next[sample] = this.free;
    this.free = sample;
  }

  private enlarge(): void {
    const old = this.ticks.length;
    const size = Math.max(1024, old * 2);
    this.ticks = grown(this.ticks, size);
    this.poses = grown(this.poses, size * this.stride);
    this.next = grown(this.next, size);
    for (let sample = size - 1; sample >= old; sample--) this.release(sample);
  }
}
