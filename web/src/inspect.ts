/**
 * A click on a body picks it: a small card tells its id, its server and epoch, what it is, where it is and how fast, and
 * who had it before, and follows it across servers. One sees that a change of server is not a change of body.
 */

import { Raycaster, Vector2, type InstancedMesh, type PerspectiveCamera, type Vector3 } from "three";
import { element } from "./panel";
import { regionColour } from "./palette";
import { type BodyCard, type Command, type HandOver, POSE_STRIDE, type Shape, type Touch } from "@nimbus/client";
import { dress, swatch } from "./swatch";
import type { World } from "./world";

/** The change of speed that a push gives to a body as heavy as water of its size, metres a second. */
const PUSH_SPEED = 6;
/** Kilograms a cubic metre, for the strength of a push only. */
const PUSH_DENSITY = 1000;
/** How often the gateway is asked again about the picked body, ms. */
const ASK_MS = 1000;
/** Hand-overs listed by their ticks; the strip shows all that are known. */
const LISTED_MAX = 4;
/** Questions whose answers are still awaited. */
const ASKED_MAX = 16;

export class Inspector {
  /** Told when another body is picked, or none any more. */
  changed: () => void = () => {};
  private nid: string | null = null;
  private slot = -1;
  /** What the gateway said of the picked body last. */
  private known: BodyCard | null = null;
  /** What has touched it since it was picked. */
  private touches = { count: 0, last: "" };
  private askedAt = 0;
  private askedOwner = -1;
  private asks: number[] = [];
  private listed = "";
  private readonly card = element("inspect");
  private readonly caster = new Raycaster();

  constructor(
    private readonly world: World,
    private readonly camera: PerspectiveCamera,
    private readonly send: (command: Command) => void,
    /** Sends without a word when there is nobody to send to. */
    private readonly ask: (command: Command) => number,
    private readonly viewDirection: () => Vector3,
  ) {
    element("inspect-close").onclick = () => this.drop();
    element("inspect-push").onclick = () => this.push();
    element("inspect-remove").onclick = () => {
      if (this.nid !== null) this.send({ type: "despawn", nid: this.nid });
    };
  }

  /** Picks the body at a place in the view (-1 to 1, y up), or none. */
  pickAt(x: number, y: number): void {
    const targets = [this.world.bodies.group, this.world.statics.group].flatMap((group) => group.children);
    // Instances move, so the sphere around all of them has to be found anew.
    for (const target of targets) (target as InstancedMesh).boundingSphere = null;
    this.caster.setFromCamera(new Vector2(x, y), this.camera);
    const hit = this.caster.intersectObjects(targets, false)[0];
    const slot = hit?.instanceId === undefined ? -1 : this.world.bodies.slotAt(hit.object, hit.instanceId);
    if (slot < 0) this.drop();
    else this.pick(slot);
  }

  /** The height of what never moves and is seen at a place in the view, metres; null where there is none. */
  heightAt(x: number, y: number): number | null {
    const targets = this.world.statics.group.children;
    for (const target of targets) (target as InstancedMesh).boundingSphere = null;
    this.caster.setFromCamera(new Vector2(x, y), this.camera);
    return this.caster.intersectObjects(targets, false)[0]?.point.y ?? null;
  }

  /** The slot of the picked body, or -1. */
  get picked(): number {
    return this.slot;
  }

  /** Picks the body in a slot. */
  pick(slot: number): void {
    const nid = this.world.replicas.nid(slot);
    if (nid !== null && nid === this.nid && slot === this.slot) return;
    this.drop();
    this.nid = nid;
    this.slot = nid === null ? -1 : slot;
    this.card.hidden = this.nid === null;
    if (this.nid !== null) {
      this.world.bodies.mark(this.world.replicas, slot);
      this.question({ type: "touches", of: [this.nid] });
    }
    this.refresh();
  }

  /** What the gateway knows of a body. */
  show(card: BodyCard): void {
    if (card.nid !== this.nid) return;
    this.known = card;
    this.refresh();
  }

  /** Bodies began or ceased to touch. */
  touched(touches: Touch[]): void {
    for (const { one, two, began } of touches) {
      if (!began || (one !== this.nid && two !== this.nid)) continue;
      this.touches = { count: this.touches.count + 1, last: one === this.nid ? two : one };
    }
  }

  /** True when a command was a question of ours; its refusal is nobody's concern, since the card closes by itself. */
  asked(seq: number | null): boolean {
    return seq !== null && this.asks.includes(seq);
  }

  drop(): void {
    if (this.nid === null) return;
    this.question({ type: "touches", of: [] });
    this.touches = { count: 0, last: "" };
    this.nid = null;
    this.slot = -1;
    this.known = null;
    this.askedAt = 0;
    this.listed = "";
    this.card.hidden = true;
    this.world.bodies.mark(this.world.replicas, -1);
    this.changed();
  }

  /** Brings the card up to date; called a few times a second. */
  refresh(): void {
    if (this.nid === null) return;
    const { replicas, bodies } = this.world;
    if (replicas.nid(this.slot) !== this.nid) {
      this.drop();
      return;
    }
    const region = replicas.region[this.slot];
    const place = replicas.position(this.slot) ?? [0, 0, 0];
    element("inspect-nid").textContent = this.nid;
    dress(element("inspect-swatch"), region);
    element("inspect-owner").textContent = this.world.regionName(region);
    element("inspect-place").textContent = place.map((c) => c.toFixed(1)).join("  ");
    element("inspect-speed").textContent = `${this.speed().toFixed(1)} m/s`;
    const { known } = this;
    element("inspect-hands").textContent = String(Math.max(known?.hand_overs ?? 0, bodies.handOvers(this.slot)));
    const { count, last } = this.touches;
    element("inspect-touches").textContent = count === 0 ? "none yet" : `${count}, last with ${last}`;
    element("inspect-epoch").textContent = known ? String(known.epoch) : "–";
    element("inspect-shape").textContent = known ? shapeText(known.desc.shape) : "–";
    this.showHistory();
    this.askAgain(region);
  }

  /** Asks the gateway now and then, and at once when the body has changed hands. */
  private askAgain(owner: number): void {
    const now = performance.now();
    if (this.nid === null || (this.askedOwner === owner && this.askedAt > 0 && now - this.askedAt < ASK_MS)) return;
    this.askedAt = now;
    this.askedOwner = owner;
    this.question({ type: "inspect", nid: this.nid });
  }

  private question(command: Command): void {
    this.asks = [...this.asks, this.ask(command)].slice(-ASKED_MAX);
  }

  /** The strip of owners over time, and the latest changes below it. */
  private showHistory(): void {
    const root = element("inspect-history");
    const history = this.known?.history ?? [];
    root.hidden = history.length === 0;
    const tick = Math.max(this.world.tick(), this.known?.tick ?? 0);
    // A second is fine enough for a strip this small.
    const state = `${JSON.stringify(history)} ${Math.floor(tick / this.world.tickHz)}`;
    if (root.hidden || state === this.listed) return;
    this.listed = state;
    element("inspect-strip").replaceChildren(
      ...stretches(history, tick).map(({ region, from, to }) => {
        const part = document.createElement("span");
        part.style.background = regionColour(region);
        part.style.flexGrow = String(Math.max(1, to - from));
        part.title = `${this.world.regionName(region)}, tick ${from} to ${to}`;
        return part;
      }),
    );
    const latest = history.slice(-LISTED_MAX).reverse();
    element("inspect-changes").replaceChildren(...latest.map((change) => this.changeRow(change)));
  }

  private changeRow({ tick, from, to, epoch }: HandOver): HTMLElement {
    const row = document.createElement("li");
    const when = document.createElement("span");
    when.textContent = `tick ${tick}`;
    const way = document.createElement("span");
    for (const region of [from, to]) {
      if (region === to && way.childElementCount > 0) way.append(" → ");
      way.append(swatch(region), ` ${region}`);
    }
    const reign = document.createElement("small");
    reign.textContent = `epoch ${epoch}`;
    row.title = `${this.world.regionName(from)} gave it to ${this.world.regionName(to)} at tick ${tick}`;
    row.append(when, way, reign);
    return row;
  }

  /** Metres a second along the body's present line; zero when it rests. */
  private speed(): number {
    const { from, to, fromTick, toTick, newestTick, latestTick } = this.world.replicas;
    const ticks = toTick[this.slot] - fromTick[this.slot];
    if (ticks <= 0 || newestTick[this.slot] < latestTick) return 0;
    const o = this.slot * POSE_STRIDE;
    const way = Math.hypot(to[o] - from[o], to[o + 1] - from[o + 1], to[o + 2] - from[o + 2]);
    return (way / ticks) * this.world.tickHz;
  }

  private push(): void {
    if (this.nid === null) return;
    const strength = this.world.bodies.volume(this.slot) * PUSH_DENSITY * PUSH_SPEED;
    const impulse = this.viewDirection().setY(0.35).normalize().multiplyScalar(strength);
    this.send({ type: "impulse", nid: this.nid, impulse: [impulse.x, impulse.y, impulse.z] });
  }
}

/** Who owned a body from when to when, as far as its history goes back; the first stretch is as long as the second. */
export function stretches(history: HandOver[], now: number): { region: number; from: number; to: number }[] {
  const parts = history.map((change, i) => ({ region: change.to, from: change.tick, to: history[i + 1]?.tick ?? now }));
  if (history.length === 0) return parts;
  const length = Math.max(1, parts[0].to - parts[0].from);
  return [{ region: history[0].from, from: Math.max(0, history[0].tick - length), to: history[0].tick }, ...parts];
}

/** A shape in a few words. */
export function shapeText(shape: Shape): string {
  const size = (...values: number[]): string => values.map((value) => Number(value.toFixed(2))).join(" × ");
  try {
    if ("ball" in shape) return `ball, radius ${size(shape.ball.radius)} m`;
    if ("cuboid" in shape) return `box, ${size(...shape.cuboid.half.map((h) => h * 2))} m`;
    if ("convex-hull" in shape) return `hull of ${shape["convex-hull"].points.length} points`;
    if ("compound" in shape) return `${shape.compound.parts.length} parts`;
    for (const [name, { half_height, radius }] of Object.entries(shape) as [string, { half_height: number; radius: number }][]) {
      const height = name === "capsule" ? (half_height + radius) * 2 : half_height * 2;
      return `${name}, ${size(radius * 2, height)} m`;
    }
  } catch {
    // Shapes that make no sense are drawn as a box and named as nothing.
  }
  return "–";
}
