/**
 * One colour per region, told apart by people with any common form of colour vision.
 *
 * The first eight are few hues of clearly different lightness, moved apart for a dark ground until every pair differs for
 * the usual eye and for those without red, green or blue cones; the test has the least distance. Further regions take
 * hues a golden angle apart in three levels of lightness, so that neighbours in number never look alike; from there on
 * the letters of `region_letter.ts` do what colours cannot.
 */

/** What colours are seen against. */
export const BACKGROUND = "#0d1218";

/** The least contrast of a colour with the background. */
const CONTRAST_MIN = 4.6;

const CHOSEN = ["#70afff", "#ffa100", "#108d87", "#aa4bff", "#faf57a", "#fb070e", "#bec1af", "#a3ffff"];

/** The colour of a region as a CSS colour. */
export function regionColour(region: number): string {
  if (region < CHOSEN.length) return CHOSEN[region];
  const further = region - CHOSEN.length;
  const hue = (20 + further * 137.508) % 360;
  let lightness = [0.68, 0.5, 0.84][further % 3];
  let colour = hslToHex(hue, 0.62, lightness);
  while (contrast(colour, BACKGROUND) < CONTRAST_MIN) {
    lightness += 0.02;
    colour = hslToHex(hue, 0.62, lightness);
  }
  return colour;
}

const linearCache = new Map<number, [number, number, number]>();

/** The colour of a region as linear light, which is what instance colours hold. */
export function regionLinear(region: number): [number, number, number] {
  let colour = linearCache.get(region);
  if (!colour) {
    colour = toLinear(regionColour(region));
    linearCache.set(region, colour);
  }
  return colour;
}

/** `#rrggbb` to linear light. */
export function toLinear(hex: string): [number, number, number] {
  const value = parseInt(hex.slice(1), 16);
  return [linear((value >> 16) & 255), linear((value >> 8) & 255), linear(value & 255)];
}

/** The contrast ratio of the web's accessibility guidelines, 1 to 21. */
export function contrast(a: string, b: string): number {
  const la = luminance(a);
  const lb = luminance(b);
  return (Math.max(la, lb) + 0.05) / (Math.min(la, lb) + 0.05);
}

function luminance(hex: string): number {
  const [r, g, b] = toLinear(hex);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function linear(byte: number): number {
  const c = byte / 255;
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
}

function hslToHex(hue: number, saturation: number, lightness: number): string {
  const a = saturation * Math.min(lightness, 1 - lightness);
  const channel = (n: number): string => {
    const k = (n + hue / 30) % 12;
    const value = lightness - a * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(value * 255).toString(16).padStart(2, "0");
  };
  return `#${channel(0)}${channel(8)}${channel(4)}`;
}
