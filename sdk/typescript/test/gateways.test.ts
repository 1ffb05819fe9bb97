import { describe, expect, test } from "vitest";
import { Gateways } from "../src/index.js";

describe("gateways", () => {
  test("another one is tried at once, and a whole round waits", () => {
    const gateways = new Gateways(["ws://a/ws", "ws://b/ws"], () => null, () => 0.5);
    expect([gateways.current, gateways.count]).toEqual(["ws://a/ws", 2]);
    const tried = Array.from({ length: 6 }, () => [gateways.next(null), gateways.current]);
    expect(tried).toEqual([
      [50, "ws://b/ws"],
      [500, "ws://a/ws"],
      [50, "ws://b/ws"],
      [1000, "ws://a/ws"],
      [50, "ws://b/ws"],
      [2000, "ws://a/ws"],
    ]);
  });

  test("a connection that lasted starts the pauses again, and a short one does not", () => {
    const gateways = new Gateways(["ws://a/ws"], () => null, () => 0.5);
    for (let i = 0; i < 6; i++) gateways.next(null);
    expect(gateways.next(1000)).toBe(5000);
    expect(gateways.next(60_000)).toBe(500);
  });

  test("clients do not come back all at once", () => {
    const pauses = [0, 0.25, 0.99].map((random) => new Gateways(["ws://a/ws"], () => null, () => random).next(null));
    expect(new Set(pauses).size).toBe(3);
  });

  test("a gateway tells where the others are", () => {
    const gateways = new Gateways(["ws://one:7777/ws"], () => null, () => 0);
    gateways.learn(["one:7777", "two:7777", "0.0.0.0:7778", "[::]:7779", "evil/?x=", "two:7777"]);
    expect([gateways.place, gateways.count]).toEqual(["one:7777", 4]);
    const others = [1, 2, 3].map(() => (gateways.next(null), gateways.url()));
    expect(others).toEqual(["ws://two:7777/ws", "ws://one:7778/ws", "ws://one:7779/ws"]);
    gateways.learn(Array.from({ length: 500 }, (_, port) => `far:${port + 1}`));
    expect(gateways.count).toBe(64);
  });

  test("the newest token goes along", () => {
    let token: string | null = null;
    const gateways = new Gateways(["ws://a/ws"], () => token);
    expect(gateways.url()).toBe("ws://a/ws");
    token = "v1.t";
    expect(gateways.url()).toBe("ws://a/ws?token=v1.t");
    expect(() => new Gateways([])).toThrow(RangeError);
  });
});
