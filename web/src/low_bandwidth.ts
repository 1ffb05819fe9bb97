/**
 * For people with slow lines: the page is sent what its camera sees, compressed and within a budget, instead of everything.
 * Decides what to ask the gateway for, and when to ask again because the camera has moved.
 */

import type { Vec3, Watch } from "@nimbus/client";
import { type Box3, MathUtils, type PerspectiveCamera, Vector3 } from "three";

/** What the page takes then, kbit/s. */
export const BUDGET_KBIT = 1000;
const HZ = 20;
/** The gateway is told of another view at most this often, ms. */
const TELL_MS = 300;
/** A view that differs by less than this, metres and as a share of the direction, is the same. */
const EYE_STEP_M = 0.5;
const TOWARD_STEP = 0.05;
/** Seen beyond the edge of the picture, degrees: the camera turns before the gateway hears of it. */
const ASIDE_DEG = 20;
/** Seen beyond what the scene needs, metres. */
const BEYOND_M = 200;

export class LowBandwidth {
  private told: Watch | null = null;
  private toldAt = -Infinity;

  constructor(
    /** True while the page wants no more than it sees. */
    public isOn: boolean,
  ) {}

  /** What to ask the gateway for now; null while it knows, or was told only a moment ago. */
  due(view: Watch, now: number): Watch | null {
    if (!this.isOn || now - this.toldAt < TELL_MS || (this.told && isSame(this.told, view))) return null;
    this.told = view;
    this.toldAt = now;
    return view;
  }

  /** The gateway is another one, or has let us in anew: it knows of no view. */
  forget(): void {
    this.told = null;
    this.toldAt = -Infinity;
  }
}

/** What a camera sees of a scene of this extent. */
export function viewOf(camera: PerspectiveCamera, extent: Box3): Watch {
  const halfHeight = Math.tan(MathUtils.degToRad(camera.fov) / 2);
  const diagonal = 2 * Math.atan(halfHeight * Math.hypot(1, camera.aspect));
  const toward = camera.getWorldDirection(new Vector3());
  const reach = camera.position.distanceTo(extent.getCenter(new Vector3())) + extent.getSize(new Vector3()).length();
  return {
    eye: camera.position.toArray() as Vec3,
    toward: toward.toArray() as Vec3,
    field: Math.min(360, MathUtils.radToDeg(diagonal) + ASIDE_DEG),
    // In wide steps, so that it does not change with every step of the camera.
    range: Math.min(100_000, Math.ceil((reach + BEYOND_M) / BEYOND_M) * BEYOND_M),
    kbit: BUDGET_KBIT,
    hz: HZ,
    packed: true,
  };
}

function isSame(a: Watch, b: Watch): boolean {
  const apart = (one: Vec3 = [0, 0, 0], two: Vec3 = [0, 0, 0]): number => Math.hypot(...one.map((c, k) => c - two[k]));
  return a.range === b.range && apart(a.eye, b.eye) < EYE_STEP_M && apart(a.toward, b.toward) < TOWARD_STEP;
}
