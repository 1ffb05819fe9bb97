/** The step time of one server over the last minute: the usual step as a filled band, the slow ones as a line. */

import { Sparkline } from "./sparkline";

/** A step longer than this falls behind at 60 ticks a second, ms. */
const BUDGET_MS = 1000 / 60;

/** Ends of a scale of milliseconds. */
export const MS_TOPS: readonly number[] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

export class StepChart {
  private readonly line: Sparkline;

  constructor(colour: string) {
    this.line = new Sparkline(colour, { tops: MS_TOPS, topText: (top) => `${top} ms`, limit: BUDGET_MS });
  }

  get canvas(): HTMLCanvasElement {
    return this.line.canvas;
  }

  setColour(colour: string): void {
    this.line.setColour(colour);
  }

  push(p50: number, p99: number): void {
    this.line.push(p50, p99, `step time over the last minute, now ${p50.toFixed(1)} ms, slowest ${p99.toFixed(1)} ms`);
  }

  draw(): void {
    this.line.draw();
  }
}
