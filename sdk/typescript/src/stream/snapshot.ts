/** All that is known once a packet has arrived, in columns, and a ring of the latest of these. */

import { freshModel } from "./model.js";
import type { Turn } from "./rotation.js";

/** How many snapshots are remembered. */
export const SNAPSHOTS_KEPT = 32;
/** Most bodies of one snapshot. Bounds what a few forged bytes can make us allocate. */
export const STREAM_BODIES_MAX = 4096;

/** The bodies of a snapshot in order of slot, and the odds that the next packets are read with. */
export class Snapshot {
  sequence = 0;
  count = 0;
  readonly model = freshModel();
  slots = new Uint32Array(0);
  atRest = new Uint8Array(0);
  /** How far off the last predictions were, by their bits. */
  positionMiss = new Uint8Array(0);
  rotationMiss = new Uint8Array(0);
  /** Parts of a step, three to a body. */
  position = new Int32Array(0);
  /** 256ths of a part of a step in a tick. */
  velocity = new Int32Array(0);
  /** Unit quaternions, four to a body. */
  rotation = new Float32Array(0);
  /** Twist in a tick. */
  spin = new Float32Array(0);

  /** Forgets its bodies and makes room for so many. */
  restart(count: number): void {
    this.count = 0;
    if (count <= this.slots.length) return;
    const room = Math.min(STREAM_BODIES_MAX, Math.max(count, 2 * this.slots.length));
    this.slots = new Uint32Array(room);
    this.atRest = new Uint8Array(room);
    this.positionMiss = new Uint8Array(room);
    this.rotationMiss = new Uint8Array(room);
    this.position = new Int32Array(room * 3);
    this.velocity = new Int32Array(room * 3);
    this.rotation = new Float32Array(room * 4);
    this.spin = new Float32Array(room * 3);
  }

  /** How a body is turned. */
  turn(body: number): Turn {
    const { rotation } = this;
    return [rotation[body * 4], rotation[body * 4 + 1], rotation[body * 4 + 2], rotation[body * 4 + 3]];
  }
}

/** The latest snapshots, by sequence number. */
export class History {
  private readonly ring: (Snapshot | null)[] = new Array<Snapshot | null>(SNAPSHOTS_KEPT).fill(null);

  get(sequence: number): Snapshot | null {
    const there = this.ring[sequence % SNAPSHOTS_KEPT] ?? null;
    return there?.sequence === sequence ? there : null;
  }

  /** Whether a snapshot of this number would drive out one that is not older. */
  isLate(sequence: number): boolean {
    const there = this.ring[sequence % SNAPSHOTS_KEPT];
    return there !== null && there.sequence >= sequence;
  }

  /** Remembers a snapshot, and gives back the one whose place it takes, to be used again. */
  keep(snapshot: Snapshot): Snapshot | null {
    const place = snapshot.sequence % SNAPSHOTS_KEPT;
    const former = this.ring[place];
    this.ring[place] = snapshot;
    return former;
  }
}
