import { Matrix4, Quaternion, Vector3 } from "three";
import { expect, test } from "vitest";
import { compose } from "../src/matrices";
import { numbers, unitQuaternion } from "../../sdk/typescript/test/messages";

test("composition by hand equals three's own", () => {
  const next = numbers(1);
  const out = new Float32Array(48);
  for (let round = 0; round < 500; round++) {
    const p = [next() * 200 - 100, next() * 200 - 100, next() * 200 - 100] as const;
    const q = unitQuaternion(next);
    const s = [next() + 0.1, next() * 4 + 0.1, next() + 0.1] as const;
    compose(out, 16, ...p, ...q, ...s);
    const theirs = new Matrix4().compose(new Vector3(...p), new Quaternion(...q), new Vector3(...s)).elements;
    theirs.forEach((value, i) => expect(Math.abs(out[16 + i] - value)).toBeLessThan(2e-5));
  }
  expect([...out.subarray(0, 16), ...out.subarray(32)].every((value) => value === 0)).toBe(true);
});
