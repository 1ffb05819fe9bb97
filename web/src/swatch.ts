/** The mark of a server in text: a square of its colour with its letter in it. */

import { regionColour } from "./palette";
import { regionLetter } from "./region_letter";

/** What stands for a server without a region. */
export const SPARE_COLOUR = "#5c6875";

/** Makes a mark; `region` null for a server that has none. */
export function swatch(region: number | null): HTMLElement {
  const made = document.createElement("i");
  made.className = "swatch";
  dress(made, region);
  return made;
}

/** Gives a mark the colour and letter of a region. */
export function dress(mark: HTMLElement, region: number | null): void {
  mark.style.background = region === null ? SPARE_COLOUR : regionColour(region);
  const letter = region === null ? "" : regionLetter(region);
  if (mark.textContent !== letter) mark.textContent = letter;
  mark.setAttribute("aria-hidden", "true");
}
