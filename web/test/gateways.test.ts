import { expect, test } from "vitest";
import { Gateways, listedGateways } from "../src/gateways";

test("every gateway is tried in turn, and then the first again", () => {
  const gateways = new Gateways("here:1", ["here:2"]);
  gateways.learn(["here:1", "here:2", "there:3"]);
  const tried = [0, 1, 2, 3].map(() => {
    const { place } = gateways;
    gateways.next();
    return place;
  });
  expect(tried).toEqual(["here:1", "here:2", "there:3", "here:1"]);
});

test("learning of others does not change the one that is used", () => {
  const gateways = new Gateways("b:2");
  gateways.learn(["a:1", "b:2", "c:3"]);
  expect([gateways.place, gateways.count]).toEqual(["b:2", 3]);
  gateways.learn(["a:1"]);
  expect([gateways.place, gateways.count]).toEqual(["b:2", 3]);
});

test("one that listens everywhere is found by the name of the page", () => {
  const gateways = new Gateways("world.example:7777");
  gateways.learn(["0.0.0.0:7777", "0.0.0.0:7778", "[::]:7779"]);
  expect(gateways.count).toBe(3);
  gateways.next();
  expect(gateways.place).toBe("world.example:7778");
});

test("a page's address may name gateways, and nothing but places", () => {
  expect(listedGateways("?gateways=a:1,%20b:2,&render=off")).toEqual(["a:1", "b:2"]);
  expect(listedGateways("?gateways=a:1/evil,user@b:2")).toEqual([]);
  expect(listedGateways("")).toEqual([]);
});
