/**
 * What the gateway told of the seams between servers: auras, clusters, bodies in transit, breaches. Each message is a
 * whole picture that replaces the one before, except that a body in transit stays marked for a moment: most journeys
 * are shorter than an eye can see.
 */

import { type Breach, type OverlayName, SLOT_LIMIT, type SeamSink } from "@nimbus/client";

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
  breachesTotal = 0;

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
    this.breachesTotal = 0;
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

  /** Takes the breaches there are; returns those that are new, which is none at the first time. */
  takeBreaches(total: number, recent: Breach[]): Breach[] {
    const sound = recent.filter((breach) => typeof breach?.factor === "string" && Array.isArray(breach.bodies));
    const known = new Set(this.breaches.map(keyOf));
    const fresh = sound.filter((breach) => !known.has(keyOf(breach)));
    this.breaches = sound;
    this.breachesTotal = total;
    return fresh;
  }

  private forgetClusters(): void {
    this.clusters = [];
    this.clustersChanged = true;
  }
}

function keyOf(breach: Breach): string {
  return `${breach.tick} ${breach.region} ${breach.factor} ${breach.bodies.join(" ")}`;
}

const UNITS: Record<string, string> = {
  speed: "m/s",
  latency: "ms",
  frame_time: "ms",
  time_lost: "ticks",
  cluster_size: "bodies",
  silence: "ticks",
  compute: "ms",
  skew: "ms",
  commit: "ms",
  budget: "bodies",
};

const WORDS: Record<string, string> = {
  speed: "speed",
  latency: "latency",
  frame_time: "frame time",
  time_lost: "time lost",
  cluster_size: "cluster size",
  silence: "silence",
  compute: "compute time",
  skew: "clock skew",
  commit: "commit time",
  budget: "bodies of the budget",
};

/** A breach in words: what was exceeded, by how much, against which limit. */
export function breachText(breach: Breach): string {
  const digits = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toFixed(1))));
  const unit = UNITS[breach.factor] ?? "";
  return `${WORDS[breach.factor] ?? breach.factor} ${digits(breach.value)} > ${digits(breach.limit)} ${unit}`.trimEnd();
}
