/** The last so many measurements, for a mean and a maximum that forget. */
export class Rolling {
  private readonly values: Float64Array;
  private next = 0;
  private filled = 0;

  constructor(length: number) {
    this.values = new Float64Array(length);
  }

  push(value: number): void {
    this.values[this.next] = value;
    this.next = (this.next + 1) % this.values.length;
    if (this.filled < this.values.length) this.filled++;
  }

  /** The newest value. */
  last(): number {
    return this.filled === 0 ? 0 : this.values[(this.next + this.values.length - 1) % this.values.length];
  }

  mean(): number {
    let sum = 0;
    for (let i = 0; i < this.filled; i++) sum += this.values[i];
    return this.filled === 0 ? 0 : sum / this.filled;
  }

  max(): number {
    let greatest = 0;
    for (let i = 0; i < this.filled; i++) greatest = Math.max(greatest, this.values[i]);
    return greatest;
  }
}
