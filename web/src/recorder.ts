/** Records the picture to a WebM file, where the browser can; where it cannot, the button says why. */

/** The best first. */
const FORMATS = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm"];
const FRAMES_PER_SECOND = 30;
const BITS_PER_SECOND = 8_000_000;
/** The film is handed over piece by piece, so that the browser may move it out of memory, ms. */
const PIECE_MS = 1000;
/** Longer films end by themselves, ms: the page holds them until they are saved. */
const LENGTH_MAX_MS = 10 * 60_000;

/** What of the browser is needed; tests give their own. */
export interface Filming {
  MediaRecorder?: { isTypeSupported(type: string): boolean };
  canCapture: boolean;
  draws: boolean;
}

/** The format to record in, or why that cannot be. */
export function formatFor({ MediaRecorder, canCapture, draws }: Filming): { format: string } | { reason: string } {
  if (!draws) return { reason: "Nothing is drawn, so there is nothing to record" };
  if (!MediaRecorder || !canCapture) return { reason: "This browser cannot record a canvas (MediaRecorder is missing)" };
  const format = FORMATS.find((candidate) => MediaRecorder.isTypeSupported(candidate));
  return format ? { format } : { reason: "This browser cannot record WebM" };
}

/** Minutes and seconds. */
export function lengthText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** The name of a film: what it shows and when it was made, in characters that every file system takes. */
export function filmName(scene: string, when: Date): string {
  const what = scene.replace(/[^\w-]+/g, "-").replace(/^-+|-+$/g, "") || "world";
  return `nimbus-${what}-${when.toISOString().slice(0, 19).replace(/:/g, "-")}.webm`;
}

export class Recorder {
  private running: { film: MediaRecorder; since: number; timer: ReturnType<typeof setInterval> } | null = null;
  private readonly format: string | null;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly button: HTMLButtonElement,
    draws: boolean,
    private readonly scene: () => string,
    private readonly say: (text: string, bad?: boolean) => void,
  ) {
    const chosen = formatFor({ MediaRecorder: globalThis.MediaRecorder, canCapture: "captureStream" in canvas, draws });
    this.format = "format" in chosen ? chosen.format : null;
    button.onclick = () => this.toggle();
    if ("reason" in chosen) {
      button.disabled = true;
      button.title = chosen.reason;
    }
  }

  toggle(): void {
    if (this.running) this.running.film.stop();
    else if (this.format === null) this.say(this.button.title, true);
    else this.start(this.format);
  }

  private start(format: string): void {
    const pieces: Blob[] = [];
    let film: MediaRecorder;
    try {
      const stream = this.canvas.captureStream(FRAMES_PER_SECOND);
      film = new MediaRecorder(stream, { mimeType: format, videoBitsPerSecond: BITS_PER_SECOND });
      film.ondataavailable = (event) => {
        if (event.data.size > 0) pieces.push(event.data);
      };
      film.onerror = () => this.say("The recording failed; what there is of it is saved", true);
      film.onstop = () => {
        for (const track of stream.getTracks()) track.stop();
        this.end();
        this.save(new Blob(pieces, { type: "video/webm" }));
      };
      film.start(PIECE_MS);
    } catch (error) {
      this.say(`The picture cannot be recorded: ${error instanceof Error ? error.message : String(error)}`, true);
      return;
    }
    const timer = setInterval(() => this.show(), 250);
    this.running = { film, since: performance.now(), timer };
    this.show();
  }

  private show(): void {
    if (!this.running) return;
    const { film, since } = this.running;
    const length = performance.now() - since;
    this.button.textContent = `■ ${lengthText(length)}`;
    this.button.classList.add("recording");
    this.button.setAttribute("aria-label", "Stop recording");
    if (length > LENGTH_MAX_MS && film.state === "recording") {
      film.stop();
      this.say(`Films end after ${lengthText(LENGTH_MAX_MS)}`);
    }
  }

  private end(): void {
    clearInterval(this.running?.timer);
    this.running = null;
    this.button.textContent = "Record";
    this.button.classList.remove("recording");
    this.button.removeAttribute("aria-label");
  }

  private save(film: Blob): void {
    if (film.size === 0) {
      this.say("Nothing was recorded", true);
      return;
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(film);
    link.download = filmName(this.scene(), new Date());
    link.click();
    this.say(`Saved ${link.download}`);
    // The browser needs the address until it has read the film.
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }
}
