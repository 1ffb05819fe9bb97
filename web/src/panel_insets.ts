/** Which part of the view the panels leave free: the largest of the ways to count them as columns and rows. */

import type { Insets, Viewport } from "./framing";

export interface Rect {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Where the panels are, pixels from the upper left; null for one that is not shown. */
export interface PanelRects {
  /** The cards at the upper left, the figures at the upper right, the controls at the foot. */
  left: Rect | null;
  right: Rect | null;
  foot: Rect | null;
}

/** On narrower views the cards at the top are rows above the world, pixels. */
const BESIDE_MIN_PX = 900;

export function panelInsets(viewport: Viewport, { left, right, foot }: PanelRects): Insets {
  const bottom = foot ? viewport.height - foot.top : 0;
  // The figures grow down with every server that is heard of: beside the world they count as a column.
  const column = right ? viewport.width - right.left : 0;
  const beside: Insets = { left: left?.right ?? 0, right: column, top: 0, bottom };
  const below: Insets = { left: 0, right: column, top: left?.bottom ?? 0, bottom };
  const rows: Insets = { left: 0, right: 0, top: Math.max(left?.bottom ?? 0, right?.bottom ?? 0), bottom };
  const ways = viewport.width > BESIDE_MIN_PX ? [beside, below] : [beside, below, rows];
  const { width, height } = viewport;
  const free = (insets: Insets): number =>
    Math.max(0, width - insets.left - insets.right) * Math.max(0, height - insets.top - insets.bottom);
  return ways.reduce((best, way) => (free(way) > free(best) ? way : best));
}

/** Where an element is, or null while it takes no room. */
export function rectOf(element: HTMLElement): Rect | null {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  return right > left && bottom > top ? { left, right, top, bottom } : null;
}
