/**
 * A stand-in gateway for work on the viewer: serves web/dist, speaks docs/protocol.md, moves bodies about.
 *
 *   node tools/mock-gateway.mjs [--port 8090] [--bodies 400] [--scene rain]
 */

import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { WebSocketServer } from "ws";
import { REGIONS, SCENES } from "./mock-scenes.mjs";
import { aurasOf, Breaches, clustersOf, encodePairs } from "./mock-seams.mjs";

const DIST = join(dirname(fileURLToPath(import.meta.url)), "..", "dist");
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css" };
/** How long a server that was killed is away, ms. */
const DOWN_MS = 1500;
const HZ = 60;
const ORIGIN = 5;
const RUBBISH_MAX = 20;
const OVERLAYS = ["auras", "clusters", "in-transit", "breaches"];
/** A body counts as in transit for this long after it changed hands, ticks. */
const TRANSIT_TICKS = 20;
const HISTORY_MAX = 16;

/** Starts a gateway; `port` 0 takes a free one. Without `page` it needs no viewer that was built. */
export async function startMock({ port = 0, bodies = 400, scene = "rain", page = true } = {}) {
  if (page && !existsSync(join(DIST, "index.html"))) throw new Error("web/dist is missing: run `npm run build` first");
  const mock = new MockWorld(bodies, scene);
  const http = createServer((request, response) => serve(mock, request, response));
  const sockets = new WebSocketServer({ server: http, path: "/ws", maxPayload: 65536 });
  sockets.on("error", () => {});
  let clients = 0;
  sockets.on("connection", (socket) => {
    let rubbish = 0;
    socket.on("error", () => {});
    socket.on("message", (data, isBinary) => {
      if (mock.command(socket, isBinary ? null : data.toString())) return;
      if (++rubbish > RUBBISH_MAX) socket.close(1008, "too much rubbish");
    });
    mock.greet(socket, ++clients);
  });
  mock.sockets = sockets.clients;
  const ticking = setInterval(() => mock.run(), 1000 / HZ);
  const showing = setInterval(() => mock.showSeams(), 100);
  const telling = setInterval(() => mock.tell({ type: "stats", ...mock.stats() }), 500);
  await new Promise((resolve, reject) => {
    http.once("error", reject);
    http.listen(port, "127.0.0.1", resolve);
  });
  const address = http.address();
  return {
    mock,
    port: address.port,
    url: `http://127.0.0.1:${address.port}/`,
    breach: (breach) => mock.breaches.add({ tick: mock.tick, ...breach }),
    /** Goes away at once, as a crashed server does. */
    async close() {
      clearInterval(ticking);
      clearInterval(telling);
      clearInterval(showing);
      for (const socket of sockets.clients) socket.terminate();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

class MockWorld {
  constructor(count, scene) {
    this.count = count;
    this.sockets = new Set();
    this.era = 0;
    this.tick = 0;
    this.paused = false;
    this.speed = 1;
    this.owed = 0;
    this.startedAt = Date.now();
    this.due = 0;
    this.load(scene);
  }

  load(name) {
    const { statics, bodies, half } = SCENES[name].make(this.count);
    this.scene = name;
    this.era++;
    this.statics = statics;
    this.half = half;
    this.shapes = [];
    this.bodies = new Map();
    this.free = [];
    this.serial = 0;
    this.migrations = [0, 0, 0, 0];
    this.epochs = [1, 1, 1, 1];
    /** Servers that were killed and are not back yet. */
    this.dead = new Set();
    this.breaches = new Breaches();
    for (const body of bodies) this.add(body);
    for (const socket of this.sockets) this.describe(socket);
  }

  add({ shape, position = [0, 0, 0], velocity = [0, 0, 0], spin = [0, 0, 0], kind = 0, ring = null, floor = 0.4 }) {
    const text = JSON.stringify(shape);
    let id = this.shapes.findIndex((known) => known.text === text);
    const fresh = id < 0;
    if (fresh) id = this.shapes.push({ text, shape }) - 1;
    const slot = this.free.pop() ?? this.bodies.size;
    const body = { slot, serial: ++this.serial, id, position: [...position], rotation: [0, 0, 0, 1], velocity: [...velocity] };
    Object.assign(body, { spin, kind, ring, floor, awake: true, epoch: 1, changes: 0, history: [], leftAt: -1e9 });
    body.region = regionAt(body.position);
    this.bodies.set(slot, body);
    return { body, fresh };
  }

  remove(body) {
    this.bodies.delete(body.slot);
    this.free.push(body.slot);
    this.send(new Uint32Array([2, 1, body.slot]).buffer);
  }

  push(body, impulse) {
    body.awake = true;
    const length = Math.hypot(...impulse) || 1;
    body.velocity = impulse.map((c) => (c / length) * 6);
  }

  greet(socket, client) {
    const scenes = Object.entries(SCENES).map(([name, { about }]) => ({ name, about }));
    say(socket, { type: "welcome", protocol: 1, client, scenes });
    this.describe(socket);
  }

  describe(socket) {
    const about = SCENES[this.scene].about;
    say(socket, { type: "world", era: this.era, name: this.scene, about, tick_hz: HZ, statics: this.statics });
    say(socket, { type: "map", epoch: this.era, regions: REGIONS });
    say(socket, { type: "clock", paused: this.paused, speed: this.speed });
    this.shapes.forEach(({ shape }, id) => say(socket, { type: "shape", id, shape }));
    socket.send(encodeCreate([...this.bodies.values()]));
    say(socket, { type: "stats", ...this.stats() });
  }

  /** True unless the message was rubbish. */
  command(socket, text) {
    let command;
    try {
      command = JSON.parse(text);
    } catch {
      command = null;
    }
    const seq = command?.seq ?? null;
    const refuse = (reason) => say(socket, { type: "refused", seq, reason });
    if (typeof command?.type !== "string") {
      refuse("this is not a command");
      return false;
    }
    let nid = null;
    switch (command.type) {
      case "spawn": {
        if (typeof command.shape !== "object" || !numbersOf(command.position) || !numbersOf(command.velocity)) {
          refuse("a spawn needs a shape, a position and a velocity of three numbers");
          return true;
        }
        if (command.position.some((c) => Math.abs(c) > 4000)) {
          refuse("the position is outside the world");
          return true;
        }
        const { body, fresh } = this.add({ ...command, spin: [2, 1, 0] });
        if (fresh) this.tell({ type: "shape", id: body.id, shape: command.shape });
        this.send(encodeCreate([body]));
        nid = nidOf(body);
        break;
      }
      case "impulse":
      case "despawn": {
        const body = [...this.bodies.values()].find((candidate) => nidOf(candidate) === command.nid);
        if (!body || (command.type === "impulse" && !numbersOf(command.impulse))) {
          refuse(`there is no body ${command.nid}`);
          return true;
        }
        if (command.type === "despawn") this.remove(body);
        else this.push(body, command.impulse);
        break;
      }
      case "overlays":
        if (!Array.isArray(command.on) || command.on.some((name) => !OVERLAYS.includes(name))) {
          refuse("there is no such overlay");
          return true;
        }
        socket.overlays = command.on;
        socket.breachesTold = null;
        break;
      case "inspect": {
        const body = [...this.bodies.values()].find((candidate) => nidOf(candidate) === command.nid);
        if (!body) {
          refuse(`there is no body ${command.nid}`);
          return true;
        }
        say(socket, { type: "body", seq, ...this.card(body) });
        return true;
      }
      case "touches":
        // Somebody who listens hears at once that a body touches the ground.
        if (Array.isArray(command.of) && command.of.length > 0) {
          const touches = command.of.map((two) => ({ tick: this.tick, one: "0.0", two, began: true }));
          say(socket, { type: "touches", touches, left_out: 0 });
        }
        break;
      case "kill":
        if (!(command.server in this.epochs) || this.dead.has(command.server)) {
          refuse(`there is no server ${command.server} to kill`);
          return true;
        }
        this.dead.add(command.server);
        setTimeout(() => {
          this.dead.delete(command.server);
          this.epochs[command.server]++;
        }, DOWN_MS);
        break;
      case "reset":
        this.load(this.scene);
        break;
      case "scene":
        if (!Object.hasOwn(SCENES, command.name)) {
          refuse(`there is no scene "${command.name}"`);
          return true;
        }
        this.load(command.name);
        break;
      case "pause":
        this.paused = command.paused === true;
        this.tell({ type: "clock", paused: this.paused, speed: this.speed });
        break;
      case "step":
        if (!this.paused) {
          refuse("steps are for a paused world");
          return true;
        }
        this.owed += Math.max(0, Math.min(600, command.ticks | 0));
        break;
      case "speed":
        if (!(command.factor >= 0.05 && command.factor <= 4)) {
          refuse("the speed must be from 0.05 to 4");
          return true;
        }
        this.speed = command.factor;
        this.tell({ type: "clock", paused: this.paused, speed: this.speed });
        break;
      default:
        refuse(`unknown command "${command.type}"`);
        return false;
    }
    say(socket, { type: "done", seq, nid });
    return true;
  }

  /** Runs the ticks that are due by the clock; a late timer makes up for at most ten. */
  run() {
    const now = Date.now();
    if (!this.paused) this.due += ((now - this.startedAt) / 1000) * HZ * this.speed;
    this.startedAt = now;
    let ticks = Math.min(10, Math.floor(this.due));
    this.due -= Math.floor(this.due);
    ticks += this.owed;
    this.owed = 0;
    for (let i = 0; i < ticks; i++) this.step();
    if (ticks > 0) this.publish();
  }

  step() {
    this.tick++;
    const dt = 1 / HZ;
    for (const body of this.bodies.values()) {
      if (this.dead.has(body.region)) continue;
      if (body.ring) {
        body.ring.angle += dt * 0.8;
        const { radius, angle, height } = body.ring;
        body.position = [Math.cos(angle) * radius, height, Math.sin(angle) * radius];
        body.rotation = [0, Math.sin(-angle / 2), 0, Math.cos(angle / 2)];
        continue;
      }
      if (!body.awake) continue;
      const { position: p, velocity: v } = body;
      v[1] -= 9.81 * dt;
      for (let k = 0; k < 3; k++) p[k] += v[k] * dt;
      if (p[1] < body.floor) {
        p[1] = body.floor;
        v[1] = Math.abs(v[1]) * 0.72;
        if (v[1] < 0.6) {
          for (let k = 0; k < 3; k++) v[k] *= 0.96;
          if (Math.hypot(...v) < 0.3) body.awake = false;
        }
      }
      for (const k of [0, 2]) {
        if (Math.abs(p[k]) > this.half && p[k] * v[k] > 0 && Math.abs(p[k]) < this.half + 3) v[k] *= -0.9;
      }
      turn(body.rotation, body.spin, dt);
    }
  }

  publish() {
    const moving = [];
    const moved = [];
    for (const body of this.bodies.values()) {
      if (body.awake || body.ring) moving.push(body);
      const region = regionAt(body.position);
      if (region === body.region) continue;
      body.epoch++;
      body.changes++;
      body.history = [...body.history, { tick: this.tick, from: body.region, to: region, epoch: body.epoch }].slice(-HISTORY_MAX);
      body.leftAt = this.tick;
      body.region = region;
      this.migrations[region]++;
      moved.push(body);
    }
    if (moved.length > 0) this.send(encodeOwner(moved));
    this.send(encodeState(this.tick, moving));
  }

  card(body) {
    const { region, epoch, history, changes } = body;
    const desc = { kind: body.kind === 1 ? "kinematic" : "dynamic", shape: this.shapes[body.id].shape, density: 1000 };
    const velocity = { linear: body.velocity, angular: body.spin };
    return { nid: nidOf(body), region, epoch, tick: this.tick, velocity, sleeping: !body.awake, desc, hand_overs: changes, history };
  }

  /** Sends overlays to those who want them. */
  showSeams() {
    const bodies = [...this.bodies.values()];
    this.breaches.watch(bodies, this.tick, nidOf);
    const wanted = new Set([...this.sockets].flatMap((socket) => socket.overlays ?? []));
    if (wanted.size === 0) return;
    const auras = aurasOf(bodies);
    const { total, recent } = this.breaches;
    const messages = {
      auras: () => encodePairs(5, auras.map(({ body, reach }) => [body.slot, reach]), true),
      clusters: () => encodePairs(6, clustersOf(auras).flatMap((members, i) => members.map((body) => [body.slot, i]))),
      "in-transit": () => {
        const onTheirWay = bodies.filter((body) => this.tick - body.leftAt < TRANSIT_TICKS);
        return encodePairs(7, onTheirWay.map((body) => [body.slot, body.region]));
      },
      breaches: () => JSON.stringify({ type: "breaches", total, recent }),
    };
    for (const name of wanted) {
      const message = messages[name]();
      for (const socket of this.sockets) {
        if (!socket.overlays?.includes(name) || socket.readyState !== 1) continue;
        if (name === "breaches" && socket.breachesTold === message) continue;
        if (name === "breaches") socket.breachesTold = message;
        socket.send(message);
      }
    }
  }

  stats() {
    const auras = aurasOf(this.bodies.values());
    const nodes = REGIONS.map(({ id }) => {
      const mine = [...this.bodies.values()].filter((body) => body.region === id);
      const p50 = 0.4 + mine.length * 0.011 + Math.random() * 0.3;
      return {
        id, region: id, bodies: mine.length, awake: mine.filter((body) => body.awake).length,
        step_ms_p50: p50, step_ms_p99: p50 * (1.4 + Math.random() * 0.8), migrations: this.migrations[id],
        auras: auras.filter(({ body }) => body.region === id).length,
        ghosts: auras.filter(({ body }) => body.region !== id).length,
        breaches: this.breaches.byRegion.get(id) ?? 0, epoch: this.epochs[id], tick: this.tick, late_ticks: 0, skew_ms: 0.2,
        alive: !this.dead.has(id), killable: !this.dead.has(id),
      };
    });
    const { tick, era, paused, speed, scene } = this;
    return { tick, bodies: this.bodies.size, clients: this.sockets.size, scene, era, paused, speed, nodes };
  }

  tell(message) {
    for (const socket of this.sockets) say(socket, message);
  }

  send(bytes) {
    for (const socket of this.sockets) if (socket.readyState === 1 && socket.bufferedAmount < 4e6) socket.send(bytes);
  }
}

export function encodeCreate(bodies) {
  const view = new DataView(new ArrayBuffer(8 + bodies.length * 48));
  view.setUint32(0, 1, true);
  view.setUint32(4, bodies.length, true);
  bodies.forEach((body, i) => {
    const at = 8 + i * 48;
    view.setUint32(at, body.slot, true);
    view.setBigUint64(at + 4, (BigInt(ORIGIN) << 48n) | BigInt(body.serial), true);
    view.setUint32(at + 12, body.id, true);
    view.setUint16(at + 16, body.region, true);
    view.setUint8(at + 18, body.kind);
    body.position.forEach((c, k) => view.setFloat32(at + 20 + k * 4, c, true));
    body.rotation.forEach((c, k) => view.setFloat32(at + 32 + k * 4, c, true));
  });
  return view.buffer;
}

export function encodeState(tick, bodies) {
  const n = bodies.length;
  const buffer = new ArrayBuffer(16 + n * 24);
  new Uint32Array(buffer, 0, 4).set([4, n, tick % 4294967296, Math.floor(tick / 4294967296)]);
  const slots = new Uint32Array(buffer, 16, n);
  const positions = new Float32Array(buffer, 16 + n * 4, n * 3);
  const rotations = new Int16Array(buffer, 16 + n * 16, n * 4);
  bodies.forEach((body, i) => {
    slots[i] = body.slot;
    positions.set(body.position, i * 3);
    for (let k = 0; k < 4; k++) rotations[i * 4 + k] = Math.round(body.rotation[k] * 32767);
  });
  return buffer;
}

export function encodeOwner(bodies) {
  const words = new Uint32Array(2 + bodies.length * 2);
  words.set([3, bodies.length]);
  bodies.forEach((body, i) => words.set([body.slot, body.region], 2 + i * 2));
  return words.buffer;
}

function nidOf(body) {
  return `${ORIGIN}.${body.serial}`;
}

function regionAt([x, , z]) {
  return (x < 0 ? 0 : 1) + (z < 0 ? 0 : 2);
}

function turn(q, spin, dt) {
  const [x, y, z, w] = q;
  const [sx, sy, sz] = spin.map((s) => s * dt * 0.5);
  q[0] += sx * w + sy * z - sz * y;
  q[1] += sy * w + sz * x - sx * z;
  q[2] += sz * w + sx * y - sy * x;
  q[3] -= sx * x + sy * y + sz * z;
  const length = Math.hypot(...q);
  for (let k = 0; k < 4; k++) q[k] /= length;
}

function numbersOf(value) {
  return Array.isArray(value) && value.length === 3 && value.every(Number.isFinite);
}

function say(socket, message) {
  if (socket.readyState === 1) socket.send(JSON.stringify(message));
}

function serve(mock, request, response) {
  const path = normalize(new URL(request.url, "http://mock").pathname);
  if (path === "/api/world") {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(mock.stats()));
    return;
  }
  const file = join(DIST, path === "/" ? "index.html" : path);
  if (!file.startsWith(DIST) || !existsSync(file)) {
    response.statusCode = 404;
    response.end("not found");
    return;
  }
  response.setHeader("content-type", TYPES[extname(file)] ?? "application/octet-stream");
  createReadStream(file).on("error", () => response.destroy()).pipe(response);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name, otherwise) => {
    const at = process.argv.indexOf(`--${name}`);
    return at < 0 ? otherwise : process.argv[at + 1];
  };
  const started = await startMock({
    port: Number(option("port", "8090")),
    bodies: Number(option("bodies", "400")),
    scene: option("scene", "rain"),
  });
  console.log(`mock gateway at ${started.url}`);
}
