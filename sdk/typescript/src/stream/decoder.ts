/**
 * The receiving end of a compressed stream of bodies, as docs/protocol.md describes it: every packet is a whole snapshot and
 * names the earlier one that it goes on from. The same as `decoder.rs` with everything on and as exact as by default.
 */

import { SLOT_LIMIT } from "../protocol.js";
import { BodyReader, PART_M } from "./body.js";
import { COUNT, freshModel, GAP, readNumber } from "./model.js";
import { RangeReader } from "./range_reader.js";
import { History, Snapshot, SNAPSHOTS_KEPT, STREAM_BODIES_MAX } from "./snapshot.js";

/** Sequence number and age of the snapshot that a packet goes on from. */
const HEAD_BYTES = 5;
/** Mark of a packet that has the snapshot before as well, in the byte of that age. */
const REPEATS = 0x80;

/** Why a packet was not decoded. The stream goes on with the next one. */
export class StreamDecodeError extends Error {
  constructor(
    /**
     * `length`: it is longer or shorter than what is in it; `late`: the snapshot is not new; `base`: it goes on from one that is
     * not known; `value`: it has a number, a slot or a place that cannot be.
     */
    readonly kind: "length" | "late" | "base" | "value",
    reason: string,
  ) {
    super(reason);
    this.name = "StreamDecodeError";
  }
}

/** One snapshot, in columns, valid until the next call: all bodies there are, in order of slot. */
export interface Decoded {
  /** Its number; to be acknowledged where packets may get lost. */
  sequence: number;
  slots: Uint32Array;
  /** 1 for a body at rest until told otherwise. */
  atRest: Uint8Array;
  /** Three to a body, metres. */
  positions: Float32Array;
  /** Four to a body. */
  rotations: Float32Array;
}

/** Decodes one stream. */
export class StreamDecoder {
  private readonly known = new History();
  /** Snapshots whose own packets did not arrive, as the packets after them have them. */
  private readonly repeated = new History();
  private readonly nothing = freshModel();
  private spare: Snapshot | null = null;
  private positions = new Float32Array(0);

  /**
   * Decodes a packet or throws a `StreamDecodeError`. Whatever the bytes are, it takes no more memory than a snapshot of
   * `STREAM_BODIES_MAX` bodies does, and an error leaves everything as it was.
   */
  decode(packet: Uint8Array): Decoded {
    if (packet.length < HEAD_BYTES) throw tooShort();
    const sequence = (packet[0] | (packet[1] << 8) | (packet[2] << 16) | (packet[3] << 24)) >>> 0;
    if (this.known.isLate(sequence)) throw new StreamDecodeError("late", "the snapshot is not new");
    const ticks = packet[4] & ~REPEATS;
    const repeats = (packet[4] & REPEATS) !== 0;
    const base = this.baseOf(sequence, ticks, repeats);
    const reader = new RangeReader(packet.subarray(HEAD_BYTES));
    const now = this.spare ?? new Snapshot();
    now.sequence = sequence;
    now.model.set(base?.model ?? this.nothing);
    this.spare = now;
    let again: Snapshot | null = null;
    if (repeats) {
      again = new Snapshot();
      again.sequence = sequence - 1;
      again.model.set(now.model);
      read(reader, again, base, ticks - 1);
      now.model.set(again.model);
      read(reader, now, again, 1);
    } else {
      read(reader, now, base, ticks);
    }
    if (!reader.isComplete()) throw tooShort();
    this.spare = this.known.keep(now);
    if (again !== null && this.known.get(again.sequence) === null) this.spare = this.repeated.keep(again) ?? this.spare;
    return this.shown(now);
  }

  /** A snapshot that arrived earlier, by itself or with the one after it, as long as it is remembered. */
  snapshot(sequence: number): Decoded | null {
    const found = this.known.get(sequence) ?? this.repeated.get(sequence);
    return found && this.shown(found);
  }

  private baseOf(sequence: number, ticks: number, repeats: boolean): Snapshot | null {
    if (ticks === 0 && !repeats) return null;
    const sound = ticks > (repeats ? 1 : 0) && ticks < SNAPSHOTS_KEPT && ticks <= sequence;
    const base = sound ? this.known.get(sequence - ticks) : null;
    if (base === null) throw new StreamDecodeError("base", "the packet goes on from a snapshot that is not known");
    return base;
  }

  private shown({ sequence, count, slots, atRest, position, rotation }: Snapshot): Decoded {
    if (this.positions.length < count * 3) this.positions = new Float32Array(slots.length * 3);
    for (let i = 0; i < count * 3; i++) this.positions[i] = position[i] * PART_M;
    return {
      sequence,
      slots: slots.subarray(0, count),
      atRest: atRest.subarray(0, count),
      positions: this.positions.subarray(0, count * 3),
      rotations: rotation.subarray(0, count * 4),
    };
  }
}

/** Reads the bodies of a snapshot that is `ticks` younger than the one it goes on from. */
function read(reader: RangeReader, now: Snapshot, base: Snapshot | null, ticks: number): void {
  const known = base?.count ?? 0;
  const count = known + readNumber(reader, now.model, COUNT, 0);
  if (count < 0 || count > STREAM_BODIES_MAX) throw impossible("number of bodies");
  now.restart(count);
  const bodies = new BodyReader(reader, now, base, ticks);
  let [before, slot] = [0, -1];
  for (let i = 0; i < count; i++) {
    const gap = readNumber(reader, now.model, GAP, 0);
    slot += 1 + gap;
    if (gap < 0 || slot >= SLOT_LIMIT) throw impossible("slot");
    while (base !== null && before < known && base.slots[before] < slot) before++;
    const isKnown = base !== null && before < known && base.slots[before] === slot;
    if (!bodies.read(slot, isKnown ? before : -1)) throw impossible("place");
    if (reader.isOverrun()) throw tooShort();
  }
}

function tooShort(): StreamDecodeError {
  return new StreamDecodeError("length", "the packet is longer or shorter than what is in it");
}

function impossible(what: string): StreamDecodeError {
  return new StreamDecodeError("value", `the packet has a ${what} that cannot be`);
}
