/** `window.nimbus`: what browser tests, benchmarks and curious people may look at. */

import type { Command, Link, Region, RegionBox, WorldStats } from "@nimbus/client";
import type { CameraRig } from "./camera";
import type { ProbeResult } from "./probe";
import type { World } from "./world";

/** Answers kept for those who ask later. */
const DONE_KEPT = 256;

export interface Hooks {
  /** Bodies known. */
  bodies(): number;
  /** The newest tick known. */
  tick(): number;
  /** The tick being drawn, with a fraction. */
  head(): number;
  era(): number;
  frames(): number;
  /** Slots in use, in order. */
  slots(): number[];
  /** The newest place of the body in a slot, or null. */
  positions(slot: number): [number, number, number] | null;
  /** Where the body in a slot is in the view, as shares of its width and height from the upper left. */
  screen(slot: number): [number, number] | null;
  region(slot: number): number | null;
  nid(slot: number): string | null;
  slotOf(nid: string): number;
  /** Where a place of the world is in the view, as shares of its width and height from the upper left. */
  screenOf(place: [number, number, number]): [number, number];
  /** How many statics there are, and whether one of this id is among them. */
  statics(): number;
  hasStatic(nid: string): boolean;
  /** Which server looks after which part of space. */
  regions(): Region[];
  /** The region whose box holds a place. */
  regionAt(place: [number, number, number]): number | null;
  /** The tool in hand, or null. */
  readonly tool: string | null;
  /** The gateway that is used. */
  readonly gateway: string;
  /** What the last ray met. */
  readonly probed: ProbeResult | null;
  /** Picks the body in a slot, as a click on it does. */
  pick(slot: number): void;
  /** The id of the body that the camera follows, or null. */
  readonly followed: string | null;
  /** What the time-line holds. */
  readonly timeline: { handOvers: number; breaches: number };
  /** What is known of the seams. */
  readonly seams: { auras: number; clusters: number; inTransit: number; breaches: number };
  /** Sends any command; returns its number, or -1 when not connected. */
  send(command: Command): number;
  /** The body a command made, null when it made none, undefined when it is not (yet) done. */
  answer(seq: number): string | null | undefined;
  readonly stats: WorldStats | null;
  readonly paused: boolean;
  readonly speed: number;
  readonly connectionState: string;
  /** Milliseconds a frame for decoding and instance update, over the last 240 frames. */
  readonly decodeMs: { mean: number; max: number };
  /** Messages and records that made no sense. */
  readonly dropped: number;
  readonly ignored: number;
  readonly camera: { position: number[]; direction: number[] };
  lastRefusal: { seq: number | null; reason: string } | null;
  lastDone: { seq: number | null; nid: string | null } | null;
  sceneName: string;
  done(seq: number | null, nid: string | null): void;
}

declare global {
  interface Window {
    nimbus: Hooks;
  }
}

export function installHooks(
  world: World,
  connection: Link,
  rig: CameraRig,
  clock: { paused: boolean; speed: number },
  frames: () => number,
  send: (command: Command) => number,
  pick: (slot: number) => void,
  followed: () => string | null,
  hands: { tool(): string | null; gateway(): string; probed(): ProbeResult | null },
): Hooks {
  const answers = new Map<number, string | null>();
  const hooks: Hooks = {
    bodies: () => world.replicas.count,
    tick: () => world.tick(),
    head: () => world.replicas.head,
    era: () => world.era,
    frames,
    slots: () => {
      const slots: number[] = [];
      world.replicas.each((slot) => slots.push(slot));
      return slots;
    },
    positions: (slot) => world.replicas.position(slot),
    screen: (slot) => {
      const place = world.replicas.position(slot);
      if (!place) return null;
      const [x, y] = rig.project(place);
      return [(x + 1) / 2, (1 - y) / 2];
    },
    screenOf: (place) => {
      const [x, y] = rig.project(place);
      return [(x + 1) / 2, (1 - y) / 2];
    },
    statics: () => world.statics.count,
    hasStatic: (nid) => world.statics.find(nid) !== undefined,
    regions: () => world.regions,
    regionAt: (place) => {
      const holds = ({ min, max }: RegionBox): boolean =>
        place.every((value, axis) => value >= (min[axis] ?? -Infinity) && value < (max[axis] ?? Infinity));
      return world.regions.find(({ boxes }) => boxes.some(holds))?.id ?? null;
    },
    get tool() {
      return hands.tool();
    },
    get gateway() {
      return hands.gateway();
    },
    get probed() {
      return hands.probed();
    },
    region: (slot) => (world.replicas.has(slot) ? world.replicas.region[slot] : null),
    nid: (slot) => world.replicas.nid(slot),
    slotOf: (nid) => world.replicas.slotOf(nid),
    pick,
    get followed() {
      return followed();
    },
    get timeline() {
      return world.timeline.totals(world.tick());
    },
    get seams() {
      const { auraCount, clusters, transits, breaches } = world.seams;
      return { auras: auraCount, clusters: clusters.length, inTransit: transits.size, breaches: breaches.length };
    },
    send,
    answer: (seq) => answers.get(seq),
    get stats() {
      return world.stats;
    },
    get paused() {
      return clock.paused;
    },
    get speed() {
      return clock.speed;
    },
    get connectionState() {
      return connection.state.kind;
    },
    get decodeMs() {
      return { mean: world.cost.mean(), max: world.cost.max() };
    },
    get dropped() {
      return world.dropped;
    },
    get ignored() {
      return world.replicas.ignored;
    },
    get camera() {
      return { position: rig.camera.position.toArray(), direction: rig.direction().toArray() };
    },
    lastRefusal: null,
    lastDone: null,
    sceneName: "",
    done: (seq, nid) => {
      hooks.lastDone = { seq, nid };
      if (seq === null) return;
      answers.set(seq, nid);
      if (answers.size > DONE_KEPT) answers.delete(answers.keys().next().value as number);
    },
  };
  window.nimbus = hooks;
  return hooks;
}
