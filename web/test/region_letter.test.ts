import { expect, test } from "vitest";
import { regionLetter } from "../src/region_letter";

test("letters run from A to Z and on with two, and no two regions share one", () => {
  expect([0, 1, 25, 26, 27, 51, 52, 701, 702].map(regionLetter)).toEqual(["A", "B", "Z", "AA", "AB", "AZ", "BA", "ZZ", "AAA"]);
  expect(new Set(Array.from({ length: 2000 }, (_, region) => regionLetter(region))).size).toBe(2000);
});
