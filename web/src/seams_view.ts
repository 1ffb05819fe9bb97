/**
 * Draws what goes on at the seams around the bodies that are there already: auras as clear shells in the owner's
 * colour, clusters as lines, bodies in transit as pulses between two colours, breaches as orange shells with signs.
 */

import { AdditiveBlending, Group, type PerspectiveCamera } from "three";
import type { BodiesView } from "./bodies_view";
import { BreachSigns } from "./breach_signs";
import { breachText } from "./breach_words";
import { ClusterLines } from "./cluster_lines";
import type { OverlayId } from "./overlays";
import { regionLinear, toLinear } from "./palette";
import type { RegionsView } from "./regions_view";
import type { Replicas } from "@nimbus/client";
import { type Seams, TRANSIT_SHOWN_MS } from "./seams";
import { Shells } from "./shells";

/** One pulse of a body in transit, ms. */
const PULSE_MS = 450;
/** How often bodies that were not found are searched again, ms. */
const SEARCH_MS = 500;
const WARN = toLinear("#f0a030");
/** Orange shells at most; the latest breaches come first. */
const WARNINGS_MAX = 64;
/** Signs of older breaches are taken down; the shells around their bodies stay, seconds. */
const SIGN_SECONDS = 5;

export class SeamsView {
  readonly group = new Group();
  /** Whose view the signs must fit in; without it there are none. */
  camera: PerspectiveCamera | null = null;
  private readonly auras = new Shells({ middle: 0.035, rim: 0.5, sharpness: 2.6 });
  private readonly pulses = new Shells({ middle: 0.12, rim: 1, sharpness: 1.5, blending: AdditiveBlending });
  private readonly warnings = new Shells({ middle: 0.1, rim: 0.95, sharpness: 1.7 });
  private readonly clusters = new ClusterLines();
  private readonly signs = new BreachSigns();
  private on: ReadonlySet<OverlayId> = new Set();
  private readonly place = new Float32Array(3);
  /** Slots of bodies that breaches name; -1 for those that are gone. */
  private readonly slots = new Map<string, number>();
  private searchedAt = 0;

  constructor() {
    this.group.add(this.auras.mesh, this.pulses.mesh, this.warnings.mesh, this.clusters.lines, this.signs.group);
  }

  /** What a person wants to see from now on. */
  choose(on: ReadonlySet<OverlayId>): void {
    this.on = new Set(on);
  }

  /** Brings everything to where the bodies are drawn in this frame. */
  update(seams: Seams, bodies: BodiesView, replicas: Replicas, regions: RegionsView, now: number, tickHz: number): void {
    this.drawAuras(seams, bodies, replicas);
    this.drawPulses(seams, bodies, replicas, now);
    if (seams.clustersChanged) {
      seams.clustersChanged = false;
      this.clusters.join(seams.clusters, replicas);
    }
    this.clusters.update(bodies, replicas);
    this.drawBreaches(seams, bodies, replicas, regions, now, tickHz);
  }

  private drawAuras(seams: Seams, bodies: BodiesView, replicas: Replicas): void {
    const { place } = this;
    this.auras.begin();
    for (let i = 0; i < seams.auraCount; i++) {
      const slot = seams.auraSlots[i];
      if (!replicas.has(slot)) continue;
      bodies.placeOf(slot, place, 0);
      const radius = bodies.radiusOf(slot) + seams.auraReach[i];
      this.auras.add(place[0], place[1], place[2], radius, regionLinear(replicas.region[slot]), 1);
    }
    this.auras.end();
  }

  private drawPulses(seams: Seams, bodies: BodiesView, replicas: Replicas, now: number): void {
    const { place } = this;
    seams.sweep(now);
    this.pulses.begin();
    for (const [slot, transit] of seams.transits) {
      if (!replicas.has(slot)) continue;
      bodies.placeOf(slot, place, 0);
      const phase = ((now - transit.since) % PULSE_MS) / PULSE_MS;
      const fading = 1 - Math.min(1, (now - transit.seen) / TRANSIT_SHOWN_MS);
      const radius = bodies.radiusOf(slot) * (1.15 + phase * 0.9) + 0.05;
      this.pulses.add(place[0], place[1], place[2], radius, regionLinear(transit.to), fading * (1 - phase * 0.75));
    }
    this.pulses.end();
  }

  private drawBreaches(
    seams: Seams,
    bodies: BodiesView,
    replicas: Replicas,
    regions: RegionsView,
    now: number,
    tickHz: number,
  ): void {
    const { place } = this;
    this.warnings.begin();
    this.signs.begin();
    if (now - this.searchedAt > SEARCH_MS) {
      this.searchedAt = now;
      this.slots.clear();
    }
    if (this.on.has("breaches")) {
      let warnings = 0;
      for (let i = seams.breaches.length - 1; i >= 0 && warnings < WARNINGS_MAX; i--) {
        for (const nid of seams.breaches[i].bodies) {
          const slot = this.find(nid, replicas);
          if (slot < 0 || warnings++ >= WARNINGS_MAX) continue;
          bodies.placeOf(slot, place, 0);
          const light = 0.75 + 0.25 * Math.sin(now / 160);
          this.warnings.add(place[0], place[1], place[2], warningRadius(bodies, slot), WARN, light);
        }
      }
      for (const { key, latest, count } of seams.breachTally.groups(now)) {
        if ((replicas.latestTick - latest.tick) / tickHz > SIGN_SECONDS) continue;
        const slot = latest.bodies.map((nid) => this.find(nid, replicas)).find((found) => found >= 0);
        if (slot !== undefined) bodies.placeOf(slot, place, 0);
        const at: [number, number, number] | null =
          slot === undefined
            ? regions.anchor(latest.region)
            : [place[0], place[1] + warningRadius(bodies, slot), place[2]];
        if (!at) continue;
        const words = count > 1 ? `${breachText(latest)} ×${count}` : breachText(latest);
        this.signs.offer(key, words, at, now);
      }
    }
    this.warnings.end();
    this.signs.end(this.camera, regions.group.visible ? regions.labels : []);
  }

  private find(nid: string, replicas: Replicas): number {
    let slot = this.slots.get(nid);
    if (slot === undefined || (slot >= 0 && replicas.nid(slot) !== nid)) {
      slot = replicas.slotOf(nid);
      this.slots.set(nid, slot);
    }
    return slot;
  }
}

/** Radius of the orange shell around the body in a slot, metres. */
function warningRadius(bodies: BodiesView, slot: number): number {
  return bodies.radiusOf(slot) * 1.25 + 0.1;
}
