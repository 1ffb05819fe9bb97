/** Short messages that come and go. */

const SHOWN_MS = 4200;
/** More than this at a time is noise; older ones make room. */
const SHOWN_MAX = 3;

export class Toasts {
  constructor(private readonly root: HTMLElement) {}

  /** Shows a message; the same text again only shows longer. */
  show(text: string, bad = false): void {
    for (const child of [...this.root.children]) if (child.textContent === text) child.remove();
    while (this.root.children.length >= SHOWN_MAX) this.root.firstElementChild?.remove();
    const toast = document.createElement("div");
    toast.className = bad ? "toast bad" : "toast";
    toast.textContent = text;
    this.root.append(toast);
    setTimeout(() => toast.remove(), SHOWN_MS);
  }
}
