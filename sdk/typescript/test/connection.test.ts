import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Connection, type Options } from "../src/index.js";
import { FakeSocket, newest } from "./fake_socket.js";

const WELCOME = { type: "welcome", protocol: 1, client: 3, role: "player", scenes: [] };
const WORLD = { type: "world", era: 1, name: "hall", about: "", tick_hz: 60, statics: [] };
const VIEW = { eye: [0, 2, 0] as [number, number, number], range: 50 };

let connection: Connection | null = null;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", FakeSocket);
  FakeSocket.made = [];
});

afterEach(() => {
  connection?.close();
  connection = null;
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function say(message: object): void {
  newest().hear(JSON.stringify(message));
}

/** The newest socket lets us in. */
function letIn(...messages: object[]): void {
  for (const message of [WELCOME, ...messages, WORLD]) say(message);
}

/** Connected to the only gateway. */
async function connected(options: Options = {}, ...messages: object[]): Promise<Connection> {
  const connecting = Connection.connect("ws://a/ws", options);
  letIn(...messages);
  connection = await connecting;
  return connection;
}

/** The gateway breaks off, and the next attempt begins. */
function breakOff(): void {
  newest().die();
  vi.advanceTimersByTime(8_000);
}

const sent = (): Record<string, unknown>[] => newest().sent.map((text) => JSON.parse(text) as Record<string, unknown>);
const watched = (): unknown[] => sent().filter(({ type }) => type === "watch").map(({ range }) => range);
const isAsked = (name: string): string | null => new URL(newest().url).searchParams.get(name);
/** Answers what was sent last. */
const answer = (type: "done" | "refused"): void => say({ type, seq: sent().at(-1)?.seq, reason: "no" });

describe("connecting", () => {
  test("every gateway has its time, and one that is silent does not take that of another", async () => {
    const connecting = Connection.connect("ws://a/ws", { gateways: ["ws://b/ws"] });
    await vi.advanceTimersByTimeAsync(10_500);
    expect(newest().url).toBe("ws://b/ws");
    await vi.advanceTimersByTimeAsync(5_000);
    letIn();
    connection = await connecting;
    expect(connection.gateway).toBe("ws://b/ws");
    expect(FakeSocket.made.length).toBe(2);
    // Nobody waits for a world any more.
    for (let i = 0; i < 30; i++) {
      await vi.advanceTimersByTimeAsync(1000);
      say({ type: "clock", paused: false, speed: 1 });
    }
    expect(connection.isLive).toBe(true);
  });

  test("one that lets us in and shows no world is left for the next", async () => {
    const connecting = Connection.connect("ws://a/ws", { gateways: ["ws://b/ws"], attemptMs: 2000 });
    say(WELCOME);
    await vi.advanceTimersByTimeAsync(2200);
    expect([newest().url, FakeSocket.made[0].closed]).toEqual(["ws://b/ws", true]);
    letIn();
    connection = await connecting;
  });

  test("ends with a reason once all have failed", async () => {
    const connecting = Connection.connect("ws://a/ws", { gateways: ["ws://b/ws"], attemptMs: 2000 });
    const failed = expect(connecting).rejects.toThrow("no gateway lets us in: ws://b/ws showed no world in time");
    await vi.advanceTimersByTimeAsync(4200);
    await failed;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(FakeSocket.made.length).toBe(2);
  });
});

describe("a view", () => {
  test("that was said while there was no gateway is asked for at the next", async () => {
    const { session } = await connected();
    newest().die();
    await expect(connection?.watch(VIEW)).rejects.toMatchObject({ kind: "lost" });
    await expect(connection?.touches("everything")).rejects.toMatchObject({ kind: "lost" });
    vi.advanceTimersByTime(8_000);
    // No gateway has granted it yet. If this one refuses it, there is still everything to see.
    expect(isAsked("bodies")).toBeNull();
    letIn();
    expect(sent().map(({ type }) => type)).toEqual(["watch", "touches"]);
    expect(session.replicas.isSparse).toBe(false);
  });

  test("that was granted is all that the next gateway tells of", async () => {
    const { session } = await connected();
    const watching = connection?.watch(VIEW);
    answer("done");
    await watching;
    expect(session.replicas.isSparse).toBe(true);
    breakOff();
    expect(isAsked("bodies")).toBe("watched");
    letIn();
    expect(watched()).toEqual([50]);
  });

  test("that was refused changes nothing", async () => {
    const { session } = await connected();
    const watching = connection?.watch({ ...VIEW, range: 0 });
    answer("refused");
    await expect(watching).rejects.toMatchObject({ kind: "refused" });
    expect(session.replicas.isSparse).toBe(false);
    breakOff();
    expect(isAsked("bodies")).toBeNull();
    letIn();
    expect(watched()).toEqual([]);
  });

  test("that is too much to ask for now leaves no empty world", async () => {
    await connected({ pendingMax: 0 });
    await expect(connection?.watch(VIEW)).rejects.toMatchObject({ kind: "too-many" });
    breakOff();
    expect(isAsked("bodies")).toBeNull();
  });

  test("that the next gateway refuses leaves the one before it", async () => {
    const { session } = await connected();
    const watching = connection?.watch(VIEW);
    answer("done");
    await watching;
    newest().die();
    await expect(connection?.watch({ ...VIEW, range: 0 })).rejects.toMatchObject({ kind: "lost" });
    vi.advanceTimersByTime(8_000);
    letIn();
    expect([isAsked("bodies"), watched()]).toEqual(["watched", [50, 0]]);
    const [good, bad] = sent();
    say({ type: "done", seq: good.seq });
    say({ type: "refused", seq: bad.seq, reason: "no" });
    expect(session.replicas.isSparse).toBe(true);
    breakOff();
    letIn();
    expect(watched()).toEqual([50]);
  });

  test("that is refused late does not undo a newer one", async () => {
    await connected();
    const refused = expect(connection?.watch({ ...VIEW, range: 0 })).rejects.toMatchObject({ kind: "refused" });
    const granted = connection?.watch({ ...VIEW, range: 60 });
    const [bad, good] = sent();
    say({ type: "refused", seq: bad.seq, reason: "no" });
    say({ type: "done", seq: good.seq });
    await Promise.all([refused, granted]);
    breakOff();
    letIn();
    expect(watched()).toEqual([60]);
  });
});

describe("tickets", () => {
  const ticket = (token: string): object => ({ type: "ticket", token });

  test("one that was spent in vain leaves another", async () => {
    await connected({ token: "first" }, ticket("one"), ticket("two"));
    expect(isAsked("token")).toBe("first");
    breakOff();
    expect(isAsked("token")).toBe("two");
    // The gateway took it, and its answer got lost with the line.
    breakOff();
    expect(isAsked("token")).toBe("one");
    letIn(ticket("three"), ticket("four"));
    breakOff();
    expect(isAsked("token")).toBe("four");
  });

  test("a gateway that gives one at a time will do", async () => {
    await connected({ token: "first" }, ticket("one"));
    breakOff();
    expect(isAsked("token")).toBe("one");
    breakOff();
    expect(isAsked("token")).toBe("one");
    letIn(ticket("two"));
    breakOff();
    expect(isAsked("token")).toBe("two");
  });
});
