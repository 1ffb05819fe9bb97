import { expect, test } from "vitest";
import { BACKGROUND, contrast, regionColour, regionLinear, toLinear } from "../src/palette";

/**
 * The least distance of two of the first eight colours in OKLab, for every kind of eye. Black and white are 1 apart, and
 * about 0.02 can just be seen side by side; this has to be seen across a room and under changing light.
 */
const DISTANCE_MIN = 0.13;

/** Linear-light matrices that turn a colour into what a dichromat's eye makes of it (Machado, Oliveira, Fernandes 2009). */
const VISION: Record<string, number[][]> = {
  usual: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  deuteranopia: [[0.367, 0.861, -0.228], [0.28, 0.673, 0.047], [-0.012, 0.043, 0.969]],
  protanopia: [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
  tritanopia: [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
};

function seen(hex: string, vision: number[][]): number[] {
  const c = toLinear(hex);
  const [r, g, b] = vision.map((row) => Math.min(1, Math.max(0, row[0] * c[0] + row[1] * c[1] + row[2] * c[2])));
  return oklab(r, g, b);
}

function oklab(r: number, g: number, b: number): number[] {
  const l = Math.cbrt(0.4122 * r + 0.5363 * g + 0.0514 * b);
  const m = Math.cbrt(0.2119 * r + 0.6807 * g + 0.1074 * b);
  const s = Math.cbrt(0.0883 * r + 0.2817 * g + 0.63 * b);
  return [
    0.2105 * l + 0.7936 * m - 0.0041 * s,
    1.978 * l - 2.4286 * m + 0.4506 * s,
    0.0259 * l + 0.7828 * m - 0.8087 * s,
  ];
}

function difference(a: string, b: string, vision: number[][]): number {
  const x = seen(a, vision);
  const y = seen(b, vision);
  return Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}

test("every colour stands out from the background", () => {
  for (let region = 0; region < 128; region++) {
    expect(contrast(regionColour(region), BACKGROUND), `region ${region}`).toBeGreaterThan(4.5);
  }
});

test("the first eight differ for every kind of eye", () => {
  for (const [name, vision] of Object.entries(VISION)) {
    for (let a = 0; a < 8; a++) {
      for (let b = a + 1; b < 8; b++) {
        expect(difference(regionColour(a), regionColour(b), vision), `${name}: ${a} and ${b}`).toBeGreaterThan(DISTANCE_MIN);
      }
    }
  }
});

test("neighbours in number differ, however many there are", () => {
  for (let region = 0; region < 127; region++) {
    expect(difference(regionColour(region), regionColour(region + 1), VISION.usual)).toBeGreaterThan(0.1);
  }
});

test("colours are valid and linear light is in range", () => {
  for (const region of [0, 7, 8, 63, 65535]) {
    expect(regionColour(region)).toMatch(/^#[0-9a-f]{6}$/);
    for (const channel of regionLinear(region)) expect(channel >= 0 && channel <= 1).toBe(true);
  }
  expect(contrast("#ffffff", "#000000")).toBeCloseTo(21, 5);
});
