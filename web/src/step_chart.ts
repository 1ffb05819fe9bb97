/** The step time of one server over the last minute: the usual step as a filled band, the slow ones as a line. */

/** Stats come twice a second. */
const SAMPLES = 120;
/** A step longer than this falls behind at 60 ticks a second, ms. */
const BUDGET_MS = 1000 / 60;

export class StepChart {
  readonly canvas = document.createElement("canvas");
  private readonly usual: number[] = [];
  private readonly slow: number[] = [];

  constructor(private colour: string) {
    this.canvas.setAttribute("role", "img");
  }

  setColour(colour: string): void {
    this.colour = colour;
  }

  push(p50: number, p99: number): void {
    this.usual.push(p50);
    this.slow.push(p99);
    if (this.usual.length > SAMPLES) {
      this.usual.shift();
      this.slow.shift();
    }
    const words = `step time over the last minute, now ${p50.toFixed(1)} ms, slowest ${p99.toFixed(1)} ms`;
    this.canvas.setAttribute("aria-label", words);
    this.draw();
  }

  draw(): void {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = Math.round(this.canvas.clientWidth * ratio);
    const height = Math.round(this.canvas.clientHeight * ratio);
    if (width === 0 || height === 0) return;
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    const paint = this.canvas.getContext("2d");
    if (!paint) return;
    paint.clearRect(0, 0, width, height);
    const top = scaleTop(Math.max(...this.slow));
    const x = (i: number): number => width - (this.usual.length - 1 - i) * (width / (SAMPLES - 1));
    const y = (ms: number): number => height - 1 - (Math.min(ms, top) / top) * (height - 3);

    paint.strokeStyle = "rgba(160, 185, 210, 0.16)";
    paint.lineWidth = 1;
    line(paint, [[0, height - 0.5], [width, height - 0.5]]);
    if (top > BUDGET_MS) {
      paint.setLineDash([3 * ratio, 3 * ratio]);
      paint.strokeStyle = "rgba(240, 160, 48, 0.6)";
      line(paint, [[0, y(BUDGET_MS)], [width, y(BUDGET_MS)]]);
      paint.setLineDash([]);
    }
    const band: [number, number][] = this.usual.map((ms, i) => [x(i), y(ms)]);
    if (band.length > 1) {
      paint.globalAlpha = 0.35;
      paint.fillStyle = this.colour;
      paint.beginPath();
      paint.moveTo(band[0][0], height);
      for (const [px, py] of band) paint.lineTo(px, py);
      paint.lineTo(band[band.length - 1][0], height);
      paint.fill();
      paint.globalAlpha = 1;
    }
    paint.strokeStyle = this.colour;
    paint.lineWidth = 1.25 * ratio;
    line(paint, this.slow.map((ms, i) => [x(i), y(ms)]));
    paint.fillStyle = "rgba(147, 161, 176, 0.9)";
    paint.font = `${9.5 * ratio}px system-ui, sans-serif`;
    paint.textBaseline = "top";
    paint.fillText(`${top} ms`, 0, 0);
  }
}

/** A round number of milliseconds that holds the greatest sample. */
function scaleTop(greatest: number): number {
  for (const top of [1, 2, 5, 10, 20, 50, 100, 200, 500]) if (greatest <= top) return top;
  return 1000;
}

function line(paint: CanvasRenderingContext2D, points: [number, number][]): void {
  if (points.length < 2) return;
  paint.beginPath();
  points.forEach(([px, py], i) => (i === 0 ? paint.moveTo(px, py) : paint.lineTo(px, py)));
  paint.stroke();
}
