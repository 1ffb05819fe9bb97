/**
 * When the camera frames a world by itself: when it opens, when its first bodies are there, and for a while after that
 * whenever their bounds became quite others. Never once a person has moved the camera.
 */

/** After the first bodies the camera follows their bounds for this long, ms. */
export const FOLLOW_MS = 6000;
/** In the first moments after loading it jumps; later it glides, ms. */
export const SETTLE_MS = 700;

export type Look = "none" | "jump" | "glide";

export class OpeningLook {
  private openedAt: number | null = null;
  private bodiesAt: number | null = null;

  /** A world was loaded. */
  opened(nowMs: number): void {
    this.openedAt = nowMs;
    this.bodiesAt = null;
  }

  /** What to do in this frame. `isChanged` when the bounds of what is looked at became quite others. */
  frame(nowMs: number, bodies: number, isChanged: boolean, isMoved: boolean): Look {
    const isFirst = this.bodiesAt === null && bodies > 0;
    if (isFirst) this.bodiesAt = nowMs;
    if (isMoved || !(isChanged || isFirst)) return "none";
    if (this.bodiesAt !== null && nowMs - this.bodiesAt > FOLLOW_MS) return "none";
    return this.openedAt !== null && nowMs - this.openedAt > SETTLE_MS ? "glide" : "jump";
  }
}
