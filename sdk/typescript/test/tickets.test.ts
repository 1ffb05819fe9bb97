import { expect, test } from "vitest";
import { Gateways, Tickets } from "../src/index.js";

test("a ticket that may be spent is tried again, in turn with the other", () => {
  const tickets = new Tickets();
  expect(tickets.pick(0)).toBeNull();
  tickets.add("one");
  expect([0, 1, 2].map((round) => tickets.pick(round))).toEqual(["one", "one", "one"]);
  tickets.add("two");
  tickets.add("three");
  expect([0, 1, 2].map((round) => tickets.pick(round))).toEqual(["three", "two", "three"]);
});

test("the one that opened the door is spent, and the spare is not", () => {
  const tickets = new Tickets();
  tickets.add("one");
  tickets.add("two");
  expect(tickets.pick(0)).toBe("two");
  // A gateway that gives one at a time, and goes before it gives another.
  tickets.add("three");
  expect([0, 1].map((round) => tickets.pick(round))).toEqual(["three", "one"]);
});

test("every gateway is tried with each of them", () => {
  for (const count of [1, 2, 3, 4]) {
    const tickets = new Tickets();
    tickets.add("one");
    tickets.add("two");
    const addresses = Array.from({ length: count }, (_, i) => `ws://g${i}/ws`);
    const gateways = new Gateways(addresses, (round) => tickets.pick(round));
    gateways.next(60_000);
    const tried = Array.from({ length: count * 2 }, () => {
      const url = gateways.url();
      gateways.next(null);
      return url;
    });
    expect(tried[0]).toContain("token=two");
    expect(new Set(tried).size).toBe(count * 2);
  }
});
