/**
 * Keeps the camera with one body. The body is known by slot and id: a change of server changes neither, so following
 * goes on; a slot that is empty or has another body means that the followed one is dead.
 */

/** Where bodies are. */
export interface Followable {
  nid(slot: number): string | null;
  /** Where the body is drawn; the slot has one. */
  place(slot: number): [number, number, number];
  /** Radius of the sphere that holds it, metres. */
  radius(slot: number): number;
}

/** The eye that is moved. */
export interface FollowingEye {
  startFollowing(place: [number, number, number], distance: number): void;
  followTo(place: [number, number, number]): void;
  stopFollowing(): void;
}

/** Why following ended: somebody wanted it, or the body is no more. */
export type FollowEnd = "let go" | "dead";

/** How near the eye comes, in radii of the body and at least in metres. It never goes further away for it. */
const DISTANCE_RADII = 12;
const DISTANCE_MIN = 7;

export class Follow {
  private slot = -1;
  private id: string | null = null;

  /** `changed` is told the id of the body at the start, and at the end also why. */
  constructor(
    private readonly bodies: Followable,
    private readonly eye: FollowingEye,
    private readonly changed: (nid: string, end?: FollowEnd) => void,
  ) {}

  /** The id of the body that is followed, or null. */
  get nid(): string | null {
    return this.id;
  }

  start(slot: number): void {
    this.stop();
    this.id = this.bodies.nid(slot);
    if (this.id === null) return;
    this.slot = slot;
    const distance = Math.max(DISTANCE_MIN, this.bodies.radius(slot) * DISTANCE_RADII);
    this.eye.startFollowing(this.bodies.place(slot), distance);
    this.changed(this.id);
  }

  /** Ends it. Who ends it because the body is no more need not know that. */
  stop(): void {
    const { id } = this;
    if (id === null) return;
    const end = this.bodies.nid(this.slot) === id ? "let go" : "dead";
    this.id = null;
    this.slot = -1;
    this.eye.stopFollowing();
    this.changed(id, end);
  }

  /** Brings the eye to where the body is now; once a frame. */
  frame(): void {
    if (this.id === null) return;
    if (this.bodies.nid(this.slot) === this.id) this.eye.followTo(this.bodies.place(this.slot));
    else this.stop();
  }
}
