/** What happened, in order, for whoever wants to hear it. */

import type { Breach, Touch } from "./protocol.js";

export type Event =
  /** A gateway let us in. What was known of bodies is void; they are born again. */
  | { type: "connected"; client: number; role: string }
  /** The connection was lost. Bodies are kept as they were seen last. */
  | { type: "lost"; reason: string }
  /** The connection is over, and no other will be tried. Nothing follows. */
  | { type: "closed"; reason: string }
  /** A world was loaded; every body known before is void, without having died. */
  | { type: "loaded"; era: number; name: string }
  | { type: "born"; nid: string }
  | { type: "died"; nid: string }
  /** A body went where this client does not look. It lives on, and may be born again here. */
  | { type: "out-of-sight"; nid: string }
  | { type: "handed-over"; nid: string; from: number; to: number }
  /** Only with the overlay `breaches`. */
  | { type: "breach"; breach: Breach }
  /** Two bodies began or ceased to touch. Only for those that were asked for with `touches`. */
  | ({ type: "touched" } & Touch)
  /** So many touches happened about now that nobody tells of, because there were too many. */
  | { type: "touches-left-out"; count: number }
  | { type: "clock"; paused: boolean; speed: number; dilation: number }
  /** So many events were dropped before the next, because nobody took them. */
  | { type: "missed"; count: number };

/** Events that nobody has taken yet. The oldest are dropped when there are too many. */
export class Events {
  private queue: Event[] = [];
  private missed = 0;
  private waiting: ((event: Event | null) => void) | null = null;
  private isOver = false;

  constructor(private readonly limit = 16_384) {}

  push(event: Event): void {
    if (this.isOver) return;
    if (event.type === "closed") this.isOver = true;
    if (this.waiting) {
      const take = this.waiting;
      this.waiting = null;
      take(event);
      return;
    }
    this.queue.push(event);
    // Cut in large pieces: taking one off the front of a long array is slow.
    if (this.queue.length >= this.limit * 2) {
      this.missed += this.queue.length - this.limit;
      this.queue = this.queue.slice(-this.limit);
    }
  }

  /** The oldest event that was not taken yet, or undefined. */
  pop(): Event | undefined {
    const beyond = this.queue.length - this.limit;
    if (beyond > 0) {
      this.missed += beyond;
      this.queue.splice(0, beyond);
    }
    if (this.missed > 0) {
      const count = this.missed;
      this.missed = 0;
      return { type: "missed", count };
    }
    return this.queue.shift();
  }

  /** The next event, once there is one; null when there will be none. For one reader at a time. */
  next(): Promise<Event | null> {
    const event = this.pop();
    if (event || this.isOver) return Promise.resolve(event ?? null);
    return new Promise((resolve) => (this.waiting = resolve));
  }
}
