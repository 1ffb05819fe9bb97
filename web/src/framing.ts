/**
 * Where the camera must stand so that a box fills the part of the view that no panel covers. Pure geometry: the
 * smallest distance from which all eight corners are inside, for a given direction of sight.
 */

import { type Box3, MathUtils, Vector3 } from "three";

/** The view, pixels. */
export interface Viewport {
  width: number;
  height: number;
}

/** What panels cover at each side of the view, pixels. */
export interface Insets {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export const NO_INSETS: Insets = { left: 0, right: 0, top: 0, bottom: 0 };

export interface Framing {
  position: Vector3;
  target: Vector3;
  /** From the one to the other, metres. */
  distance: number;
}

/** Where the first look comes from: the front, a little from above and from the side. */
const VIEW_FROM = new Vector3(0.42, 0.5, 0.9).normalize();
/** Share of the free part that a framed box may fill; the rest is air. */
const FILL = 0.88;
/** Panels may leave less than this share of the view free; the box then goes under their edges. */
const FREE_SHARE_MIN = 0.3;
/** Nothing is looked at from nearer than this, metres. */
const DISTANCE_MIN = 4;

/**
 * Where to stand and what to look at. `fov` is the vertical field of view in degrees. The camera's picture must be
 * shifted by `viewShift` of the same insets: the target is then in the middle of the free part, also while turning.
 */
export function framingOf(bounds: Box3, fov: number, viewport: Viewport, insets: Insets = NO_INSETS): Framing {
  const free = usable(insets, viewport);
  const back = VIEW_FROM;
  const right = new Vector3().crossVectors(new Vector3(0, 1, 0), back).normalize();
  const up = new Vector3().crossVectors(back, right);
  const focal = viewport.height / 2 / Math.tan(MathUtils.degToRad(fov) / 2);
  const slopes = {
    aside: (((viewport.width - free.left - free.right) / 2) * FILL) / focal,
    above: (((viewport.height - free.top - free.bottom) / 2) * FILL) / focal,
  };
  // A corner at (x, y, n) along right, up and back is inside when |x - eye.x| <= slope * (eye.n - n), likewise y.
  const most = { right: -Infinity, left: -Infinity, up: -Infinity, down: -Infinity };
  for (const corner of cornersOf(bounds)) {
    const [x, y, n] = [corner.dot(right), corner.dot(up), corner.dot(back)];
    most.right = Math.max(most.right, x + slopes.aside * n);
    most.left = Math.max(most.left, -x + slopes.aside * n);
    most.up = Math.max(most.up, y + slopes.above * n);
    most.down = Math.max(most.down, -y + slopes.above * n);
  }
  const centre = bounds.getCenter(new Vector3()).dot(back);
  const n = Math.max(
    (most.right + most.left) / (2 * slopes.aside),
    (most.up + most.down) / (2 * slopes.above),
    centre + DISTANCE_MIN,
  );
  const [x, y] = [(most.right - most.left) / 2, (most.up - most.down) / 2];
  const distance = n - centre;
  const position = new Vector3().addScaledVector(right, x).addScaledVector(up, y).addScaledVector(back, n);
  return { position, target: position.clone().addScaledVector(back, -distance), distance };
}

/** By how much the picture is shifted so that its middle is that of the free part, for `setViewOffset`, pixels. */
export function viewShift(viewport: Viewport, insets: Insets): { x: number; y: number } {
  const free = usable(insets, viewport);
  return { x: (free.right - free.left) / 2, y: (free.bottom - free.top) / 2 };
}

/** The eight corners of a box. */
export function cornersOf({ min, max }: Box3): Vector3[] {
  return Array.from(
    { length: 8 },
    (_, i) => new Vector3((i & 1 ? max : min).x, (i & 2 ? max : min).y, (i & 4 ? max : min).z),
  );
}

/** The insets, or as much of them as leaves something to see. */
function usable(insets: Insets, { width, height }: Viewport): Insets {
  const share = (length: number, covered: number): number =>
    covered <= 0 ? 1 : Math.min(1, ((1 - FREE_SHARE_MIN) * length) / covered);
  const aside = share(width, insets.left + insets.right);
  const above = share(height, insets.top + insets.bottom);
  return {
    left: insets.left * aside,
    right: insets.right * aside,
    top: insets.top * above,
    bottom: insets.bottom * above,
  };
}
