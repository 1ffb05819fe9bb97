/**
 * What one client knows of a world over time, whichever gateway it hears it from: bodies and where to show them, what is
 * awaited, what happened. It has no socket and no clock; `now` is milliseconds from any fixed point.
 */

import { Choice } from "./choice.js";
import { Events } from "./events.js";
import { AskError, Pending } from "./pending.js";
import { PLAYBACK, type PlaybackOptions, Playhead } from "./playhead.js";
import {
  type Breach,
  type Command,
  decode,
  type Inbound,
  type OverlayName,
  parseText,
  type Quat,
  type Region,
  type RegionBox,
  type SceneInfo,
  type SeamSink,
  type Shape,
  type StaticBody,
  type Vec3,
  type WorldStats,
} from "./protocol.js";
import { POSE_STRIDE } from "./pose.js";
import { Replicas } from "./replicas.js";
import { Tickets } from "./tickets.js";

/** Figures may be of a tick whose states are still on their way, by so many ticks. */
export const STATES_BEHIND_TICKS = 10;

export interface SessionOptions {
  playback?: Partial<PlaybackOptions>;
  /** Events kept for whoever takes them; the oldest are dropped. */
  eventsMax?: number;
  /** Commands and questions that may wait for answers at once, and for how long, ms. */
  pendingMax?: number;
  patienceMs?: number;
}

/** A body and where to show it. */
export interface Placed {
  nid: string;
  slot: number;
  /** Number of its shape; see `Session.shapes`. */
  shape: number;
  /** The region that owns it. */
  region: number;
  isKinematic: boolean;
  isSensor: boolean;
  position: Vec3;
  rotation: Quat;
}

export class Session {
  readonly replicas: Replicas;
  readonly playhead: Playhead;
  readonly pending: Pending;
  readonly events: Events;
  readonly shapes = new Map<number, Shape>();
  statics: StaticBody[] = [];
  regions: Region[] = [];
  scenes: SceneInfo[] = [];
  stats: WorldStats | null = null;
  clock = { paused: false, speed: 1, dilation: 1 };
  /** Bodies outside it die; null while it is not known. */
  killBox: RegionBox | null = null;
  era = -1;
  world = "";
  tickHz = 60;
  role = "";
  /** What opens the door the next time, where the gateway asks for tokens. */
  readonly tickets = new Tickets();
  breaches: Breach[] = [];
  /** Takes auras, clusters and journeys, for whoever chose to be told of them. */
  seams: SeamSink | undefined;
  /** Messages that were not what they claimed to be, and of kinds that are not known here. */
  dropped = 0;
  skipped = 0;
  isLive = false;
  private overlays: OverlayName[] = [];
  /** Where it looks, once it has said so. */
  private readonly watch = new Choice();
  /** Whose touches it wants to hear of, once it has said so. */
  private readonly touches = new Choice();
  private sequence = 0;
  private readonly patienceMs: number;
  private readonly playback: PlaybackOptions;

  constructor(options: SessionOptions = {}) {
    this.playback = { ...PLAYBACK, ...options.playback };
    this.playhead = new Playhead(0.06, this.playback);
    this.pending = new Pending(options.pendingMax);
    this.events = new Events(options.eventsMax);
    this.patienceMs = options.patienceMs ?? 10_000;
    this.replicas = new Replicas({
      created: (slot) => this.events.push({ type: "born", nid: this.replicas.nid(slot) ?? "" }),
      destroyed: (slot, outOfSight) =>
        this.events.push({ type: outOfSight ? "out-of-sight" : "died", nid: this.replicas.nid(slot) ?? "" }),
      ownerChanged: (slot, from) => {
        const to = this.replicas.region[slot];
        this.events.push({ type: "handed-over", nid: this.replicas.nid(slot) ?? "", from, to });
      },
    });
  }

  /** A text message came from the gateway. Returns it, or null when it was none. */
  handleText(text: string, now: number): Inbound | null {
    this.pending.expire(now);
    const message = parseText(text);
    if (message === "dropped" || message === "skipped") {
      this[message]++;
      return null;
    }
    this.take(message);
    return message;
  }

  /** A binary message came from the gateway. Whatever is in it, nothing is thrown. */
  handleBinary(message: ArrayBuffer, now: number): void {
    const before = this.replicas.latestTick;
    const verdict = decode(message, this.replicas, this.seams);
    if (verdict !== "applied") this[verdict]++;
    if (this.replicas.latestTick !== before) this.playhead.arrived(this.replicas.latestTick, now);
  }

  /** The connection ended. What waits for an answer is lost; bodies are kept as they were seen last. */
  lost(reason: string): void {
    this.isLive = false;
    this.pending.lose(`the connection was lost${reason ? `: ${reason}` : ""}`);
    this.events.push({ type: "lost", reason });
  }

  /** The connection ended, and there will be no other. */
  closed(reason: string): void {
    this.isLive = false;
    this.pending.lose("the connection is closed");
    this.events.push({ type: "closed", reason });
  }

  /**
   * Makes the text of a command and waits for its answer from now on. Where it looks and whose touches it hears of is remembered
   * for the next gateway also when this throws.
   */
  ask(command: Command, now: number): { text: string; answer: Promise<unknown> } {
    if (command.type === "watch") this.watch.say(command);
    if (command.type === "touches") this.touches.say(command.of.length > 0 ? command : null);
    if (!this.isLive) throw new AskError("lost", "there is no connection to a gateway");
    if (this.pending.isFull()) throw new AskError("too-many", "too many commands wait for their answers");
    const seq = ++this.sequence;
    return { text: JSON.stringify({ ...command, seq }), answer: this.pending.wait(seq, command, now + this.patienceMs) };
  }

  /** Remembers what to be told on top of the bodies, for this gateway and those that follow. */
  subscribe(overlays: OverlayName[]): void {
    this.overlays = [...overlays];
  }

  /**
   * The commands that choose what to be told on top of the bodies, and of which bodies and touches. To be asked whenever
   * another gateway has let us in.
   */
  subscription(): Command[] {
    const overlays: Command[] = this.overlays.length > 0 ? [{ type: "overlays", on: this.overlays }] : [];
    return [...overlays, ...this.watch.commands(), ...this.touches.commands()];
  }

  /** True when another gateway need not tell of bodies before it is asked for a view, because it will be asked for a good one. */
  get isWatching(): boolean {
    return this.watch.granted !== null;
  }

  /** Moves what is shown on to this moment. */
  advance(now: number): void {
    this.pending.expire(now);
    this.replicas.extrapolationTicks = this.playback.extrapolationMs * this.playhead.pace();
    this.replicas.advance(this.playhead.advance(now));
  }

  /** Every body, in order of slot, and where to show it at this moment. */
  *posesAt(now: number): Generator<Placed> {
    this.advance(now);
    const { replicas } = this;
    const pose = new Float32Array(POSE_STRIDE);
    const slots: number[] = [];
    replicas.each((slot) => slots.push(slot));
    for (const slot of slots) {
      if (replicas.has(slot)) yield this.placed(slot, pose);
    }
  }

  /** One body and where to show it at this moment, or null. */
  poseAt(nid: string, now: number): Placed | null {
    this.advance(now);
    const slot = this.replicas.slotOf(nid);
    return slot < 0 ? null : this.placed(slot, new Float32Array(POSE_STRIDE));
  }

  private placed(slot: number, pose: Float32Array): Placed {
    const { replicas } = this;
    replicas.shown(slot, pose);
    return {
      nid: replicas.nid(slot) ?? "",
      slot,
      shape: replicas.shape[slot],
      region: replicas.region[slot],
      isKinematic: replicas.kind[slot] === 1,
      isSensor: (replicas.flags[slot] & 1) !== 0,
      position: [pose[0], pose[1], pose[2]],
      rotation: [pose[4], pose[5], pose[6], pose[7]],
    };
  }

  private take(message: Inbound): void {
    switch (message.type) {
      case "welcome":
        this.isLive = true;
        // Whatever was said before, this gateway has not been told of a view.
        this.replicas.isSparse = false;
        this.role = message.role ?? "";
        this.scenes = message.scenes;
        this.events.push({ type: "connected", client: message.client, role: this.role });
        break;
      case "ticket":
        this.tickets.add(message.token);
        break;
      case "world":
        this.era = message.era;
        this.world = message.name;
        this.tickHz = message.tick_hz > 0 ? message.tick_hz : 60;
        this.statics = message.statics;
        this.killBox = message.kill_box ?? null;
        this.stats = null;
        this.breaches = [];
        this.shapes.clear();
        this.replicas.clear();
        this.replicas.fall.gravity = message.gravity ?? [0, 0, 0];
        this.replicas.fall.tickSeconds = 1 / this.tickHz;
        this.playhead.reset(this.tickHz * this.clock.speed * this.clock.dilation);
        this.events.push({ type: "loaded", era: message.era, name: message.name });
        break;
      case "statics":
        this.statics = this.statics.filter(({ nid = "" }) => !message.removed.includes(nid)).concat(message.added);
        break;
      case "map":
        this.regions = message.regions.filter((region) => Array.isArray(region?.boxes));
        break;
      case "shape":
        this.shapes.set(message.id, message.shape);
        break;
      case "clock": {
        const { paused, speed, dilation = 1 } = message;
        const known = this.clock;
        if (paused === known.paused && speed === known.speed && dilation === known.dilation) break;
        this.clock = { paused, speed, dilation };
        this.playhead.runAt(this.tickHz * speed * dilation, paused);
        this.events.push({ type: "clock", paused, speed, dilation });
        break;
      }
      case "stats":
        this.stats = message;
        this.replicas.heard(message.tick - STATES_BEHIND_TICKS);
        break;
      case "breaches": {
        const known = new Set(this.breaches.map((breach) => JSON.stringify(breach)));
        this.breaches = message.recent;
        for (const breach of message.recent) {
          if (!known.has(JSON.stringify(breach))) this.events.push({ type: "breach", breach });
        }
        break;
      }
      case "touches":
        for (const touch of message.touches) this.events.push({ type: "touched", ...touch });
        if (message.left_out > 0) this.events.push({ type: "touches-left-out", count: message.left_out });
        break;
      case "body":
      case "hits":
        this.pending.answer(message.seq, message);
        break;
      case "done":
        this.answered(this.pending.answer(message.seq, message.nid ?? null), true);
        break;
      case "refused":
        this.answered(this.pending.refuse(message.seq, message.reason), false);
        break;
    }
  }

  private answered(command: Command | null, isGranted: boolean): void {
    if (command?.type === "touches") this.touches.answered(command, isGranted);
    if (command?.type !== "watch") return;
    this.watch.answered(command, isGranted);
    // The gateway says so before it leaves anything out.
    if (isGranted) this.replicas.isSparse = true;
  }
}
