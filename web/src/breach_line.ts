/** The one quiet line about breaches: of constant height, and a click opens what there is to know. */

import { keyOf } from "./keys";
import { element } from "./panel";

export class BreachLine {
  private readonly button = element<HTMLButtonElement>("breach-line");

  /** `toggle` is called when a person wants to see the breaches, or no longer. */
  constructor(toggle: () => void) {
    this.button.onclick = (event) => {
      toggle();
      // After a click with the mouse the keys belong to the world again.
      if (event.detail > 0) this.button.blur();
    };
  }

  /** Shows these words, or nothing; `isOpen` while marks and list are shown. */
  show(words: string, isOpen: boolean): void {
    // Its place stays, so that nothing below it jumps.
    this.button.style.visibility = words === "" ? "hidden" : "visible";
    if (this.button.textContent !== words) {
      this.button.textContent = words;
      // Narrow pages cut the words off.
      this.button.title = `${words}: show or hide them (${keyOf("show breaches")})`;
    }
    const expanded = String(isOpen);
    if (this.button.getAttribute("aria-expanded") !== expanded) this.button.setAttribute("aria-expanded", expanded);
  }
}
