/**
 * Draws the bodies: one batch per form, coloured by the region that owns each body.
 *
 * The per-frame path is `update`: it walks the active replicas and writes their matrices by hand into the buffers of
 * the batches. A body that changed its owner glows for a moment in its new colour, so that hand-overs can be seen.
 */

import { Group, MeshLambertMaterial } from "three";
import { InstanceBatch } from "./instances";
import { compose } from "./matrices";
import { regionLinear } from "./palette";
import { POSE_STRIDE, type Replicas, type Shape } from "@nimbus/client";
import { buildForm, boundingRadius, type Form, formOf } from "./shape_geometry";

/** How long a hand-over glows, ms. */
const GLOW_MS = 400;
/** Brightness added at the start of a glow, linear light. */
const GLOW = 1.6;
/** Brightness added to the body a person picked. */
const MARK = 0.9;

const KINEMATIC = 1;
const FLAG_SENSOR = 1;

export class BodiesView {
  readonly group = new Group();
  private readonly solid = new MeshLambertMaterial({ vertexColors: true });
  private readonly clear = new MeshLambertMaterial({
    vertexColors: true,
    transparent: true,
    opacity: 0.22,
    depthWrite: false,
  });
  private readonly forms = new Map<number, Form>();
  /** By shape: the radius of the sphere that holds it, metres. */
  private readonly radii = new Map<number, number>();
  private readonly batchByKey = new Map<string, number>();
  private readonly batches: InstanceBatch[] = [];
  /** By slot: the batch, the instance in it, the scale. */
  private batchOf = new Uint16Array(0);
  private instanceOf = new Uint32Array(0);
  private scale = new Float32Array(0);
  private radius = new Float32Array(0);
  /** When each glowing slot began to glow, ms. */
  private readonly glows = new Map<number, number>();
  private readonly pose = new Float32Array(POSE_STRIDE);
  /** How often each slot's body changed hands while we watched. */
  private readonly hands = new Map<number, number>();
  /** The slot drawn lighter because a person picked it, or -1. */
  private marked = -1;
  /** Which batches got new matrices in this frame. */
  private touched = new Uint8Array(0);

  /** Remembers a shape for the bodies that will name it. */
  announce(id: number, shape: Shape): void {
    this.forms.set(id, formOf(shape));
    this.radii.set(id, boundingRadius(shape));
  }

  /** Forgets every body and shape. */
  clearAll(): void {
    for (const batch of this.batches) batch.dispose();
    this.batches.length = 0;
    this.batchByKey.clear();
    this.forms.clear();
    this.radii.clear();
    this.glows.clear();
    this.hands.clear();
    this.marked = -1;
  }

  created(replicas: Replicas, slot: number): void {
    if (slot >= this.batchOf.length) this.grow(replicas.capacity);
    const form = this.forms.get(replicas.shape[slot]) ?? formOf({} as Shape);
    const number = this.batchFor(form, (replicas.flags[slot] & FLAG_SENSOR) !== 0);
    this.batchOf[slot] = number;
    this.instanceOf[slot] = this.batches[number].add(slot);
    this.scale.set(form.scale, slot * 3);
    this.radius[slot] = this.radii.get(replicas.shape[slot]) ?? 0.2;
    this.paint(replicas, slot, 0);
  }

  destroyed(slot: number): void {
    this.glows.delete(slot);
    this.hands.delete(slot);
    if (this.marked === slot) this.marked = -1;
    const index = this.instanceOf[slot];
    const moved = this.batches[this.batchOf[slot]].remove(index);
    if (moved >= 0) this.instanceOf[moved] = index;
  }

  ownerChanged(replicas: Replicas, slot: number, now: number): void {
    this.paint(replicas, slot, GLOW);
    this.glows.set(slot, now);
    this.hands.set(slot, this.handOvers(slot) + 1);
  }

  /** How often the body in a slot changed hands since it was created here. */
  handOvers(slot: number): number {
    return this.hands.get(slot) ?? 0;
  }

  /** Draws one body lighter than the rest; -1 for none. */
  mark(replicas: Replicas, slot: number): void {
    const old = this.marked;
    this.marked = slot;
    if (replicas.has(old)) this.paint(replicas, old, 0);
    if (replicas.has(slot)) this.paint(replicas, slot, 0);
  }

  /** Writes the place at which the body in a slot is drawn to `out` at `at`. The slot must have a body. */
  placeOf(slot: number, out: Float32Array, at: number): void {
    const { matrix } = this.batches[this.batchOf[slot]];
    const place = this.instanceOf[slot] * 16 + 12;
    out[at] = matrix[place];
    out[at + 1] = matrix[place + 1];
    out[at + 2] = matrix[place + 2];
  }

  /** The radius of the sphere that holds the body in a slot, metres. */
  radiusOf(slot: number): number {
    return this.radius[slot];
  }

  /** About how much room the body in a slot takes, cubic metres. */
  volume(slot: number): number {
    const box = this.batches[this.batchOf[slot]].mesh.geometry.boundingBox;
    if (!box) return 0;
    const at = slot * 3;
    const edge = (axis: "x" | "y" | "z", k: number): number => (box.max[axis] - box.min[axis]) * this.scale[at + k];
    return edge("x", 0) * edge("y", 1) * edge("z", 2);
  }

  /** Brings the matrices of all active bodies to `replicas.head`, and the glows to `now`. */
  update(replicas: Replicas, now: number): void {
    const { active, to, toTick, head } = replicas;
    const { batches, batchOf, instanceOf, scale, pose, touched } = this;
    touched.fill(0);
    // Backwards, because settling moves the last entry into the present place.
    for (let i = replicas.activeCount - 1; i >= 0; i--) {
      const slot = active[i];
      const o = slot * POSE_STRIDE;
      const number = batchOf[slot];
      const s = slot * 3;
      const end = toTick[slot];
      let source = to;
      let at = o;
      if (head < end) {
        replicas.shown(slot, pose);
        source = pose;
        at = 0;
      }
      compose(
        batches[number].matrix,
        instanceOf[slot] * 16,
        source[at],
        source[at + 1],
        source[at + 2],
        source[at + 4],
        source[at + 5],
        source[at + 6],
        source[at + 7],
        scale[s],
        scale[s + 1],
        scale[s + 2],
      );
      touched[number] = 1;
      if (head >= end) replicas.settle(i);
    }
    for (let i = 0; i < batches.length; i++) if (touched[i]) batches[i].matricesChanged();
    for (const [slot, since] of this.glows) {
      const left = 1 - (now - since) / GLOW_MS;
      this.paint(replicas, slot, left > 0 ? left * GLOW : 0);
      if (left <= 0) this.glows.delete(slot);
    }
  }

  /** The slot an instance of one of our meshes shows, or -1. */
  slotAt(mesh: unknown, instance: number): number {
    for (const batch of this.batches) if (batch.mesh === mesh) return batch.slots[instance];
    return -1;
  }

  private paint(replicas: Replicas, slot: number, glow: number): void {
    const batch = this.batches[this.batchOf[slot]];
    const colour = regionLinear(replicas.region[slot]);
    // A little lighter or darker from body to body, so that a heap shows its members.
    const shade = 0.86 + ((Math.imul(slot + 1, 2654435761) >>> 24) / 255) * 0.28;
    const pale = replicas.kind[slot] === KINEMATIC ? 0.3 : 0;
    const light = slot === this.marked ? glow + MARK : glow;
    const at = this.instanceOf[slot] * 3;
    for (let k = 0; k < 3; k++) {
      const base = (colour[k] * (1 - pale) + pale) * shade;
      batch.colour[at + k] = base * (1 + light) + light * 0.18;
    }
    batch.coloursChanged();
  }

  private batchFor(form: Form, sensor: boolean): number {
    const key = sensor ? `sensor ${form.key}` : form.key;
    let number = this.batchByKey.get(key);
    if (number === undefined) {
      number = this.batches.length;
      const material = sensor ? this.clear : this.solid;
      const shadows = { cast: !sensor, receive: !sensor };
      this.batches.push(new InstanceBatch(this.group, buildForm(form), material, shadows));
      this.batchByKey.set(key, number);
      if (number >= this.touched.length) this.touched = new Uint8Array(Math.max(16, number * 2));
    }
    return number;
  }

  private grow(capacity: number): void {
    const batchOf = new Uint16Array(capacity);
    const instanceOf = new Uint32Array(capacity);
    const scale = new Float32Array(capacity * 3);
    batchOf.set(this.batchOf);
    instanceOf.set(this.instanceOf);
    scale.set(this.scale);
    const radius = new Float32Array(capacity);
    radius.set(this.radius);
    this.radius = radius;
    this.batchOf = batchOf;
    this.instanceOf = instanceOf;
    this.scale = scale;
  }
}
