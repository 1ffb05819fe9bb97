/**
 * The eye: orbits around a point, or flies with held keys and the mouse. Frames a box or follows a place on request,
 * and leaves the camera alone once a person has moved it.
 */

import { type Box3, PerspectiveCamera, Vector2, Vector3 } from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { framingOf, type Insets, NO_INSETS, type Viewport, viewShift } from "./framing";
import { type Motion, motionOf } from "./keys";

export type CameraMode = "orbit" | "fly";

/** Radians per pixel when looking around in fly mode. */
const LOOK = 0.0032;
/** How quickly the camera glides, per second. */
const GLIDE = 5;
/** How much faster flying is with Shift. */
const SPRINT = 4;

export class CameraRig {
  readonly camera = new PerspectiveCamera(50, 1, 0.1, 6000);
  mode: CameraMode = "orbit";
  /** True once a person has moved the camera since the last framing. */
  moved = false;
  private readonly orbit: OrbitControls;
  /** Told when the mode changes, whoever changed it. */
  modeChanged: (mode: CameraMode) => void = () => {};
  private readonly held = new Set<Motion>();
  /** What panels cover of a view. */
  insetsOf: (viewport: Viewport) => Insets = () => NO_INSETS;
  /** How far from its target the camera was put by the last framing, metres. */
  distance = 0;
  private goal: { target: Vector3; position: Vector3; shift: Vector2 } | null = null;
  /** What was framed last, for when the view gets another size. */
  private framed: Box3 | null = null;
  private viewport: Viewport = { width: 1, height: 1 };
  /** By how much the picture is shifted beside the panels, pixels. */
  private readonly shift = new Vector2();
  /** The place that is followed, and how near to come; null once it is as near or a person chose a distance. */
  private followed: { place: Vector3; distance: number | null } | null = null;
  private isHeld = false;
  private speed = 12;
  private lookPointer = -1;
  private yaw = 0;
  private pitch = 0;

  constructor(private readonly element: HTMLElement) {
    this.orbit = new OrbitControls(this.camera, element);
    this.orbit.enableDamping = true;
    this.orbit.dampingFactor = 0.12;
    this.orbit.maxPolarAngle = Math.PI * 0.55;
    this.orbit.minDistance = 1;
    this.orbit.maxDistance = 5000;
    this.orbit.addEventListener("start", () => this.touched());
    element.addEventListener("wheel", (event) => this.onWheel(event), { passive: true });
    element.addEventListener("pointerdown", (event) => this.onDown(event));
    element.addEventListener("pointermove", (event) => this.onMove(event));
    for (const name of ["pointerup", "pointercancel"] as const) {
      element.addEventListener(name, (event) => {
        if (event.pointerId === this.lookPointer) this.lookPointer = -1;
      });
    }
    window.addEventListener("blur", () => this.held.clear());
    this.camera.position.set(20, 14, 26);
  }

  /** Places the camera so that the box fills the part of the view beside the panels, at once or gliding there. */
  frame(bounds: Box3, gliding = false): void {
    const insets = this.insetsOf(this.viewport);
    const { position, target, distance } = framingOf(bounds, this.camera.fov, this.viewport, insets);
    if (this.mode === "fly") this.toggleMode();
    this.followed = null;
    this.framed = bounds.clone();
    const { x, y } = viewShift(this.viewport, insets);
    this.goal = { target, position, shift: new Vector2(x, y) };
    this.distance = distance;
    this.camera.far = Math.max(2000, distance * 12);
    if (!gliding) this.approach(1);
    this.camera.updateProjectionMatrix();
    this.speed = Math.max(6, distance * 0.35);
    this.moved = false;
  }

  toggleMode(): CameraMode {
    this.mode = this.mode === "orbit" ? "fly" : "orbit";
    this.orbit.enabled = this.mode === "orbit" && !this.isHeld;
    this.held.clear();
    this.goal = null;
    this.followed = null;
    if (this.mode === "fly") {
      this.takeAngles();
    } else {
      const ahead = this.direction();
      const reach = this.camera.position.distanceTo(this.orbit.target);
      this.orbit.target.copy(this.camera.position).addScaledVector(ahead, reach);
      this.orbit.update();
    }
    this.modeChanged(this.mode);
    return this.mode;
  }

  /** Turns to a place that moves, glides to this distance from it if it is further away, and keeps to it. */
  startFollowing(place: [number, number, number], distance: number): void {
    if (this.mode === "fly") this.toggleMode();
    this.goal = null;
    const followed = new Vector3(...place);
    this.followed = { place: followed, distance: Math.min(distance, this.camera.position.distanceTo(followed)) };
    // Whatever a person follows is what they want to see.
    this.moved = true;
  }

  /** The followed place is here now. Moves along with it at once, so that it stands still in the picture. */
  followTo(place: [number, number, number]): void {
    if (!this.followed) return;
    const way = new Vector3(...place).sub(this.followed.place);
    this.followed.place.add(way);
    this.camera.position.add(way);
    this.orbit.target.add(way);
  }

  stopFollowing(): void {
    this.followed = null;
  }

  /** While held, dragging does not move the eye: the mouse is for something else. */
  hold(held: boolean): void {
    this.isHeld = held;
    this.orbit.enabled = this.mode === "orbit" && !held;
  }

  /** The line of sight through a place in the view, -1 to 1, y up. */
  ray(x: number, y: number): { origin: Vector3; direction: Vector3 } {
    const origin = this.camera.position.clone();
    return { origin, direction: new Vector3(x, y, 0.5).unproject(this.camera).sub(origin).normalize() };
  }

  /** Where the camera looks, a unit vector. */
  direction(): Vector3 {
    return this.camera.getWorldDirection(new Vector3());
  }

  /** The view has this size now, pixels. What was framed and not moved since is framed again. */
  resize(viewport: Viewport): void {
    this.viewport = viewport;
    this.camera.aspect = viewport.width / viewport.height;
    const { x, y } = viewShift(viewport, this.insetsOf(viewport));
    this.shift.set(x, y);
    this.applyShift();
    if (this.framed && !this.moved && this.mode === "orbit" && !this.followed) this.frame(this.framed);
  }

  /** A key went down or up; true when flying uses it. */
  key(code: string, down: boolean): boolean {
    const motion = motionOf(code);
    if (this.mode !== "fly" || motion === undefined) return false;
    if (down) this.held.add(motion);
    else this.held.delete(motion);
    return true;
  }

  /** Where a point of the world is in the view, -1 to 1, y up. */
  project(point: [number, number, number]): [number, number] {
    const place = new Vector3(...point).project(this.camera);
    return [place.x, place.y];
  }

  /** Moves on by `seconds`. */
  update(seconds: number): void {
    this.move(seconds);
    // Picking and throwing need it also when nothing is drawn.
    this.camera.updateMatrixWorld();
  }

  private move(seconds: number): void {
    if (this.mode === "orbit") {
      if (this.moved) this.goal = null;
      const share = 1 - Math.exp(-seconds * GLIDE);
      this.approach(share);
      this.approachFollowed(share);
      this.orbit.update();
      return;
    }
    if (this.held.size === 0) return;
    const along = (plus: Motion, minus: Motion): number => Number(this.held.has(plus)) - Number(this.held.has(minus));
    const sprint = this.held.has("faster") ? SPRINT : 1;
    const step = this.speed * sprint * seconds;
    const ahead = this.direction();
    const right = new Vector3().crossVectors(ahead, this.camera.up).normalize();
    this.camera.position
      .addScaledVector(ahead, along("ahead", "back") * step)
      .addScaledVector(right, along("right", "left") * step);
    this.camera.position.y += along("up", "down") * step;
    this.moved = true;
  }

  /** Goes a share of the way to the goal, if there is one. */
  private approach(share: number): void {
    if (!this.goal) return;
    this.camera.position.lerp(this.goal.position, share);
    this.orbit.target.lerp(this.goal.target, share);
    if (!this.shift.equals(this.goal.shift)) {
      this.shift.lerp(this.goal.shift, share);
      if (this.shift.distanceTo(this.goal.shift) < 0.5) this.shift.copy(this.goal.shift);
      this.applyShift();
    }
    const isThere = this.camera.position.distanceTo(this.goal.position) < 0.01;
    if (isThere && this.shift.equals(this.goal.shift)) this.goal = null;
  }

  private applyShift(): void {
    const { width, height } = this.viewport;
    this.camera.setViewOffset(width, height, this.shift.x, this.shift.y, width, height);
  }

  /** Brings the followed place to the middle of the view, and nearer if it is still too far away. */
  private approachFollowed(share: number): void {
    if (!this.followed) return;
    const { place, distance } = this.followed;
    const { target } = this.orbit;
    const way = place.clone().sub(target).multiplyScalar(share);
    target.add(way);
    this.camera.position.add(way);
    if (distance === null) return;
    const back = this.camera.position.clone().sub(target);
    const now = back.length();
    const next = now + (distance - now) * share;
    if (now > 0) this.camera.position.copy(target).addScaledVector(back, next / now);
    if (Math.abs(next - distance) < distance * 0.01) this.followed.distance = null;
  }

  /** A person moved the camera. */
  private touched(): void {
    this.moved = true;
    if (this.followed) this.followed.distance = null;
  }

  private onWheel(event: WheelEvent): void {
    this.touched();
    if (this.mode === "fly") this.speed = Math.min(400, Math.max(0.5, this.speed * Math.exp(-event.deltaY * 0.001)));
  }

  private onDown(event: PointerEvent): void {
    if (this.mode !== "fly" || event.shiftKey || this.isHeld) return;
    this.lookPointer = event.pointerId;
    this.element.setPointerCapture(event.pointerId);
  }

  private onMove(event: PointerEvent): void {
    if (event.pointerId !== this.lookPointer) return;
    this.yaw -= event.movementX * LOOK;
    this.pitch = Math.min(1.55, Math.max(-1.55, this.pitch - event.movementY * LOOK));
    this.camera.rotation.set(this.pitch, this.yaw, 0, "YXZ");
    this.moved = true;
  }

  private takeAngles(): void {
    const ahead = this.direction();
    this.yaw = Math.atan2(-ahead.x, -ahead.z);
    this.pitch = Math.asin(Math.max(-1, Math.min(1, ahead.y)));
  }
}
