/**
 * The client protocol of docs/protocol.md: what the text messages look like, and how binary ones become typed views.
 *
 * Decoding copies nothing. The views lie on the message's own buffer and are valid while the sink is being called.
 * Every browser we know runs on little-endian machines, which is also the order on the wire.
 */

/** The version spoken here. */
export const PROTOCOL_VERSION = 1;

/** Slots are below this; a greater one is a broken message. */
export const SLOT_LIMIT = 1 << 20;

export type Vec3 = [number, number, number];
export type Quat = [number, number, number, number];

export type Shape =
  | { ball: { radius: number } }
  | { cuboid: { half: Vec3 } }
  | { capsule: { half_height: number; radius: number } }
  | { cylinder: { half_height: number; radius: number } }
  | { cone: { half_height: number; radius: number } }
  | { "convex-hull": { points: Vec3[] } }
  | { compound: { parts: [{ position: Vec3; rotation: Quat }, Shape][] } }
  | { "tri-mesh": { vertices: Vec3[]; triangles: Vec3[] } }
  | { "height-field": { rows: number; columns: number; heights: number[]; scale: Vec3 } };

export interface StaticBody {
  /** Servers of an older release do not say. */
  nid?: string;
  shape: Shape;
  position: Vec3;
  rotation: Quat;
}

/** A bound is null where the box has no end. */
export interface RegionBox {
  min: (number | null)[];
  max: (number | null)[];
}

/** What the servers promise. */
export interface Tolerances {
  /** Metres a second. */
  speed: number;
  latency_ms: number;
  frame_ms: number;
}

export interface Region {
  id: number;
  boxes: RegionBox[];
}

export interface NodeStats {
  id: number;
  region: number | null;
  bodies: number;
  awake: number;
  step_ms_p50: number;
  step_ms_p99: number;
  migrations: number;
  auras: number;
  ghosts: number;
  breaches: number;
  late_ticks: number;
  /** How far it is from the common time. */
  skew_ms?: number;
  /** Which life of its region it is. */
  epoch: number;
  alive: boolean;
  /** True while a client may kill it; servers of an older release do not say. */
  killable?: boolean;
}

export interface WorldStats {
  tick: number;
  bodies: number;
  clients: number;
  scene: string;
  era: number;
  paused: boolean;
  speed: number;
  nodes: NodeStats[];
}

/** What a client may ask to see on top of the bodies. */
export type OverlayName = "auras" | "clusters" | "in-transit" | "breaches";

/** A promise that did not hold. */
export interface Breach {
  tick: number;
  region: number;
  factor: string;
  value: number;
  limit: number;
  /** The first few concerned; none when it concerns the whole server. */
  bodies: string[];
}

export interface HandOver {
  tick: number;
  from: number;
  to: number;
  epoch: number;
}

/** All that is known of one body. */
export interface BodyCard {
  nid: string;
  region: number;
  epoch: number;
  tick: number;
  sleeping: boolean;
  velocity: { linear: Vec3; angular: Vec3 };
  desc: { kind: string; shape: Shape; density: number };
  /** How often it changed hands; `history` has the latest of these, oldest first. */
  hand_overs: number;
  history: HandOver[];
}

export interface SceneInfo {
  name: string;
  about: string;
}

/** One question. A direction may have any length but zero; `max` is in metres. */
export type Query =
  | { ray: { origin: Vec3; direction: Vec3; max: number } }
  | { cast: { shape: Shape; position: Vec3; rotation?: Quat; direction: Vec3; max: number } }
  | { overlap: { shape: Shape; position: Vec3; rotation?: Quat } }
  | { nearest: { position: Vec3; max: number } };

/** Which bodies count for a question; what is left out is as docs/protocol.md says. */
export interface QueryFilter {
  statics?: boolean;
  bodies?: boolean;
  sensors?: boolean;
  groups?: { memberships: number; filter: number };
  except?: string;
}

/** Where a ray or a moving shape first meets a body. */
export interface Hit {
  nid: string;
  distance: number;
  point: Vec3;
  normal: Vec3;
}

export interface NearestBody {
  nid: string;
  distance: number;
  point: Vec3;
}

/** `bodies` has those of the lowest ids; `total` is how many there are. */
export interface Overlapping {
  bodies: string[];
  total: number;
}

/** The answer to one question, under the same name; null when nothing was met. */
export type QueryAnswer =
  | { ray: Hit | null }
  | { cast: Hit | null }
  | { overlap: Overlapping }
  | { nearest: NearestBody | null };

/** The answers to a `query`, all for the same places: those of `tick`, which is `age` ticks ago. */
export interface Hits {
  tick: number;
  age: number;
  answers: QueryAnswer[];
}

export interface WorldMessage {
  type: "world";
  era: number;
  name: string;
  about: string;
  tick_hz: number;
  kill_box?: RegionBox;
  gravity?: Vec3;
  tolerances?: Tolerances;
  radius_max?: number;
  statics: StaticBody[];
}

export type Inbound =
  | { type: "welcome"; protocol: number; client: number; role?: string; scenes: SceneInfo[] }
  | { type: "ticket"; token: string }
  | { type: "gateways"; at: string[] }
  | WorldMessage
  | { type: "statics"; added: StaticBody[]; removed: string[] }
  | { type: "map"; epoch: number; regions: Region[] }
  | { type: "shape"; id: number; shape: Shape }
  /** `dilation` is the share of `speed` at which time passes while a region cannot keep up; 1 when it is left out. */
  | { type: "clock"; paused: boolean; speed: number; dilation?: number }
  | ({ type: "stats" } & WorldStats)
  | ({ type: "body"; seq?: number | null } & BodyCard)
  | ({ type: "hits"; seq?: number | null } & Hits)
  | { type: "breaches"; total: number; recent: Breach[] }
  | { type: "touches"; touches: Touch[]; left_out: number }
  | { type: "done"; seq?: number | null; nid?: string | null }
  | { type: "refused"; seq?: number | null; reason: string };

/** Two bodies began or ceased to touch. `one` is the lower id; one of the two may be a static. */
export interface Touch {
  tick: number;
  one: string;
  two: string;
  began: boolean;
}

/** Whose touches to be told of: everybody's, or those of at most 64 bodies. */
export type TouchesOf = "everything" | string[];

export type Anchor = { position: Vec3; rotation: Quat };

/** `kind` as in world files: "fixed", "spherical", or an object such as { rope: { length: 2 } }. */
export type Joint = { kind: string | Record<string, unknown>; anchor_a: Anchor; anchor_b: Anchor; contacts: boolean };

/** A body that is asked for. */
export interface Spawn {
  /** Dynamic unless said otherwise. */
  kind?: "dynamic" | "kinematic";
  shape: Shape;
  position: Vec3;
  velocity: Vec3;
  rotation?: Quat;
  density?: number;
  restitution?: number;
  friction?: number;
}

/** A view with what it may cost; what is left out is as docs/protocol.md says. */
export interface Watch {
  /** Where the eye is, metres. */
  eye: Vec3;
  /** Where it looks; all around when nothing is said. */
  toward?: Vec3;
  /** Width of the field of view, degrees, for an eye that looks somewhere. */
  field?: number;
  /** How far it sees, metres. */
  range: number;
  /** What the client is sent at the most, kbit/s on average. */
  kbit?: number;
  /** How often it is sent something, a second. */
  hz?: number;
  /** Bodies come as a compressed stream instead of plain states. */
  packed?: boolean;
}

export type Command =
  | ({ type: "spawn" } & Spawn)
  | { type: "impulse"; nid: string; impulse: Vec3 }
  | { type: "despawn"; nid: string }
  | { type: "join"; one: string; two: string; joint: Joint }
  | { type: "reset" }
  | { type: "scene"; name: string }
  | { type: "pause"; paused: boolean }
  | { type: "step"; ticks: number }
  | { type: "speed"; factor: number }
  | { type: "overlays"; on: OverlayName[] }
  | { type: "inspect"; nid: string }
  | { type: "kill"; server: number }
  | { type: "query"; queries: Query[]; filter?: QueryFilter }
  | { type: "velocity"; nid: string; linear?: Vec3; angular?: Vec3 }
  | { type: "target"; nid: string; position: Vec3; rotation?: Quat; ticks: number }
  | { type: "static"; shape: Shape; position: Vec3; rotation?: Quat; friction?: number; restitution?: number }
  | { type: "regions"; boxes: DrawnBox[]; rest: number }
  | { type: "touches"; of: TouchesOf }
  | ({ type: "watch" } & Watch);

/** A box that a person gives to a region. */
export type DrawnBox = RegionBox & { region: number };

const REQUIRED: Record<string, (message: Record<string, unknown>) => boolean> = {
  welcome: (m) => Array.isArray(m.scenes),
  ticket: (m) => typeof m.token === "string",
  gateways: (m) => Array.isArray(m.at) && m.at.every((place) => typeof place === "string"),
  world: (m) => typeof m.era === "number" && Array.isArray(m.statics),
  map: (m) => Array.isArray(m.regions),
  shape: (m) => typeof m.id === "number" && typeof m.shape === "object" && m.shape !== null,
  clock: (m) => typeof m.paused === "boolean",
  stats: (m) => typeof m.tick === "number" && Array.isArray(m.nodes),
  body: (m) => typeof m.nid === "string" && Array.isArray(m.history) && typeof m.desc === "object" && m.desc !== null,
  hits: (m) => typeof m.tick === "number" && Array.isArray(m.answers),
  breaches: (m) => Array.isArray(m.recent),
  touches: (m) => Array.isArray(m.touches) && typeof m.left_out === "number",
  statics: (m) => Array.isArray(m.added) && Array.isArray(m.removed),
  done: () => true,
  refused: () => true,
};

/** A text message, "skipped" for a type we do not know, or "dropped" for what is not a message at all. */
export function parseText(text: string): Inbound | "skipped" | "dropped" {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "dropped";
  }
  if (typeof value !== "object" || value === null) return "dropped";
  const message = value as Record<string, unknown>;
  if (typeof message.type !== "string") return "dropped";
  if (!Object.hasOwn(REQUIRED, message.type)) return "skipped";
  return REQUIRED[message.type](message) ? (message as Inbound) : "dropped";
}

/** Words of one `create` record. */
export const CREATE_WORDS = 12;

/** Where the fields of a `create` record are, in words from its start. */
export const CREATE = { slot: 0, nidLow: 1, nidHigh: 2, shape: 3, packed: 4, position: 5, rotation: 8 } as const;

/** Receives what a binary message says. Views are only valid during the call. */
export interface BodySink {
  /** `words` and `floats` see the same records of `CREATE_WORDS` words each. */
  create(count: number, words: Uint32Array, floats: Float32Array): void;
  destroy(slots: Uint32Array): void;
  /** Two words a record: slot, then the region in the lower half. */
  owner(count: number, words: Uint32Array): void;
  state(tick: number, slots: Uint32Array, positions: Float32Array, rotations: Int16Array): void;
  /** Bodies that live on where this client does not look. */
  leave(slots: Uint32Array): void;
  /** A packet of a compressed stream; false when it is none. */
  packed(tick: number, packet: Uint8Array): boolean;
}

/** Receives what a binary message says of the seams. Records are two words; every message is a whole picture. */
export interface SeamSink {
  /** Slot, then the reach beyond the body's radius as a float. */
  auras(count: number, words: Uint32Array, floats: Float32Array): void;
  /** Slot, then the number of its cluster; members of one follow each other. */
  clusterMembers(count: number, words: Uint32Array): void;
  /** Slot, then the region it goes to. */
  inTransit(count: number, words: Uint32Array): void;
}

export type Verdict = "applied" | "skipped" | "dropped";

/** Hands a binary message to the sink. A message whose length does not fit its count is dropped whole. */
export function decode(buffer: ArrayBuffer, sink: BodySink, seams?: SeamSink): Verdict {
  const length = buffer.byteLength;
  if (length < 8 || (length & 3) !== 0) return "dropped";
  const head = new Uint32Array(buffer, 0, 2);
  const count = head[1];
  switch (head[0]) {
    case 1: {
      if (length !== 8 + count * 48) return "dropped";
      sink.create(count, new Uint32Array(buffer, 8), new Float32Array(buffer, 8));
      return "applied";
    }
    case 2: {
      if (length !== 8 + count * 4) return "dropped";
      sink.destroy(new Uint32Array(buffer, 8));
      return "applied";
    }
    case 3: {
      if (length !== 8 + count * 8) return "dropped";
      sink.owner(count, new Uint32Array(buffer, 8));
      return "applied";
    }
    case 4: {
      if (length !== 16 + count * 24) return "dropped";
      sink.state(
        tickOf(buffer),
        new Uint32Array(buffer, 16, count),
        new Float32Array(buffer, 16 + count * 4, count * 3),
        new Int16Array(buffer, 16 + count * 16, count * 4),
      );
      return "applied";
    }
    case 5:
    case 6:
    case 7: {
      if (!seams) return "skipped";
      if (length !== 8 + count * 8) return "dropped";
      const words = new Uint32Array(buffer, 8);
      if (head[0] === 5) seams.auras(count, words, new Float32Array(buffer, 8));
      else if (head[0] === 6) seams.clusterMembers(count, words);
      else seams.inTransit(count, words);
      return "applied";
    }
    case 8: {
      if (length !== 8 + count * 4) return "dropped";
      sink.leave(new Uint32Array(buffer, 8));
      return "applied";
    }
    case 9:
      // Filled up to a whole word.
      if (length !== 16 + Math.ceil(count / 4) * 4) return "dropped";
      return sink.packed(tickOf(buffer), new Uint8Array(buffer, 16, count)) ? "applied" : "dropped";
    default:
      return "skipped";
  }
}

/** The tick of a message that has one. */
function tickOf(buffer: ArrayBuffer): number {
  const words = new Uint32Array(buffer, 8, 2);
  return words[0] + words[1] * 4294967296;
}

/** A body id as people write it: origin, dot, serial. */
export function nidText(low: number, high: number): string {
  return `${high >>> 16}.${(high & 0xffff) * 4294967296 + low}`;
}
