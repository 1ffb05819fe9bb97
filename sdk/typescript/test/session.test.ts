import { describe, expect, test } from "vitest";
import { AskError, type Event, Session } from "../src/index.js";
import { createMessage, destroyMessage, ownerMessage, stateMessage } from "./messages.js";

function live(session = new Session()): Session {
  session.handleText(JSON.stringify({ type: "welcome", protocol: 1, client: 3, role: "player", scenes: [] }), 0);
  session.handleText(JSON.stringify({ type: "world", era: 1, name: "hall", about: "", tick_hz: 60, statics: [] }), 0);
  return session;
}

function events(session: Session): Event[] {
  const taken: Event[] = [];
  for (let event = session.events.pop(); event; event = session.events.pop()) taken.push(event);
  return taken;
}

describe("a session", () => {
  test("tells of births, hand-overs and deaths in order", () => {
    const session = live();
    session.handleBinary(createMessage([{ slot: 4, serial: 9 }]), 0);
    session.handleBinary(ownerMessage([[4, 2]]), 1);
    session.handleBinary(destroyMessage([4]), 2);
    expect(events(session)).toEqual([
      { type: "connected", client: 3, role: "player" },
      { type: "loaded", era: 1, name: "hall" },
      { type: "born", nid: "1.9" },
      { type: "handed-over", nid: "1.9", from: 0, to: 2 },
      { type: "died", nid: "1.9" },
    ]);
  });

  test("answers find what was asked", async () => {
    const session = live();
    const [first, second, third] = [0, 0, 0].map(() => session.ask({ type: "reset" }, 0));
    expect(JSON.parse(second.text)).toEqual({ type: "reset", seq: 2 });
    session.handleText(JSON.stringify({ type: "done", seq: 2, nid: "7.42" }), 5);
    session.handleText(JSON.stringify({ type: "refused", seq: 1, reason: "no" }), 6);
    session.handleText(JSON.stringify({ type: "done", seq: 99 }), 6);
    expect(await second.answer).toBe("7.42");
    await expect(first.answer).rejects.toMatchObject({ kind: "refused", message: "no" });
    session.advance(9_999);
    expect(session.pending.count).toBe(1);
    session.advance(10_000);
    await expect(third.answer).rejects.toMatchObject({ kind: "silent" });
  });

  test("nothing waits for a gateway that is gone, and not too much for one that is not", async () => {
    const session = new Session({ pendingMax: 1 });
    expect(() => session.ask({ type: "reset" }, 0)).toThrow(AskError);
    live(session);
    const { answer } = session.ask({ type: "reset" }, 0);
    expect(() => session.ask({ type: "reset" }, 0)).toThrow("too many");
    session.lost("it broke");
    await expect(answer).rejects.toMatchObject({ kind: "lost" });
    expect(events(session).at(-1)).toEqual({ type: "lost", reason: "it broke" });
  });

  test("keeps what was chosen and the ticket for the next gateway", () => {
    const session = live();
    expect([session.subscription(), session.tickets.pick(0)]).toEqual([[], null]);
    session.subscribe(["breaches"]);
    session.ask({ type: "watch", eye: [0, 2, 0], range: 50 }, 0).answer.catch(() => undefined);
    session.ask({ type: "touches", of: "everything" }, 0).answer.catch(() => undefined);
    session.handleText(JSON.stringify({ type: "ticket", token: "v1.t" }), 0);
    session.lost("it broke");
    live(session);
    expect([session.subscription(), session.tickets.pick(0)]).toEqual([
      [
        { type: "overlays", on: ["breaches"] },
        { type: "watch", eye: [0, 2, 0], range: 50 },
        { type: "touches", of: "everything" },
      ],
      "v1.t",
    ]);
    session.ask({ type: "touches", of: [] }, 0).answer.catch(() => undefined);
    expect(session.subscription().some(({ type }) => type === "touches")).toBe(false);
  });

  test("remembers what was chosen while nobody could be asked, and forgets what is refused", () => {
    const session = live();
    session.lost("it broke");
    const all = { type: "touches", of: "everything" } as const;
    expect(() => session.ask({ type: "watch", eye: [0, 2, 0], range: 0 }, 0)).toThrow(AskError);
    expect(() => session.ask({ type: "touches", of: ["1.1"] }, 0)).toThrow(AskError);
    expect(() => session.ask(all, 0)).toThrow(AskError);
    live(session);
    const said = session.subscription();
    expect(said).toEqual([{ type: "watch", eye: [0, 2, 0], range: 0 }, all]);
    for (const command of said) {
      const { text, answer } = session.ask(command, 0);
      answer.catch(() => undefined);
      session.handleText(JSON.stringify({ type: "refused", seq: JSON.parse(text).seq, reason: "no" }), 0);
    }
    expect([session.subscription(), session.isWatching]).toEqual([[], false]);
  });

  test("tells of touches, and of those that nobody tells of", () => {
    const session = live();
    events(session);
    const touch = { tick: 9, one: "0.3", two: "7.42", began: true };
    session.handleText(JSON.stringify({ type: "touches", touches: [touch], left_out: 2 }), 0);
    expect(events(session)).toEqual([
      { type: "touched", ...touch },
      { type: "touches-left-out", count: 2 },
    ]);
  });

  test("keeps the statics that are put in and taken out", () => {
    const session = live();
    const wall = { nid: "0.5", shape: { ball: { radius: 1 } }, position: [0, 0, 0], rotation: [0, 0, 0, 1] };
    session.handleText(JSON.stringify({ type: "statics", added: [wall], removed: [] }), 0);
    expect(session.statics.map(({ nid }) => nid)).toContain("0.5");
    session.handleText(JSON.stringify({ type: "statics", added: [], removed: ["0.5"] }), 0);
    expect(session.statics.map(({ nid }) => nid)).not.toContain("0.5");
  });

  test("shows bodies between the states that came", () => {
    const session = live();
    session.handleBinary(createMessage([{ slot: 1, shape: 6, region: 2 }]), 0);
    for (let tick = 1; tick <= 60; tick++) {
      session.handleBinary(stateMessage(tick, [{ slot: 1, position: [tick, 0, 0] }]), (tick * 1000) / 60);
      session.advance((tick * 1000) / 60);
    }
    const [placed] = [...session.posesAt(1000)];
    expect(placed).toMatchObject({ nid: "1.1", slot: 1, shape: 6, region: 2, isSensor: false });
    expect(placed.position[0]).toBeCloseTo(session.replicas.head, 3);
    expect(placed.position[0]).toBeLessThan(59.5);
    expect(placed.position[0]).toBeGreaterThan(56);
    expect(session.poseAt("1.1", 1000)).toEqual(placed);
    expect(session.poseAt("1.2", 1000)).toBeNull();
  });

  test("counts rubbish and goes on", () => {
    const session = live();
    session.handleText("what?", 0);
    session.handleText('{"type":"weather"}', 0);
    session.handleBinary(new ArrayBuffer(7), 0);
    session.handleBinary(new Uint32Array([99, 0]).buffer, 0);
    expect([session.dropped, session.skipped]).toEqual([2, 2]);
  });
});

describe("events", () => {
  test("a full queue drops the oldest and says so", () => {
    const session = new Session({ eventsMax: 3 });
    for (let i = 1; i <= 10; i++) session.events.push({ type: "born", nid: `0.${i}` });
    expect(events(session)).toEqual([{ type: "missed", count: 7 }, ...[8, 9, 10].map((i) => ({ type: "born", nid: `0.${i}` }))]);
  });

  test("who waits is told, and told of the end", async () => {
    const session = new Session();
    const first = session.events.next();
    session.events.push({ type: "born", nid: "0.1" });
    expect(await first).toEqual({ type: "born", nid: "0.1" });
    session.closed("enough");
    expect(await session.events.next()).toEqual({ type: "closed", reason: "enough" });
    expect(await session.events.next()).toBeNull();
  });
});
