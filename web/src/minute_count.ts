/** How often something happened in the last minute, in buckets of a second: memory does not grow with the number. */

const SECONDS = 60;

export class MinuteCount {
  private readonly counts = new Float64Array(SECONDS);
  /** Which second each bucket counts. */
  private readonly seconds = new Float64Array(SECONDS).fill(-1);

  /** It happened `times` times at `nowMs`. */
  add(nowMs: number, times = 1): void {
    const second = Math.floor(nowMs / 1000);
    const place = second % SECONDS;
    if (this.seconds[place] !== second) {
      this.seconds[place] = second;
      this.counts[place] = 0;
    }
    this.counts[place] += times;
  }

  /** How often it happened in the minute before `nowMs`. */
  at(nowMs: number): number {
    const oldest = Math.floor(nowMs / 1000) - SECONDS;
    let sum = 0;
    for (let i = 0; i < SECONDS; i++) if (this.seconds[i] > oldest) sum += this.counts[i];
    return sum;
  }

  clear(): void {
    this.counts.fill(0);
    this.seconds.fill(-1);
  }
}
