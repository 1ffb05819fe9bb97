import { expect, test } from "vitest";
import { listedGateways } from "../src/listed_gateways";

test("a page's address may name gateways, and nothing but places", () => {
  expect(listedGateways("?gateways=a:1,%20b:2,&render=off")).toEqual(["a:1", "b:2"]);
  expect(listedGateways("?gateways=a:1/evil,user@b:2")).toEqual([]);
  expect(listedGateways("")).toEqual([]);
});
