/** Which gateway to try next, and after what pause. The same as `gateways.rs`. */

/** Pauses after each round in which no gateway let us in, ms; the last is used from then on. */
const BACKOFF_MS = [500, 1000, 2000, 3000, 5000];
/** Longest pause before another gateway is tried, ms. Clients that lose the same one should not all come at once. */
const SPREAD_MS = 100;
/** Only a connection that lasted this long counts as a success, ms. */
const LASTING_MS = 3_000;

/** Gateways that are remembered: they may be told from outside. */
const ADDRESSES_MAX = 64;

/** Gateways of one world, of which any will do. */
export class Gateways {
  /** No bodies are to be told of before it was said where to look. */
  isWatched = false;
  private at = 0;
  private failures = 0;

  private readonly addresses: string[];

  constructor(
    /** `ws://host:port/ws`, the first of them first. */
    addresses: readonly string[],
    /** Asked before every attempt, because a token is good only once; `round` counts how often all have failed. */
    private readonly token: (round: number) => string | null = () => null,
    private readonly random: () => number = Math.random,
  ) {
    if (addresses.length === 0) throw new RangeError("a client needs the address of a gateway");
    this.addresses = addresses.map((address) => new URL(address).href);
  }

  /** The one to use or to try now. */
  get current(): string {
    return this.addresses[this.at];
  }

  get count(): number {
    return this.addresses.length;
  }

  /** Where the one to use or to try is, as `host:port`. */
  get place(): string {
    return new URL(this.current).host;
  }

  /**
   * A gateway told where all of them are, each as `host:port`. The present one stays. One that listens everywhere
   * (`0.0.0.0`) is reached by the name of the first.
   */
  learn(places: readonly string[]): void {
    const own = new URL(this.addresses[0]);
    for (const place of places) {
      if (!/^[^/?#@\s]{1,255}$/.test(place)) continue;
      const url = new URL(own);
      const [, port] = /^(?:0\.0\.0\.0|\[::\]):(\d+)$/.exec(place) ?? [];
      if (port === undefined) url.host = place;
      else url.port = port;
      if (this.addresses.length < ADDRESSES_MAX && !this.addresses.includes(url.href)) this.addresses.push(url.href);
    }
  }

  /** What to open for it. */
  url(): string {
    const url = new URL(this.current);
    // The first failure is the loss of the gateway that we had.
    const round = Math.floor(Math.max(0, this.failures - 1) / this.addresses.length);
    const token = this.token(round);
    if (token !== null) url.searchParams.set("token", token);
    if (this.isWatched) url.searchParams.set("bodies", "watched");
    return url.href;
  }

  /**
   * An attempt failed, or a connection ended that had lasted so long. Turns to the next gateway and says how long to wait
   * before it is tried, ms: hardly at all while there are others, longer and longer once all have failed.
   */
  next(lastedMs: number | null): number {
    const { length } = this.addresses;
    if (lastedMs !== null && lastedMs >= LASTING_MS) this.failures = 0;
    this.failures++;
    this.at = (this.at + 1) % length;
    const spread = this.random();
    // Only the first of a round waits for long.
    if (this.failures % length !== 0) return SPREAD_MS * spread;
    return BACKOFF_MS[Math.min(this.failures / length, BACKOFF_MS.length) - 1] * (0.5 + spread);
  }
}
