/**
 * Signs in the world where promises do not hold: a warning, what was exceeded and how often, of constant size on the
 * screen. There are at most `SIGNS_MAX`, and none lies on another.
 */

import { CanvasTexture, Group, type PerspectiveCamera, Sprite, SpriteMaterial, SRGBColorSpace, Vector3 } from "three";
import { type Label, placeLabels, ROW_STEP } from "./label_places";

/** More signs than this hide the world. */
export const SIGNS_MAX = 20;
/** Height of a sign as a share of the height of the view. */
const HEIGHT = 0.032;
/** How far the foot of a sign is above what it is about, in heights of a sign. */
const LIFT = 0.25;
/** Words of a sign change at most this often: each time a picture of them is made, ms. */
const WORDS_MS = 1000;

interface Sign {
  sprite: Sprite;
  words: string;
  madeAt: number;
}

export class BreachSigns {
  readonly group = new Group();
  private readonly signs = new Map<string, Sign>();
  /** Those offered in this frame, the first ones first. */
  private offered: Sign[] = [];
  private readonly offeredKeys = new Set<string>();
  private readonly place = new Vector3();

  begin(): void {
    this.offered = [];
    this.offeredKeys.clear();
  }

  /** Offers a sign at a place. Those offered first get room first; one key has one sign. */
  offer(key: string, words: string, [x, y, z]: [number, number, number], now: number): void {
    // Some find no room, so a few more than can be shown are kept at hand.
    if (this.offeredKeys.has(key) || this.offered.length >= SIGNS_MAX * 2) return;
    this.offeredKeys.add(key);
    let sign = this.signs.get(key);
    if (!sign || (sign.words !== words && now - sign.madeAt > WORDS_MS)) {
      if (sign) this.remove(sign);
      sign = { sprite: makeSign(`⚠ ${words}`), words, madeAt: now };
      this.signs.set(key, sign);
      this.group.add(sign.sprite);
    }
    sign.sprite.position.set(x, y, z);
    this.offered.push(sign);
  }

  /** Shows those that have room beside the `others` in the view of this camera; takes down what was not offered. */
  end(camera: PerspectiveCamera | null, others: readonly Sprite[]): void {
    for (const [key, sign] of this.signs) {
      if (this.offeredKeys.has(key)) continue;
      this.remove(sign);
      this.signs.delete(key);
    }
    for (const { sprite } of this.offered) sprite.visible = false;
    if (!camera) return;
    const seen = this.offered.filter(({ sprite }) => this.isInView(sprite, camera));
    const taken = others.filter((sprite) => this.isInView(sprite, camera));
    const rows = placeLabels(
      seen.map(({ sprite }) => this.labelOf(sprite, LIFT, camera)),
      SIGNS_MAX,
      taken.map((sprite) => this.labelOf(sprite, -sprite.center.y, camera)),
    );
    seen.forEach(({ sprite }, i) => {
      sprite.visible = rows[i] >= 0;
      // The foot of the sign stands on what it is about, or on the sign below.
      sprite.center.set(0.5, -LIFT - Math.max(0, rows[i]) * ROW_STEP);
    });
  }

  private isInView(sprite: Sprite, camera: PerspectiveCamera): boolean {
    const { x, y, z } = this.place.copy(sprite.position).project(camera);
    return Math.abs(x) <= 1 && Math.abs(y) <= 1 && Math.abs(z) <= 1;
  }

  /**
   * What a sprite takes of the view, -1 to 1; its foot is `lift` heights above its place. Without attenuation it is as
   * large as at a distance of one metre.
   */
  private labelOf(sprite: Sprite, lift: number, camera: PerspectiveCamera): Label {
    const { x, y } = this.place.copy(sprite.position).project(camera);
    const { elements } = camera.projectionMatrix;
    const height = sprite.scale.y * elements[5];
    return { x, y: y + lift * height, width: sprite.scale.x * elements[0], height };
  }

  private remove({ sprite }: Sign): void {
    this.group.remove(sprite);
    sprite.material.map?.dispose();
    sprite.material.dispose();
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
  sprite.renderOrder = 11;
  return sprite;
}
