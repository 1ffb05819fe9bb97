/**
 * What opens the door of a gateway that asks for tokens. A ticket is good once, and is spent as soon as a gateway has looked at
 * it, even if its answer gets lost with the line. So there is one to spare.
 */

/** Tickets that are kept. Gateways give two at first and then one at a time. */
const KEPT_MAX = 2;

export class Tickets {
  /** The oldest first. */
  private readonly kept: string[] = [];
  private shown: string | null = null;

  /** A gateway gave us another. So it has let us in, and the one that we came with is spent. */
  add(ticket: string): void {
    const spent = this.kept.findIndex((kept) => kept === this.shown);
    if (spent >= 0) this.kept.splice(spent, 1);
    this.shown = null;
    this.kept.push(ticket);
    if (this.kept.length > KEPT_MAX) this.kept.shift();
  }

  /**
   * The one to come with, the newest first; null when there is none. An attempt that fails does not say whether its ticket is
   * spent, so none is thrown away for that: they take turns from `round` to round, and every gateway is tried with each.
   */
  pick(round: number): string | null {
    const { length } = this.kept;
    this.shown = length > 0 ? this.kept[length - 1 - (round % length)] : null;
    return this.shown;
  }
}
