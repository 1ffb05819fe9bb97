/** The gateways to one world: which there are, and which one to try next when one is gone. */

export class Gateways {
  private places: string[];
  private at = 0;

  /** `own` is where the page is from, `listed` what its address names beside that; each is `host:port`. */
  constructor(
    private readonly own: string,
    listed: readonly string[] = [],
  ) {
    this.places = unique([own, ...listed.map((place) => this.reachable(place))]);
  }

  /** The gateway says where all of them are. The present one stays. */
  learn(told: readonly string[]): void {
    const present = this.place;
    this.places = unique([...this.places, ...told.map((place) => this.reachable(place))]);
    this.at = this.places.indexOf(present);
  }

  /** Where to connect now. */
  get place(): string {
    return this.places[this.at];
  }

  get count(): number {
    return this.places.length;
  }

  /** The present one is gone: the next attempt goes to another, if there is one. */
  next(): void {
    this.at = (this.at + 1) % this.places.length;
  }

  /** A gateway that listens everywhere is reached by the name that the page was reached by. */
  private reachable(place: string): string {
    const [, port] = /^(?:0\.0\.0\.0|\[::\]):(\d+)$/.exec(place) ?? [];
    return port === undefined ? place : `${this.own.replace(/:\d+$/, "")}:${port}`;
  }
}

/** The places that `?gateways=` names, separated by commas. */
export function listedGateways(search: string): string[] {
  const listed = new URLSearchParams(search).get("gateways") ?? "";
  return listed.split(",").map((place) => place.trim()).filter((place) => /^[^/?#@\s]+$/.test(place));
}

function unique(places: string[]): string[] {
  return [...new Set(places)];
}
