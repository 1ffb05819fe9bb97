/** Buttons, sliders, keys and clicks: turns what a person does into actions. Knows nothing of the wire. */

import { Help } from "./help";
import { type Action, pressOf } from "./keys";
import type { OverlayId } from "./overlays";
import { element } from "./panel";
import type { SceneInfo } from "@nimbus/client";
import { THROWABLES, type Throwable } from "./throw";
import type { ToolName } from "./tools";

export interface Actions {
  pause(paused: boolean): void;
  step(): void;
  reset(): void;
  speed(factor: number): void;
  scene(name: string): void;
  /** `x` and `y` from -1 to 1 across the view, y up; without them straight ahead. */
  throwBody(what: Throwable, speed: number, x?: number, y?: number): void;
  /** Picks the body there, or none; coordinates as above. */
  pick(x: number, y: number): void;
  /** Ends what is being drawn, the tool or following, or else lets go of the picked body. */
  letGo(): void;
  follow(): void;
  toggleMode(): void;
  frame(): void;
  toggleOverlay(id: OverlayId): void;
  /** Takes a tool, or puts it away. */
  tool(name: ToolName): void;
  toggleScene(): void;
  toggleLink(): void;
  /** Is sent only what is in view, or everything. */
  toggleBandwidth(): void;
  record(): void;
  retry(): void;
  flyKey(code: string, down: boolean): boolean;
}

/** A press that moved less than this is a click, pixels. */
const CLICK_SLOP = 6;
/** Slider moves are sent at most this often, ms. */
const SLIDER_MS = 120;

export class Controls {
  private paused = false;
  private readonly pauseButton = element<HTMLButtonElement>("pause");
  private readonly stepButton = element<HTMLButtonElement>("step");
  private readonly speedSlider = element<HTMLInputElement>("speed");
  private readonly sceneChooser = element<HTMLSelectElement>("scene");
  private readonly throwShape = element<HTMLSelectElement>("throw-shape");
  private readonly throwSpeed = element<HTMLInputElement>("throw-speed");
  private readonly help = new Help(element<HTMLDialogElement>("help"));
  private speedTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly actions: Actions,
    canvas: HTMLCanvasElement,
  ) {
    THROWABLES.forEach((what, i) => this.throwShape.add(new Option(what.name, String(i))));
    this.pauseButton.onclick = () => actions.pause(!this.paused);
    this.stepButton.onclick = () => actions.step();
    element("reset").onclick = () => actions.reset();
    element("throw").onclick = () => this.throwNow();
    element("mode").onclick = () => actions.toggleMode();
    element("low-bandwidth").onclick = () => actions.toggleBandwidth();
    element("help-open").onclick = () => this.help.toggle();
    element("banner-retry").onclick = () => actions.retry();
    this.sceneChooser.onchange = () => {
      actions.scene(this.sceneChooser.value);
      this.sceneChooser.blur();
    };
    this.throwShape.onchange = () => this.throwShape.blur();
    // After a click with the mouse the keys belong to the world again, not to the button.
    element("dock").addEventListener("click", (event) => {
      if (event.detail > 0 && event.target instanceof HTMLButtonElement) event.target.blur();
    });
    this.speedSlider.oninput = () => this.speedMoved();
    this.throwSpeed.oninput = () => {
      element("throw-speed-text").textContent = `${this.throwSpeed.value} m/s`;
    };
    window.addEventListener("keydown", (event) => this.onKey(event));
    window.addEventListener("keyup", (event) => actions.flyKey(event.code, false));
    this.watchClicks(canvas);
    this.setClock(false, 1);
    // Cards above the foot of the page keep clear of it, however many lines it has.
    const foot = element("foot");
    const measure = (): void => document.body.style.setProperty("--foot", `${foot.offsetHeight}px`);
    new ResizeObserver(measure).observe(foot);
  }

  setClock(paused: boolean, speed: number): void {
    this.paused = paused;
    this.pauseButton.textContent = paused ? "Resume" : "Pause";
    this.pauseButton.classList.toggle("on", paused);
    this.stepButton.disabled = !paused;
    if (this.speedTimer === undefined) this.speedSlider.value = String(Math.log2(speed));
    this.writeSpeed(speed);
  }

  setScenes(scenes: SceneInfo[]): void {
    const chosen = this.sceneChooser.value;
    this.sceneChooser.replaceChildren();
    for (const scene of scenes) {
      const option = new Option(scene.name, scene.name);
      option.title = scene.about;
      this.sceneChooser.add(option);
    }
    this.sceneChooser.value = chosen;
  }

  setScene(name: string): void {
    if (![...this.sceneChooser.options].some((option) => option.value === name)) {
      this.sceneChooser.add(new Option(name, name));
    }
    this.sceneChooser.value = name;
  }

  private throwNow(x?: number, y?: number): void {
    const what = THROWABLES[Number(this.throwShape.value)] ?? THROWABLES[0];
    this.actions.throwBody(what, Number(this.throwSpeed.value), x, y);
  }

  setMode(mode: string): void {
    element("mode").textContent = mode === "fly" ? "Fly" : "Orbit";
  }

  private speedMoved(): void {
    const factor = this.sliderSpeed();
    this.writeSpeed(factor);
    if (this.speedTimer !== undefined) return;
    this.speedTimer = setTimeout(() => {
      this.speedTimer = undefined;
      this.actions.speed(this.sliderSpeed());
    }, SLIDER_MS);
  }

  private nudgeSpeed(octaves: number): void {
    this.speedSlider.value = String(Number(this.speedSlider.value) + octaves);
    this.speedMoved();
  }

  /** The slider is logarithmic and holds on to the natural speed. */
  private sliderSpeed(): number {
    const octaves = Number(this.speedSlider.value);
    if (Math.abs(octaves) < 0.12) return 1;
    return Math.min(4, Math.max(0.05, Math.round(2 ** octaves * 100) / 100));
  }

  private writeSpeed(factor: number): void {
    element("speed-text").textContent = `${Number(factor.toFixed(2))}×`;
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const press = pressOf(event.key);
    // Esc closes the list by itself; apart from that only the key that opened it does anything.
    if (this.help.open && press?.action !== "help") return;
    const target = event.target as HTMLElement;
    if (target.tagName === "SELECT" || (target.tagName === "INPUT" && event.key.startsWith("Arrow"))) return;
    if (this.actions.flyKey(event.code, true)) return;
    if (event.key === " " && (target.tagName === "BUTTON" || target.tagName === "SUMMARY")) return;
    if (!press || (event.repeat && !press.repeats)) return;
    event.preventDefault();
    this.keyActions[press.action]();
  }

  /** One for each action of the table of keys; the compiler sees to it. */
  private readonly keyActions: Record<Action, () => void> = {
    throw: () => this.throwNow(),
    follow: () => this.actions.follow(),
    "let go": () => this.actions.letGo(),
    pause: () => this.actions.pause(!this.paused),
    step: () => {
      if (this.paused) this.actions.step();
    },
    reset: () => this.actions.reset(),
    slower: () => this.nudgeSpeed(-0.5),
    faster: () => this.nudgeSpeed(0.5),
    mode: () => this.actions.toggleMode(),
    frame: () => this.actions.frame(),
    "show regions": () => this.actions.toggleOverlay("regions"),
    "show auras": () => this.actions.toggleOverlay("auras"),
    "show clusters": () => this.actions.toggleOverlay("clusters"),
    "show in-transit": () => this.actions.toggleOverlay("in-transit"),
    "show breaches": () => this.actions.toggleOverlay("breaches"),
    "draw static": () => this.actions.tool("static"),
    "draw region": () => this.actions.tool("region"),
    probe: () => this.actions.tool("probe"),
    scene: () => this.actions.toggleScene(),
    link: () => this.actions.toggleLink(),
    "low bandwidth": () => this.actions.toggleBandwidth(),
    panels: () => document.body.classList.toggle("bare"),
    record: () => this.actions.record(),
    help: () => this.help.toggle(),
  };

  private watchClicks(canvas: HTMLCanvasElement): void {
    let from: { x: number; y: number; shift: boolean } | null = null;
    canvas.addEventListener("pointerdown", (event) => {
      from = event.button === 0 && event.isPrimary ? { x: event.clientX, y: event.clientY, shift: event.shiftKey } : null;
      canvas.focus({ preventScroll: true });
    });
    canvas.addEventListener("pointerup", (event) => {
      if (!from || Math.hypot(event.clientX - from.x, event.clientY - from.y) > CLICK_SLOP) return;
      const { shift } = from;
      from = null;
      const box = canvas.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * 2 - 1;
      const y = 1 - ((event.clientY - box.top) / box.height) * 2;
      if (shift) this.throwNow(x, y);
      else this.actions.pick(x, y);
    });
  }
}
