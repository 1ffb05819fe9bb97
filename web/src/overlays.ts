/** Which overlays a person wants to see: a row of switches, remembered from visit to visit. */

import { keyOf } from "./keys";
import { element } from "./panel";
import type { OverlayName } from "@nimbus/client";

export type OverlayId = "regions" | OverlayName;

export const OVERLAYS: { id: OverlayId; name: string; about: string }[] = [
  { id: "regions", name: "Regions", about: "the part of space each server looks after" },
  { id: "auras", name: "Auras", about: "how far each body near a seam reaches: what enters comes to its server" },
  { id: "clusters", name: "Clusters", about: "bodies that only move between servers together" },
  { id: "in-transit", name: "In transit", about: "bodies on their way from one server to another" },
  { id: "breaches", name: "Breaches", about: "promises that do not hold: what was exceeded, by how much, for which bodies" },
];

const DEFAULT_ON: OverlayId[] = ["regions"];
const STORED_AS = "nimbus.overlays";

export class Overlays {
  private readonly on: Set<OverlayId>;
  private readonly buttons = new Map<OverlayId, HTMLButtonElement>();

  /** `changed` is called with what is on, once at the start and after every change. */
  constructor(private readonly changed: (on: ReadonlySet<OverlayId>) => void) {
    this.on = new Set(parseStored(read()));
    const root = element("overlays");
    for (const { id, name, about } of OVERLAYS) {
      const key = keyOf(`show ${id}`);
      const button = document.createElement("button");
      button.type = "button";
      button.id = `overlay-${id}`;
      button.title = `${name}: ${about} (${key})`;
      const hint = document.createElement("kbd");
      hint.textContent = key;
      const figure = document.createElement("span");
      figure.className = "figure";
      button.append(hint, name, figure);
      button.onclick = (event) => {
        this.toggle(id);
        if (event.detail > 0) button.blur();
      };
      root.append(button);
      this.buttons.set(id, button);
    }
    this.show();
  }

  /** What is on. */
  get shown(): ReadonlySet<OverlayId> {
    return this.on;
  }

  has(id: OverlayId): boolean {
    return this.on.has(id);
  }

  toggle(id: OverlayId): void {
    if (!this.on.delete(id)) this.on.add(id);
    try {
      localStorage.setItem(STORED_AS, JSON.stringify([...this.on]));
    } catch {
      // A browser that remembers nothing still shows everything.
    }
    this.show();
  }

  /** Writes a small figure beside the name of an overlay that is on. */
  count(id: OverlayId, count: number): void {
    const figure = this.buttons.get(id)?.querySelector(".figure");
    const text = count > 0 && this.on.has(id) ? String(count) : "";
    if (figure && figure.textContent !== text) figure.textContent = text;
  }

  private show(): void {
    for (const [id, button] of this.buttons) button.setAttribute("aria-pressed", String(this.on.has(id)));
    this.changed(this.on);
  }
}

/**
 * What the gateway has to send for these overlays: regions it sends in any case. Of breaches one line tells also while
 * their overlay is off; slow lines then do without the details.
 */
export function wantedOf(on: ReadonlySet<OverlayId>, isSlowLine: boolean): OverlayName[] {
  const wanted = isSlowLine ? on : new Set<OverlayId>([...on, "breaches"]);
  return [...wanted].filter((id): id is OverlayName => id !== "regions").sort();
}

/** The overlays that a stored text names; the usual ones when it makes no sense. Each visit begins without breaches. */
export function parseStored(text: string | null): OverlayId[] {
  if (text === null) return DEFAULT_ON;
  try {
    const value: unknown = JSON.parse(text);
    if (!Array.isArray(value)) return DEFAULT_ON;
    return OVERLAYS.map((overlay) => overlay.id).filter((id) => id !== "breaches" && value.includes(id));
  } catch {
    return DEFAULT_ON;
  }
}

function read(): string | null {
  try {
    return localStorage.getItem(STORED_AS);
  } catch {
    return null;
  }
}
