/** The figures of the link to the gateway: what comes, how evenly, how late it is shown, how long an answer takes. */

import { element } from "./panel";
import { Sparkline } from "./sparkline";
import { MS_TOPS } from "./step_chart";
import { bytesText, type Rates } from "./traffic";

export interface LinkFigures {
  rates: Rates;
  jitterMs: number;
  /** How far behind the newest state the picture is. */
  delayMs: number;
  /** Null while it is not known. */
  roundTripMs: number | null;
  /** What the page takes of what is in view, kbit/s; null when it is sent everything. */
  budgetKbit: number | null;
}

const STORED_AS = "nimbus.link";
const BYTES_TOPS = [1e3, 1e4, 1e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 1e9];

export class LinkPanel {
  private readonly root = element<HTMLDetailsElement>("link");
  private readonly received = new Sparkline("#56b4e9", { tops: BYTES_TOPS, topText: (top) => `${bytesText(top)}/s`.replace(/\.0+ /, " ") });
  private readonly trip = new Sparkline("#e4eaf0", { tops: MS_TOPS, topText: (top) => `${top} ms` });

  constructor() {
    element("link-received").append(this.received.canvas);
    element("link-trip-chart").append(this.trip.canvas);
    this.root.open = stored() === "open";
    this.root.addEventListener("toggle", () => {
      try {
        localStorage.setItem(STORED_AS, this.root.open ? "open" : "closed");
      } catch {
        // It is just closed again at the next visit.
      }
      this.received.draw();
      this.trip.draw();
    });
  }

  toggle(): void {
    this.root.open = !this.root.open;
  }

  /** Takes the newest figures; called twice a second. */
  show({ rates, jitterMs, delayMs, roundTripMs, budgetKbit }: LinkFigures): void {
    const { binaryBytes, textBytes, messages, bodies } = rates;
    const total = `${bytesText(binaryBytes + textBytes)}/s`;
    const trip = roundTripMs === null ? "–" : `${msText(roundTripMs)} ms`;
    write("link-brief", `${total}, ${trip}`);
    write("link-binary", `${bytesText(binaryBytes)}/s`);
    write("link-text", `${bytesText(textBytes)}/s`);
    write("link-messages", `${Math.round(messages)}/s`);
    write("link-bodies", `${Math.round(bodies).toLocaleString("en")}/s`);
    write("link-jitter", `${msText(jitterMs)} ms`);
    write("link-delay", `${msText(delayMs)} ms`);
    write("link-trip", trip);
    write("link-sent", budgetKbit === null ? "sent: everything" : `sent: in view, at most ${budgetKbit.toLocaleString("en")} kbit/s`);
    element("low-bandwidth").setAttribute("aria-pressed", String(budgetKbit !== null));
    this.received.push(binaryBytes, binaryBytes + textBytes, `received over the last minute, now ${total}`);
    this.trip.push(jitterMs, roundTripMs ?? 0, `jitter and round trip over the last minute, now ${msText(jitterMs)} ms and ${trip}`);
  }
}

function msText(ms: number): string {
  return ms.toFixed(ms >= 9.95 ? 0 : 1);
}

function write(id: string, text: string): void {
  const target = element(id);
  if (target.textContent !== text) target.textContent = text;
}

function stored(): string | null {
  try {
    return localStorage.getItem(STORED_AS);
  } catch {
    return null;
  }
}
