/** A small chart of the last minute: one series as a filled band, another as a line above it. */

/** Samples come twice a second. */
const SAMPLES = 120;

export interface SparklineStyle {
  /** Ends of the scale to choose from, smallest first; the first that holds every sample is taken, else the last. */
  tops: readonly number[];
  /** The words at the end of the scale. */
  topText: (top: number) => string;
  /** Where a dashed line warns, once the scale reaches that far. */
  limit?: number;
}

export class Sparkline {
  readonly canvas = document.createElement("canvas");
  private readonly bands: number[] = [];
  private readonly lines: number[] = [];

  constructor(
    private colour: string,
    private readonly style: SparklineStyle,
  ) {
    this.canvas.setAttribute("role", "img");
  }

  setColour(colour: string): void {
    this.colour = colour;
  }

  /** Adds a sample and says in words what the chart shows now. */
  push(band: number, line: number, words: string): void {
    this.bands.push(band);
    this.lines.push(line);
    if (this.bands.length > SAMPLES) {
      this.bands.shift();
      this.lines.shift();
    }
    this.canvas.setAttribute("aria-label", words);
    this.draw();
  }

  draw(): void {
    const sized = sizedCanvas(this.canvas);
    if (!sized) return;
    const { paint, width, height, ratio } = sized;
    const { limit, topText } = this.style;
    const top = scaleTop(Math.max(...this.lines, ...this.bands), this.style.tops);
    const x = (i: number): number => width - (this.bands.length - 1 - i) * (width / (SAMPLES - 1));
    const y = (value: number): number => height - 1 - (Math.min(value, top) / top) * (height - 3);

    paint.strokeStyle = "rgba(160, 185, 210, 0.16)";
    paint.lineWidth = 1;
    stroke(paint, [[0, height - 0.5], [width, height - 0.5]]);
    if (limit !== undefined && top > limit) {
      paint.setLineDash([3 * ratio, 3 * ratio]);
      paint.strokeStyle = "rgba(240, 160, 48, 0.6)";
      stroke(paint, [[0, y(limit)], [width, y(limit)]]);
      paint.setLineDash([]);
    }
    const band: [number, number][] = this.bands.map((value, i) => [x(i), y(value)]);
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
    stroke(paint, this.lines.map((value, i) => [x(i), y(value)]));
    paint.fillStyle = "rgba(147, 161, 176, 0.9)";
    paint.font = `${9.5 * ratio}px system-ui, sans-serif`;
    paint.textBaseline = "top";
    paint.fillText(topText(top), 0, 0);
  }
}

/** An empty canvas with as many pixels as its place on the screen has; null while it has none. */
export function sizedCanvas(
  canvas: HTMLCanvasElement,
): { paint: CanvasRenderingContext2D; width: number; height: number; ratio: number } | null {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const width = Math.round(canvas.clientWidth * ratio);
  const height = Math.round(canvas.clientHeight * ratio);
  if (width === 0 || height === 0) return null;
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  const paint = canvas.getContext("2d");
  if (!paint) return null;
  paint.clearRect(0, 0, width, height);
  return { paint, width, height, ratio };
}

/** The smallest end of the scale that holds the greatest sample. */
export function scaleTop(greatest: number, tops: readonly number[]): number {
  return tops.find((top) => greatest <= top) ?? tops[tops.length - 1];
}

function stroke(paint: CanvasRenderingContext2D, points: [number, number][]): void {
  if (points.length < 2) return;
  paint.beginPath();
  points.forEach(([px, py], i) => (i === 0 ? paint.moveTo(px, py) : paint.lineTo(px, py)));
  paint.stroke();
}
