/**
 * How long the gateway takes to answer. A question about a body (`inspect`) costs it almost nothing; that of a person who
 * looks at one counts too, and otherwise one is asked now and then. Times are milliseconds from any fixed point.
 */

/** A question is asked when none was for this long, ms. */
const ASK_MS = 2000;
/** Without an answer for this long the last measurement says nothing any more, ms. */
const STALE_MS = 10_000;
/** Questions whose answers are awaited. */
const AWAITED_MAX = 8;

/** No body has this id: nobody issues the greatest serial of the greatest origin. */
export const NOBODY = "65535.281474976710655";

export class RoundTrip {
  private readonly awaited = new Map<number, number>();
  private askedAt = -Infinity;
  private measuredAt = -Infinity;
  private latest = 0;

  /** True when it is time to ask. */
  due(now: number): boolean {
    return now - this.askedAt >= ASK_MS;
  }

  /** A question was sent under this number; -1 when nobody was there to hear it. */
  asked(seq: number, now: number): void {
    if (seq < 0) return;
    this.askedAt = now;
    this.awaited.set(seq, now);
    for (const oldest of this.awaited.keys()) {
      if (this.awaited.size <= AWAITED_MAX) break;
      this.awaited.delete(oldest);
    }
  }

  /** Something was answered; true when it was one of our questions. */
  answered(seq: number | null, now: number): boolean {
    const since = seq === null ? undefined : this.awaited.get(seq);
    if (seq === null || since === undefined) return false;
    this.awaited.delete(seq);
    this.latest = now - since;
    this.measuredAt = now;
    return true;
  }

  /** The connection was lost: what was asked will not be answered. */
  reset(): void {
    this.awaited.clear();
    this.askedAt = this.measuredAt = -Infinity;
  }

  /** Milliseconds, or null when it is not known. */
  ms(now: number): number | null {
    return now - this.measuredAt > STALE_MS ? null : this.latest;
  }
}
