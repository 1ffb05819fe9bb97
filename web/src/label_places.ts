/** Where labels go so that none lies on another: each a few rows up from its foot, or nowhere. */

/** A label in the view: the middle of its foot and its size, y up. All in the same unit. */
export interface Label {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** How many rows up from its foot a label may stand to find room. */
const ROWS = 4;
/** Distance from one row to the next, in heights of a label. */
export const ROW_STEP = 1.15;

/**
 * For each label the row it stands in, 0 at its foot, or -1 when there is no room. Earlier labels choose first, and at
 * most `max` get a place. Those that are `taken` stay where they are.
 */
export function placeLabels(labels: readonly Label[], max: number, taken: readonly Label[] = []): number[] {
  const placed: Label[] = [];
  return labels.map((label) => {
    for (let row = 0; row < ROWS && placed.length < max; row++) {
      const there = { ...label, y: label.y + row * ROW_STEP * label.height };
      if ([...taken, ...placed].some((other) => overlap(there, other))) continue;
      placed.push(there);
      return row;
    }
    return -1;
  });
}

function overlap(a: Label, b: Label): boolean {
  const aside = Math.abs(a.x - b.x) < (a.width + b.width) / 2;
  return aside && a.y < b.y + b.height && b.y < a.y + a.height;
}
