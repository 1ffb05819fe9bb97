/** The client package against gateways with real sockets: the mock, twice. */

import { AskError, Connection, type Event } from "@nimbus/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { startMock, type Mock } from "../tools/mock-gateway.mjs";

let mocks: Mock[] = [];
let connection: Connection | null = null;

const gatewayOf = (mock: Mock): string => `ws://127.0.0.1:${mock.port}/ws`;

beforeEach(async () => {
  vi.stubGlobal("WebSocket", WebSocket);
  mocks = [await startMock({ bodies: 30, page: false }), await startMock({ bodies: 20, page: false })];
});

afterEach(async () => {
  connection?.close();
  await Promise.all(mocks.map((mock) => mock.close()));
  vi.unstubAllGlobals();
});

async function next(wanted: Event["type"]): Promise<Event> {
  for (;;) {
    const event = await connection?.nextEvent();
    if (!event) throw new Error("the connection is over");
    if (event.type === wanted) return event;
  }
}

test("sees bodies move, asks, is refused, and moves to the other gateway when the first dies", async () => {
  const [one, two] = mocks;
  connection = await Connection.connect(gatewayOf(one), { gateways: [gatewayOf(two)] });
  expect([connection.isLive, connection.gateway]).toEqual([true, gatewayOf(one)]);
  await vi.waitFor(() => expect(connection?.session.replicas.count).toBe(30));
  const places = (): string => JSON.stringify([...connection!.posesAt(connection!.now())].map(({ position }) => position));
  const before = places();
  await vi.waitFor(() => expect(places()).not.toBe(before), 4000);

  const nid = await connection.spawn({ shape: { ball: { radius: 0.4 } }, position: [0, 6, 0], velocity: [1, 0, 0] });
  await vi.waitFor(() => expect(connection?.poseAt(nid, connection.now())).not.toBeNull());
  expect((await connection.inspect(nid)).nid).toBe(nid);
  const refused = await connection.despawn("9999.1").catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(AskError);
  expect(refused).toMatchObject({ kind: "refused" });
  await connection.subscribe(["auras"]);

  await one.close();
  await next("lost");
  await next("connected");
  expect(connection.gateway).toBe(gatewayOf(two));
  await vi.waitFor(() => expect(connection?.session.replicas.count).toBe(20));
});

test("who cannot connect is told, and a dead gateway is passed over", async () => {
  const [one, two] = mocks;
  await one.close();
  await expect(Connection.connect(gatewayOf(one))).rejects.toThrow("no gateway lets us in");
  connection = await Connection.connect(gatewayOf(one), { gateways: [gatewayOf(two)] });
  expect(connection.gateway).toBe(gatewayOf(two));
});
