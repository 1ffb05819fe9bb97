/**
 * A click on a body picks it: a small card tells its id, its server, where it is and how fast, and follows it across
 * servers. One sees that a change of server is not a change of body.
 */

import { Raycaster, Vector2, type InstancedMesh, type PerspectiveCamera, type Vector3 } from "three";
import { element } from "./panel";
import { regionColour } from "./palette";
import type { Command } from "./protocol";
import { POSE_STRIDE } from "./replicas";
import type { World } from "./world";

/** The change of speed that a push gives to a body as heavy as water of its size, metres a second. */
const PUSH_SPEED = 6;
/** Kilograms a cubic metre, for the strength of a push only. */
const PUSH_DENSITY = 1000;

export class Inspector {
  private nid: string | null = null;
  private slot = -1;
  private readonly card = element("inspect");
  private readonly caster = new Raycaster();

  constructor(
    private readonly world: World,
    private readonly camera: PerspectiveCamera,
    private readonly send: (command: Command) => void,
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

  /** Picks the body in a slot. */
  pick(slot: number): void {
    this.drop();
    this.nid = this.world.replicas.nid(slot);
    this.slot = slot;
    this.card.hidden = this.nid === null;
    if (this.nid !== null) this.world.bodies.mark(this.world.replicas, slot);
    this.refresh();
  }

  drop(): void {
    if (this.nid === null) return;
    this.nid = null;
    this.slot = -1;
    this.card.hidden = true;
    this.world.bodies.mark(this.world.replicas, -1);
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
    element("inspect-swatch").style.background = regionColour(region);
    element("inspect-owner").textContent = this.world.regionName(region);
    element("inspect-place").textContent = place.map((c) => c.toFixed(1)).join("  ");
    element("inspect-speed").textContent = `${this.speed().toFixed(1)} m/s`;
    element("inspect-hands").textContent = String(bodies.handOvers(this.slot));
  }

  /** Metres a second along the body's present line; zero when it rests. */
  private speed(): number {
    const { from, to, fromTick, toTick, latestTick } = this.world.replicas;
    const ticks = toTick[this.slot] - fromTick[this.slot];
    if (ticks <= 0 || toTick[this.slot] < latestTick) return 0;
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
