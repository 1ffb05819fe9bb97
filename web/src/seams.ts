/**
 * What the gateway told of the seams between servers: auras, clusters, bodies in transit, breaches. Each message is a
 * whole picture that replaces the one before, except that a body in transit stays marked for a moment: most journeys
 * are shorter than an eye can see.
 */

import { type Breach, type OverlayName, SLOT_LIMIT, type SeamSink } from "@nimbus/client";
import { BreachTally } from "./breach_tally";

/** How long a body counts as in transit after it was last named, ms. */
export const TRANSIT_SHOWN_MS = 700;

export interface Transit {
  /** The region it goes to. */
  to: number;
  /** When it was first and last named, ms. */
  since: number;
  seen: number;
}

export class Seams implements SeamSink {
  auraCount = 0;
  auraSlots = new Uint32Array(0);
  auraReach = new Float32Array(0);
  /** Slots of the members, cluster by cluster. */
  clusters: Uint32Array[] = [];
  /** Set when clusters were told anew; whoever draws them clears it. */
  clustersChanged = false;
  readonly transits = new Map<number, Transit>();
  breaches: Breach[] = [];
  readonly breachTally = new BreachTally();

  private on: ReadonlySet<string> = new Set<OverlayName>(["auras", "clusters", "in-transit", "breaches"]);

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** What is wanted from now on. The rest is forgotten, and pictures of it that are still on their way are ignored. */
  choose(on: ReadonlySet<string>): void {
    this.on = new Set(on);
    if (!on.has("auras")) this.auraCount = 0;
    if (!on.has("clusters")) this.forgetClusters();
    if (!on.has("in-transit")) this.transits.clear();
  }

  clear(): void {
    this.auraCount = 0;
    this.forgetClusters();
    this.transits.clear();
    this.breaches = [];
    this.breachTally.restart();
  }

  auras(count: number, words: Uint32Array, floats: Float32Array): void {
    if (!this.on.has("auras")) return;
    if (this.auraSlots.length < count) {
      this.auraSlots = new Uint32Array(count * 2);
      this.auraReach = new Float32Array(count * 2);
    }
    let kept = 0;
    for (let i = 0; i < count; i++) {
      const reach = floats[i * 2 + 1];
      if (words[i * 2] >= SLOT_LIMIT || !(reach >= 0 && reach < 1e6)) continue;
      this.auraSlots[kept] = words[i * 2];
      this.auraReach[kept++] = reach;
    }
    this.auraCount = kept;
  }

  /** Members of one cluster follow each other. */
  clusterMembers(count: number, words: Uint32Array): void {
    if (!this.on.has("clusters")) return;
    this.clusters = [];
    for (let start = 0, i = 1; i <= count; i++) {
      if (i < count && words[i * 2 + 1] === words[start * 2 + 1]) continue;
      const members = new Uint32Array(i - start);
      for (let k = 0; k < members.length; k++) members[k] = words[(start + k) * 2];
      if (members.length > 1) this.clusters.push(members);
      start = i;
    }
    this.clustersChanged = true;
  }

  inTransit(count: number, words: Uint32Array): void {
    if (!this.on.has("in-transit")) return;
    const now = this.now();
    this.sweep(now);
    for (let i = 0; i < count; i++) {
      const to = words[i * 2 + 1] & 0xffff;
      const known = this.transits.get(words[i * 2]);
      if (known && known.to === to) known.seen = now;
      else this.transits.set(words[i * 2], { to, since: now, seen: now });
    }
  }

  /** Forgets journeys that ended a while ago. */
  sweep(now: number): void {
    for (const [slot, transit] of this.transits) if (now - transit.seen > TRANSIT_SHOWN_MS) this.transits.delete(slot);
  }

  /** Takes the breaches there are, counts them, and returns those that are new. */
  takeBreaches(total: number, recent: Breach[]): Breach[] {
    const sound = recent.filter(isSound);
    const known = new Set(this.breaches.map(keyOf));
    const fresh = sound.filter((breach) => !known.has(keyOf(breach)));
    this.breaches = sound;
    this.breachTally.take(total, fresh, this.now());
    return fresh;
  }

  private forgetClusters(): void {
    this.clusters = [];
    this.clustersChanged = true;
  }
}

/** True when a breach has all that is shown of it; an infinite value comes as null. */
function isSound(breach: Breach | null): boolean {
  if (typeof breach?.factor !== "string" || !Array.isArray(breach.bodies)) return false;
  return Number.isFinite(breach.value) && Number.isFinite(breach.limit);
}

function keyOf(breach: Breach): string {
  return `${breach.tick} ${breach.region} ${breach.factor} ${breach.bodies.join(" ")}`;
}
