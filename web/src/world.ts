/**
 * Everything the gateway has told us, and its picture: applies messages to replicas and views, keeps the extent, and
 * moves it all on once a frame. Draws nothing itself, so that it works without a graphics card.
 */

import {
  decode,
  type Inbound,
  parseText,
  Playhead,
  POSE_STRIDE,
  type Region,
  type RegionBox,
  Replicas,
  STATES_BEHIND_TICKS,
  type WorldMessage,
  type WorldStats,
} from "@nimbus/client";
import type { Box3 } from "three";
import { BodiesView } from "./bodies_view";
import { bodyBounds } from "./body_bounds";
import { focusOf, interestingExtent, width } from "./extent";
import { RegionsView } from "./regions_view";
import { Rolling } from "./rolling";
import { Seams } from "./seams";
import { SeamsView } from "./seams_view";
import { StaticsView } from "./statics_view";
import { Timeline } from "./timeline";

/** How often the extent is measured again, ms. */
const EXTENT_MS = 1000;
/** Boundaries are drawn anew when the extent grew or shrank by this factor. */
const EXTENT_RATIO = 1.3;

export class World {
  readonly bodies = new BodiesView();
  readonly statics = new StaticsView();
  readonly regionsView = new RegionsView();
  readonly seams = new Seams();
  readonly seamsView = new SeamsView();
  readonly replicas: Replicas;
  readonly playhead = new Playhead();
  readonly timeline = new Timeline();
  /** Milliseconds per frame spent on decoding and on writing instances. */
  readonly cost = new Rolling(240);
  era = -1;
  name = "";
  tickHz = 60;
  /** Bodies outside it die; null while it is not known. */
  killBox: RegionBox | null = null;
  stats: WorldStats | null = null;
  /** Messages that were not what they claimed to be. */
  dropped = 0;
  /** Messages of kinds that this viewer does not know. */
  skipped = 0;
  extent: Box3;
  /** What to look at first, and all of it: the bodies, or without any the extent. */
  focus: Box3;
  whole: Box3;
  /** Set when a world was loaded or what is worth looking at became quite another; the frame loop clears it. */
  extentChanged = true;
  /** Which server looks after which part of space. */
  regions: Region[] = [];
  /** What the world said of itself when it was loaded. */
  facts: WorldMessage | null = null;
  private labels = "";
  /** Of the timeline; 1 is real time. */
  private speed = 1;
  private decodeMs = 0;
  private extentAt = 0;
  private extentBodies = 0;

  constructor() {
    this.replicas = new Replicas({
      created: (slot) => this.bodies.created(this.replicas, slot),
      destroyed: (slot) => this.bodies.destroyed(slot),
      ownerChanged: (slot, from) => {
        this.bodies.ownerChanged(this.replicas, slot, performance.now());
        // The message names no tick, so it is the newest one that is known.
        this.timeline.handOver(this.tick(), from, this.replicas.region[slot], () => this.replicas.nid(slot) ?? "");
      },
    });
    this.extent = this.focus = this.whole = interestingExtent(new Float32Array(0), []);
  }

  /** Applies a binary message. Whatever is in it, nothing is thrown. */
  binary(message: ArrayBuffer): void {
    const start = performance.now();
    const before = this.replicas.latestTick;
    try {
      const verdict = decode(message, this.replicas, this.seams);
      if (verdict === "dropped") this.dropped++;
      else if (verdict === "skipped") this.skipped++;
    } catch (error) {
      this.dropped++;
      console.error("a message could not be applied", error);
    }
    if (this.replicas.latestTick !== before) this.playhead.arrived(this.replicas.latestTick, start);
    this.decodeMs += performance.now() - start;
  }

  /** Applies a text message as far as it concerns the world, and returns it for those who show the rest. */
  text(message: string): Inbound | null {
    const inbound = parseText(message);
    if (inbound === "dropped" || inbound === "skipped") {
      if (inbound === "dropped") this.dropped++;
      else this.skipped++;
      return null;
    }
    try {
      this.apply(inbound);
    } catch (error) {
      this.dropped++;
      console.error(`a ${inbound.type} message could not be applied`, error);
      return null;
    }
    return inbound;
  }

  /** The newest tick that states or stats named; -1 before the first. */
  tick(): number {
    return Math.max(this.replicas.latestTick, this.stats?.tick ?? -1);
  }

  /** Brings everything to the present moment. */
  frame(now: number): void {
    const start = performance.now();
    this.replicas.advance(this.playhead.advance(now));
    this.bodies.update(this.replicas, now);
    this.seamsView.update(this.seams, this.bodies, this.replicas, this.regionsView, now, this.tickHz);
    this.cost.push(this.decodeMs + performance.now() - start);
    this.decodeMs = 0;
    const firstBodies = this.extentBodies === 0 && this.replicas.count > 0;
    if (firstBodies || now - this.extentAt > EXTENT_MS) this.measure(now);
  }

  /** Measures what is worth looking at now, however little it changed. */
  measureNow(): void {
    const positions = this.positions();
    this.adopt(interestingExtent(positions, this.statics.bounds), positions);
    this.extentChanged = false;
  }

  /** What people call the server that looks after a region. */
  regionName(region: number): string {
    const node = this.stats?.nodes.find((candidate) => candidate.region === region && candidate.alive);
    return node ? `Server ${node.id}` : `Region ${region}`;
  }

  private apply(message: Inbound): void {
    switch (message.type) {
      case "world":
        this.era = message.era;
        this.facts = message;
        this.stats = null;
        this.name = message.name;
        this.replicas.clear();
        this.bodies.clearAll();
        this.seams.clear();
        this.tickHz = message.tick_hz > 0 ? message.tick_hz : 60;
        this.replicas.fall.gravity = message.gravity ?? [0, 0, 0];
        this.replicas.fall.tickSeconds = 1 / this.tickHz;
        this.killBox = message.kill_box ?? null;
        this.playhead.reset(this.tickHz * this.speed);
        this.timeline.reset(this.tickHz);
        this.regions = [];
        this.labels = "";
        this.statics.load(message.statics);
        this.extentBodies = 0;
        this.adopt(interestingExtent(this.positions(), this.statics.bounds), this.positions());
        break;
      case "clock":
        this.speed = message.speed * (message.dilation ?? 1);
        this.playhead.runAt(this.tickHz * this.speed, message.paused);
        break;
      case "statics":
        this.statics.change(message.added, message.removed);
        break;
      case "map":
        this.regions = message.regions.filter((region) => Array.isArray(region?.boxes));
        this.drawRegions();
        break;
      case "shape":
        this.bodies.announce(message.id, message.shape);
        break;
      case "stats":
        this.stats = message;
        this.replicas.heard(message.tick - STATES_BEHIND_TICKS);
        if (this.labelText() !== this.labels) this.drawRegions();
        break;
    }
  }

  private measure(now: number): void {
    this.extentAt = now;
    const positions = this.positions();
    const next = interestingExtent(positions, this.statics.bounds);
    const bounds = bodyBounds(positions, this.radii()) ?? next;
    const first = this.extentBodies === 0 && this.replicas.count > 0;
    this.extentBodies = this.replicas.count;
    if (first || isOther(next, this.extent) || isOther(bounds, this.whole)) this.adopt(next, positions);
  }

  private adopt(extent: Box3, positions: Float32Array): void {
    const radii = this.radii();
    this.extent = extent;
    this.whole = bodyBounds(positions, radii) ?? extent;
    this.focus = focusOf(positions, radii) ?? extent;
    this.extentChanged = true;
    this.drawRegions();
  }

  /** How far each body reaches, in the order of `positions`. */
  private radii(): Float32Array {
    const radii = new Float32Array(this.replicas.count);
    let at = 0;
    this.replicas.each((slot) => (radii[at++] = this.bodies.radiusOf(slot)));
    return radii;
  }

  private positions(): Float32Array {
    const positions = new Float32Array(this.replicas.count * 3);
    let at = 0;
    this.replicas.each((slot) => {
      const o = slot * POSE_STRIDE;
      positions[at++] = this.replicas.newest[o];
      positions[at++] = this.replicas.newest[o + 1];
      positions[at++] = this.replicas.newest[o + 2];
    });
    return positions;
  }

  private drawRegions(): void {
    this.labels = this.labelText();
    this.regionsView.show(this.regions, this.extent, (region) => this.regionName(region));
  }

  private labelText(): string {
    return this.regions.map((region) => this.regionName(region.id)).join(",");
  }
}

/** True when a box is so different from one before that it must be looked at anew. */
function isOther(next: Box3, before: Box3): boolean {
  const grown = (a: number, b: number): boolean => a > b * EXTENT_RATIO || b > a * EXTENT_RATIO;
  const height = (box: Box3): number => box.max.y - box.min.y;
  const drift = Math.hypot(next.min.x - before.min.x, next.min.z - before.min.z);
  return grown(width(next), width(before)) || grown(height(next), height(before)) || drift > width(before) * 0.3;
}
