/** The strip of the last minute: a column for each half second in which bodies changed hands, a mark for each breach. */

import { breachText } from "./breach_words";
import { regionColour } from "./palette";
import { element } from "./panel";
import { sizedCanvas } from "./sparkline";
import { swatch } from "./swatch";
import { bodiesMeant, type Bucket, BUCKETS, segmentsOf, SPAN_SECONDS, type Timeline } from "./timeline";

/** Share of the height that is for the marks of breaches. */
const BREACH_SHARE = 0.34;
/** A column with this many hand-overs is as high as can be, unless another has more. */
const FULL_MIN = 16;
/** The hint stays this far inside the window. */
const HINT_MARGIN_PX = 6;
/** Lines of each kind that the hint shows. */
const LINES_MAX = 5;

/** A line of the hint: words, and the servers whose marks stand before them. */
export interface HintLine {
  regions: number[];
  words: string;
  bad?: true;
}

export class TimelineView {
  private readonly canvas = element<HTMLCanvasElement>("timeline-strip");
  private readonly hint = element("timeline-hint");
  private buckets: (Bucket | null)[] = [];
  private pointer: { x: number; y: number } | null = null;
  private hinted = "";
  private showsBreaches = false;

  constructor(
    private readonly timeline: Timeline,
    private readonly regionName: (region: number) => string,
    /** Picks the first of these bodies that there still is. */
    private readonly pick: (nids: string[]) => void,
  ) {
    this.canvas.addEventListener("pointermove", (event) => this.pointAt(event));
    this.canvas.addEventListener("pointerleave", () => {
      this.pointer = null;
      this.draw();
    });
    this.canvas.addEventListener("click", (event) => {
      this.pointAt(event);
      this.clicked();
    });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /** Shows the strip as it is at a tick, with or without marks of breaches; called a few times a second. */
  show(tick: number, showsBreaches: boolean): void {
    this.showsBreaches = showsBreaches;
    this.buckets = this.timeline.at(tick).map((bucket) => (showsBreaches || bucket?.handOvers ? bucket : null));
    const { handOvers, breaches } = this.timeline.totals(tick);
    const words = `${handOvers} hand-overs and ${breaches} breaches in the last ${SPAN_SECONDS} seconds`;
    if (this.canvas.getAttribute("aria-label") !== words) this.canvas.setAttribute("aria-label", words);
    this.draw();
  }

  private pointAt(event: MouseEvent): void {
    const box = this.canvas.getBoundingClientRect();
    this.pointer = { x: (event.clientX - box.left) / box.width, y: (event.clientY - box.top) / box.height };
    this.draw();
  }

  /** The column under the pointer. A column is narrow, so the nearest with something in it counts, one to each side. */
  private pointed(): number {
    if (!this.pointer) return -1;
    const at = Math.min(BUCKETS - 1, Math.max(0, Math.floor(this.pointer.x * BUCKETS)));
    return [at, at - 1, at + 1].find((i) => this.buckets[i]) ?? at;
  }

  private clicked(): void {
    const bucket = this.buckets[this.pointed()];
    if (!bucket || !this.pointer) return;
    const { y } = this.pointer;
    const column = this.heightOf(bucket, this.fullCount()) * (1 - BREACH_SHARE);
    const meansBreach = this.showsBreaches && bucket.breaches.length > 0 && y < BREACH_SHARE;
    const bodies = bodiesMeant(bucket, meansBreach ? null : Math.min(0.999, (1 - y) / Math.max(column, 0.01)));
    if (bodies.length > 0) this.pick(bodies);
  }

  private fullCount(): number {
    return Math.max(FULL_MIN, ...this.buckets.map((bucket) => bucket?.handOvers ?? 0));
  }

  /** How high a bucket's column is, as a share; a single hand-over is still seen beside a thousand. */
  private heightOf(bucket: Bucket, full: number): number {
    return bucket.handOvers === 0 ? 0 : 0.15 + (0.85 * Math.log2(bucket.handOvers + 1)) / Math.log2(full + 1);
  }

  private draw(): void {
    const sized = sizedCanvas(this.canvas);
    if (!sized) return;
    const { paint, width, height, ratio } = sized;
    const step = width / BUCKETS;
    const pointed = this.pointed();
    if (pointed >= 0) {
      paint.fillStyle = "rgba(160, 185, 210, 0.22)";
      paint.fillRect(pointed * step, 0, step, height);
    }
    paint.fillStyle = "rgba(160, 185, 210, 0.16)";
    for (let second = 10; second < SPAN_SECONDS; second += 10) {
      paint.fillRect(Math.round((second / SPAN_SECONDS) * width), height * 0.55, 1, height * 0.45);
    }
    paint.fillRect(0, height - 1, width, 1);
    const full = this.fullCount();
    const room = height * (1 - BREACH_SHARE) - 1;
    const column = Math.max(1, step - Math.max(1, ratio));
    this.buckets.forEach((bucket, i) => {
      if (!bucket) return;
      const tall = this.heightOf(bucket, full) * room;
      for (const { to, share, from } of segmentsOf(bucket)) {
        paint.fillStyle = regionColour(to);
        paint.fillRect(i * step, height - 1 - (from + share) * tall, column, share * tall);
      }
      if (this.showsBreaches && bucket.breachCount > 0) drawBreach(paint, (i + 0.5) * step, height * BREACH_SHARE, ratio);
    });
    this.showHint(pointed);
  }

  private showHint(pointed: number): void {
    const bucket = pointed < 0 ? null : this.buckets[pointed];
    this.hint.hidden = !bucket;
    this.canvas.style.cursor = bucket ? "pointer" : "";
    if (!bucket) return;
    const lines = hintLines(bucket, this.regionName, this.showsBreaches);
    const state = JSON.stringify(lines);
    if (state !== this.hinted) this.writeHint(lines);
    this.hinted = state;
    const start = this.hint.offsetParent?.getBoundingClientRect().left ?? 0;
    const wanted = this.canvas.offsetLeft + ((pointed + 0.5) / BUCKETS) * this.canvas.clientWidth;
    const half = this.hint.offsetWidth / 2 + HINT_MARGIN_PX;
    this.hint.style.left = `${Math.max(half - start, Math.min(window.innerWidth - half - start, wanted))}px`;
  }

  private writeHint(lines: HintLine[]): void {
    this.hint.replaceChildren(
      ...lines.map(({ regions, words, bad }) => {
        const line = document.createElement("div");
        line.classList.toggle("warn", bad === true);
        regions.forEach((region, i) => line.append(...(i > 0 ? [" → "] : []), swatch(region)));
        line.append(regions.length > 0 ? ` ${words}` : words);
        return line;
      }),
    );
  }
}

/** What to tell of a bucket: its ticks, who gave how many bodies to whom, and if wanted what did not hold. */
export function hintLines(bucket: Bucket, regionName: (region: number) => string, withBreaches: boolean): HintLine[] {
  const lines: HintLine[] = [{ regions: [], words: `tick ${bucket.start} to ${bucket.end - 1}` }];
  for (const breach of withBreaches ? bucket.breaches.slice(0, LINES_MAX) : []) {
    const whom = breach.bodies.length > 0 ? `, body ${breach.bodies.join(", ")}` : "";
    const words = `⚠ ${breachText(breach)}, ${regionName(breach.region)}, tick ${breach.tick}${whom}`;
    lines.push({ regions: [breach.region], words, bad: true });
  }
  const moreBreaches = bucket.breachCount - Math.min(bucket.breaches.length, LINES_MAX);
  if (withBreaches && moreBreaches > 0) lines.push({ regions: [], words: `and ${moreBreaches} more breaches`, bad: true });
  const ways = [...bucket.ways].sort((a, b) => b.count - a.count).slice(0, LINES_MAX);
  for (const { from, to, count, nid, tick } of ways) {
    const others = count > 1 ? ` and ${count - 1} more` : "";
    lines.push({ regions: [from, to], words: `${regionName(from)} to ${regionName(to)}, tick ${tick}: body ${nid}${others}` });
  }
  const rest = bucket.handOvers - ways.reduce((sum, { count }) => sum + count, 0);
  if (rest > 0) lines.push({ regions: [], words: `and ${rest} hand-overs elsewhere` });
  return lines;
}

/** A triangle on its tip: it looks like no column, whatever its colour. */
function drawBreach(paint: CanvasRenderingContext2D, x: number, room: number, ratio: number): void {
  const half = 4 * ratio;
  paint.fillStyle = "#f0a030";
  paint.beginPath();
  paint.moveTo(x - half, 0);
  paint.lineTo(x + half, 0);
  paint.lineTo(x, room);
  paint.fill();
}
