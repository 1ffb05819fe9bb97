/**
 * Reads bits out of a number from an interval: a likely bit narrows the interval a little, an unlikely one a lot. The same as
 * `range_coder.rs` and `odds.rs`, bit for bit: interval and number are whole and below 2^32, and products of them and odds
 * below 2^48, which a double holds exactly.
 */

/** Bytes that are held ahead of what was understood. */
const AHEAD = 4;
/** Odds are parts of this. */
const ALL = 65536;
const HALF = ALL / 2;
/** How much of the surprise the quick and the slow guess take over, as shifts. */
const QUICK = 4;
const SLOW = 7;

/** Of bytes that no writer made it reads other bits; it never fails, but says at the end whether the length fits. */
export class RangeReader {
  private low = 0;
  private high = 0xffffffff;
  private number = 0;
  private taken = 0;

  constructor(private readonly bytes: Uint8Array) {
    for (let i = 0; i < AHEAD; i++) this.shift();
  }

  /** A bit whose odds, a quick guess and a slow one, are at `at`; they learn from it. */
  bit(odds: Uint16Array, at: number): boolean {
    const quick = odds[at];
    const slow = odds[at + 1];
    const set = this.take((quick + slow) >>> 1);
    odds[at] = set ? quick + ((0xffff - quick) >>> QUICK) : quick - (quick >>> QUICK);
    odds[at + 1] = set ? slow + ((0xffff - slow) >>> SLOW) : slow - (slow >>> SLOW);
    return set;
  }

  /** A number of so many bits, at most 31, of which nothing is known. */
  plain(width: number): number {
    let value = 0;
    for (let i = 0; i < width; i++) value = (value << 1) | (this.take(HALF) ? 1 : 0);
    return value;
  }

  /** Whether more was read than there is. */
  isOverrun(): boolean {
    return this.taken > this.bytes.length + AHEAD - 1;
  }

  /** Whether exactly everything was read. */
  isComplete(): boolean {
    return this.taken === this.bytes.length + AHEAD - 1;
  }

  private take(odds: number): boolean {
    const cut = this.low + Math.floor(((this.high - this.low) * odds) / ALL);
    const set = this.number <= cut;
    if (set) this.high = cut;
    else this.low = cut + 1;
    // What both ends of the interval agree on is understood.
    while ((this.low ^ this.high) >>> 24 === 0) {
      this.low = (this.low << 8) >>> 0;
      this.high = ((this.high << 8) | 0xff) >>> 0;
      this.shift();
    }
    return set;
  }

  private shift(): void {
    const next = this.taken < this.bytes.length ? this.bytes[this.taken] : 0;
    this.number = ((this.number << 8) | next) >>> 0;
    this.taken++;
  }
}
