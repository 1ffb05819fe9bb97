import { Vector3 } from "three";
import { expect, test } from "vitest";
import { bodyBounds } from "../src/body_bounds";
import { focusOf, width } from "../src/extent";

/** Places of `count` bodies, x y z one after another. */
function places(count: number, at: (i: number) => [number, number, number]): Float32Array {
  return Float32Array.from(Array.from({ length: count }, (_, i) => at(i)).flat());
}

test("the box holds the bodies with all that they reach", () => {
  const bounds = bodyBounds(places(50, (i) => [i, 1 + (i % 5), -i / 2]), new Float32Array(50).fill(0.5));
  expect(bounds?.min.toArray()).toEqual([-0.5, 0.5, -25]);
  expect(bounds?.max.toArray()).toEqual([49.5, 5.5, 0.5]);
});

test("few strays among few bodies spoil nothing, along whichever axis they went", () => {
  const tower = places(30, (i) => [0.1 * (i % 2), 0.5 + i, 0]);
  tower.set([700, 1, 0], 3);
  tower.set([0, -400, 0], 6);
  const bounds = bodyBounds(tower);
  expect(bounds && width(bounds)).toBeLessThan(10);
  expect(bounds?.min.y).toBeGreaterThan(0);
  expect(bounds?.max.y, "the top is no stray").toBe(29.5);
});

test("a tower on a wide field of bodies is no stray", () => {
  const both = places(120, (i) => (i < 100 ? [(i % 10) * 2, 0.5, Math.floor(i / 10) * 2] : [9, i - 99, 9]));
  expect(bodyBounds(both)?.max.y).toBeGreaterThan(18);
});

test("a single body, many at one place and nonsense make a box to look at; none make none", () => {
  const nonsense = places(3, (i) => [i === 1 ? NaN : 5, 1, 5]);
  for (const bodies of [places(1, () => [5, 1, 5]), places(9, () => [5, 1, 5]), nonsense]) {
    const bounds = bodyBounds(bodies);
    expect(bounds && width(bounds)).toBe(6);
    expect(bounds?.containsPoint(new Vector3(5, 1, 5))).toBe(true);
  }
  expect(bodyBounds(new Float32Array(0))).toBeNull();
});

test("of very many bodies a part is enough", () => {
  const bounds = bodyBounds(places(50_000, (i) => [i % 100, 1, Math.floor(i / 500)]));
  expect(width(bounds ?? expect.fail())).toBeGreaterThan(90);
});

test("in a wide world the first look is at the crowd, in a small one at everything", () => {
  const wide = places(400, (i) => (i < 200 ? [i * 4 - 400, 1, 0] : [200 + (i % 20), 1, (i % 13) - 6]));
  const focus = focusOf(wide) ?? expect.fail();
  expect(width(bodyBounds(wide) ?? expect.fail())).toBeGreaterThan(500);
  expect(width(focus)).toBeLessThan(161);
  expect(focus.containsPoint(new Vector3(200, 1, 0)) && focus.containsPoint(new Vector3(219, 1, 0))).toBe(true);
  const small = wide.subarray(600);
  expect(focusOf(small)).toEqual(bodyBounds(small));
  expect(focusOf(new Float32Array(0))).toBeNull();
});
