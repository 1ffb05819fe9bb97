import { afterEach, beforeEach, describe as group, expect, test, vi } from "vitest";
import { describe, Gateways, Link, type LinkState } from "../src/index.js";
import { FakeSocket, newest } from "./fake_socket.js";

function setup(): { connection: Link; states: LinkState[]; heard: unknown[] } {
  const states: LinkState[] = [];
  const heard: unknown[] = [];
  const connection = new Link(new Gateways(["ws://here/ws"], () => null, () => 0.5), {
    text: (message) => heard.push(message),
    binary: (message) => heard.push(message),
    changed: (state) => states.push(state),
  });
  connection.open();
  return { connection, states, heard };
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", FakeSocket);
  FakeSocket.made = [];
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

group("a connection with several gateways", () => {
  test("tries each of them at once, and only then waits", () => {
    const three = ["ws://one/ws", "ws://two/ws", "ws://three/ws"];
    const connection = new Link(new Gateways(three, () => null, () => 0.5), { text() {}, binary() {}, changed() {} });
    connection.open();
    const pauses = [0, 1, 2, 3].map(() => {
      newest().die();
      const pause = connection.state.kind === "lost" ? connection.state.retryAt - Date.now() : -1;
      vi.advanceTimersByTime(pause);
      return pause;
    });
    expect(pauses).toEqual([50, 50, 500, 50]);
  });
});

group("a connection", () => {
  test("is live from the first message and hands messages on", () => {
    const { connection, heard } = setup();
    expect(connection.state).toEqual({ kind: "connecting", again: false });
    expect(connection.send({ type: "reset" })).toBe(-1);
    newest().hear("hello");
    const bytes = new ArrayBuffer(8);
    newest().hear(bytes);
    expect(connection.state.kind).toBe("live");
    expect(heard).toEqual(["hello", bytes]);
    expect(connection.send({ type: "reset" })).toBe(1);
    expect(JSON.parse(newest().sent[0])).toEqual({ type: "reset", seq: 1 });
  });

  test("comes back by itself, with longer and longer pauses up to five seconds", () => {
    const { connection } = setup();
    const pauses: number[] = [];
    for (let i = 0; i < 7; i++) {
      newest().die();
      if (connection.state.kind !== "lost") throw new Error("should be lost");
      const pause = connection.state.retryAt - Date.now();
      pauses.push(pause);
      const made = FakeSocket.made.length;
      vi.advanceTimersByTime(pause - 1);
      expect(FakeSocket.made.length).toBe(made);
      vi.advanceTimersByTime(1);
      expect(FakeSocket.made.length).toBe(made + 1);
      expect(connection.state).toEqual({ kind: "connecting", again: true });
    }
    expect(pauses).toEqual([500, 1000, 2000, 3000, 5000, 5000, 5000]);
    newest().hear("hello");
    vi.advanceTimersByTime(4000);
    newest().die("restarting");
    expect(connection.state).toEqual({ kind: "lost", retryAt: Date.now() + 500, reason: "restarting" });
  });

  test("takes a long silence for the end", () => {
    const { connection } = setup();
    newest().hear("hello");
    const socket = newest();
    for (let i = 0; i < 30; i++) {
      vi.advanceTimersByTime(1000);
      socket.hear("still here");
    }
    expect(connection.state.kind).toBe("live");
    vi.advanceTimersByTime(12_100);
    expect(connection.state.kind).not.toBe("live");
    expect(socket.closed).toBe(true);
  });

  test("ignores what an abandoned socket still says", () => {
    const { connection, heard } = setup();
    const old = newest();
    connection.open();
    old.hear("late");
    old.die();
    expect(heard).toEqual([]);
    expect(connection.state).toEqual({ kind: "connecting", again: false });
  });
});

test("a person is told what is going on", () => {
  expect(describe({ kind: "live" }, 0)).toBeNull();
  expect(describe({ kind: "connecting", again: false }, 0)).toContain("Connecting");
  expect(describe({ kind: "lost", retryAt: 3000, reason: "" }, 0)).toBe("The server is gone, retrying in 3 s");
  expect(describe({ kind: "lost", retryAt: 3000, reason: "full" }, 2900)).toBe("The server is gone (full), retrying in 1 s");
});
