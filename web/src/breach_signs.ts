/** Signs in the world where a promise does not hold: a warning and what was exceeded, of constant size on the screen. */

import { CanvasTexture, Group, Sprite, SpriteMaterial, SRGBColorSpace } from "three";
import type { Breach } from "@nimbus/client";
import { breachText } from "./seams";

/** More signs than this hide the world. */
const SIGNS_MAX = 5;
/** Signs of older breaches are taken down; the shells around their bodies stay, seconds. */
const SIGN_SECONDS = 5;
/** Height of a sign as a share of the height of the view. */
const HEIGHT = 0.032;

interface Sign {
  sprite: Sprite;
  used: boolean;
}

export class BreachSigns {
  readonly group = new Group();
  private readonly signs = new Map<string, Sign>();
  private readonly places = new Set<string>();

  begin(): void {
    for (const sign of this.signs.values()) sign.used = false;
    this.places.clear();
  }

  /** Puts up a sign for a breach of this age, if there is room; the latest come first. One thing has one sign. */
  add(breach: Breach, [x, y, z]: [number, number, number], ageSeconds: number): void {
    if (ageSeconds > SIGN_SECONDS) return;
    const words = breachText(breach);
    const about = `${breach.region} ${breach.factor} ${breach.bodies[0] ?? ""}`;
    if (this.places.has(about) || this.places.size >= SIGNS_MAX) return;
    this.places.add(about);
    const key = `${about} ${words}`;
    let sign = this.signs.get(key);
    if (!sign) {
      sign = { sprite: makeSign(`⚠ ${words}`), used: true };
      this.signs.set(key, sign);
      this.group.add(sign.sprite);
    }
    sign.used = true;
    sign.sprite.position.set(x, y, z);
  }

  end(): void {
    for (const [key, { sprite, used }] of this.signs) {
      if (used) continue;
      this.group.remove(sprite);
      sprite.material.map?.dispose();
      sprite.material.dispose();
      this.signs.delete(key);
    }
  }
}

function makeSign(text: string): Sprite {
  const canvas = document.createElement("canvas");
  const paint = canvas.getContext("2d");
  const font = "600 28px system-ui, sans-serif";
  let length = 200;
  if (paint) {
    paint.font = font;
    length = Math.ceil(paint.measureText(text).width) + 40;
    canvas.width = length;
    canvas.height = 56;
    paint.font = font;
    paint.fillStyle = "rgba(30, 20, 6, 0.88)";
    paint.strokeStyle = "#f0a030";
    paint.lineWidth = 2.5;
    paint.beginPath();
    paint.roundRect(2, 2, length - 4, 52, 12);
    paint.fill();
    paint.stroke();
    paint.fillStyle = "#ffd9a0";
    paint.textBaseline = "middle";
    paint.fillText(text, 20, 29);
  }
  const map = new CanvasTexture(canvas);
  map.colorSpace = SRGBColorSpace;
  const material = new SpriteMaterial({ map, transparent: true, sizeAttenuation: false, depthTest: false, fog: false });
  const sprite = new Sprite(material);
  sprite.scale.set((HEIGHT * length) / 56, HEIGHT, 1);
  // The foot of the sign stands on what it is about.
  sprite.center.set(0.5, -0.25);
  sprite.renderOrder = 11;
  return sprite;
}
