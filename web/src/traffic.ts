/** Counts what the gateway sends and makes rates of it. Times are milliseconds from any fixed point. */

/** Each a second. */
export interface Rates {
  binaryBytes: number;
  textBytes: number;
  messages: number;
  /** Bodies whose motion was told. */
  bodies: number;
}

export class Traffic {
  private binaryBytes = 0;
  private textBytes = 0;
  private messages = 0;
  private bodiesBefore = 0;
  private since: number;
  private latest: Rates = { binaryBytes: 0, textBytes: 0, messages: 0, bodies: 0 };

  constructor(now: number) {
    this.since = now;
  }

  binary(bytes: number): void {
    this.binaryBytes += bytes;
    this.messages++;
  }

  text(message: string): void {
    this.textBytes += utf8Length(message);
    this.messages++;
  }

  /** The rates since the last call. `bodies` is how many updates of bodies there were ever. */
  take(now: number, bodies: number): Rates {
    const seconds = (now - this.since) / 1000;
    // Two calls at one moment: there is no rate in between.
    if (seconds <= 0) return this.latest;
    this.latest = {
      binaryBytes: this.binaryBytes / seconds,
      textBytes: this.textBytes / seconds,
      messages: this.messages / seconds,
      bodies: Math.max(0, bodies - this.bodiesBefore) / seconds,
    };
    this.since = now;
    this.binaryBytes = this.textBytes = this.messages = 0;
    this.bodiesBefore = bodies;
    return this.latest;
  }
}

/** How many bytes a text is on the wire. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    // Two units of a pair make four bytes, which is one more for each.
    bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
  }
  return bytes;
}

/** A rate of bytes for people: three digits and a unit of thousands. */
export function bytesText(bytes: number): string {
  for (const [unit, size] of [["MB", 1e6], ["kB", 1e3]] as const) {
    // What would be written as a thousand of the smaller unit belongs to this one.
    if (bytes >= size * 0.9995) return `${threeDigits(bytes / size)} ${unit}`;
  }
  return `${Math.round(bytes)} B`;
}

function threeDigits(value: number): string {
  return value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}
