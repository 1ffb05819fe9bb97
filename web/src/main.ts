/** The page: connects the world, the picture and the controls, and runs the frame loop. */

import {
  type Command,
  describe,
  Gateways,
  type Inbound,
  Link,
  type LinkState,
  NOBODY,
  type OverlayName,
  PROTOCOL_VERSION,
  RoundTrip,
  Tickets,
} from "@nimbus/client";
import { Vector3 } from "three";
import { BreachLine } from "./breach_line";
import { BreachList } from "./breach_list";
import { CameraRig } from "./camera";
import { Controls } from "./controls";
import { Follow } from "./follow";
import { listedGateways } from "./listed_gateways";
import { Inspector } from "./inspect";
import { keyOf } from "./keys";
import { LinkPanel } from "./link_panel";
import { BUDGET_KBIT, LowBandwidth, viewOf } from "./low_bandwidth";
import { OpeningLook } from "./opening_look";
import { type OverlayId, Overlays, wantedOf } from "./overlays";
import { element, Panel } from "./panel";
import { panelInsets, rectOf } from "./panel_insets";
import { Probe } from "./probe";
import { Recorder } from "./recorder";
import { SceneCard } from "./scene_card";
import { type Quality, Stage } from "./stage";
import { dress } from "./swatch";
import { installHooks } from "./test_hooks";
import { throwCommand } from "./throw";
import { TimelineView } from "./timeline_view";
import { Toasts } from "./toasts";
import { ToolPreview } from "./tool_preview";
import { Tools } from "./tools";
import { Traffic } from "./traffic";
import { World } from "./world";

/** How often the figures of the link are taken, ms. */
const LINK_MS = 500;

const query = new URLSearchParams(location.search);
const canvas = element<HTMLCanvasElement>("view");
const world = new World();
const rig = new CameraRig(canvas);
const panel = new Panel((server) => send({ type: "kill", server }));
const toasts = new Toasts(element("toasts"));
const panels = { left: element("left"), right: element("panel"), foot: element("foot") };
const stage = query.get("render") === "off" ? null : makeStage();
const traffic = new Traffic(performance.now());
const roundTrip = new RoundTrip();
const linkPanel = new LinkPanel();
const lowBandwidth = new LowBandwidth(query.get("bandwidth") === "low");
const clock = { paused: false, speed: 1 };
const opening = new OpeningLook();
/** What the camera was put to last: the part to look at first, or in a wide world all of it. */
let lookedAt: "focus" | "whole" = "focus";
let fps = 60;
let frames = 0;
let wanted: OverlayName[] = [];
/** The number of the command that asked for them last. */
let subscription = -1;
/** The number of the command that said last where we look. */
let watching = -1;

/** What lets us in the next time, where a token is needed; the first is in the address. */
const tickets = new Tickets();
/** What we may do, as the gateway said. */
let role = "";
const gateways = new Gateways([gatewayUrl()], (round) => tickets.pick(round) ?? query.get("token"));
gateways.learn(listedGateways(location.search));
gateways.isWatched = lowBandwidth.isOn;
const connection = new Link(gateways, {
  text: (message) => {
    traffic.text(message);
    const inbound = world.text(message);
    try {
      if (inbound) show(inbound);
    } catch (error) {
      world.dropped++;
      console.error("a message could not be shown", error);
    }
  },
  binary: (message) => {
    traffic.binary(message.byteLength);
    world.binary(message);
  },
  changed: (state) => {
    if (state.kind !== "live") roundTrip.reset();
    showConnection(state);
  },
});

const controls = new Controls(
  {
    pause: (paused) => send({ type: "pause", paused }),
    step: () => send({ type: "step", ticks: 1 }),
    reset: () => send({ type: "reset" }),
    speed: (factor) => send({ type: "speed", factor }),
    scene: (name) => send({ type: "scene", name }),
    throwBody: (what, speed, x, y) => {
      const direction =
        x === undefined || y === undefined
          ? rig.direction()
          : new Vector3(x, y, 0.5).unproject(rig.camera).sub(rig.camera.position).normalize();
      const command = throwCommand(what.shape(), rig.camera.position, direction, speed, world.killBox);
      if (command === null) toasts.show("You are outside the world and looking past it; turn towards it to throw.", true);
      else send(command);
    },
    pick: (x, y) => {
      if (tools.active === null) inspector.pickAt(x, y);
    },
    letGo: () => {
      if (tools.cancel()) return;
      if (follow.nid === null) inspector.drop();
      else follow.stop();
    },
    follow: () => toggleFollow(),
    toggleMode: () => {
      follow.stop();
      rig.toggleMode();
    },
    frame: () => {
      follow.stop();
      // Pressed again, it shows all of a world too wide to see at once.
      lookedAt = !rig.moved && lookedAt === "focus" ? "whole" : "focus";
      world.measureNow();
      look(true);
    },
    toggleOverlay: (id) => overlays.toggle(id),
    tool: (name) => tools.choose(name),
    toggleScene: () => {
      sceneCard.toggle();
      showScene();
    },
    toggleLink: () => linkPanel.toggle(),
    toggleBandwidth: () => takeLess(!lowBandwidth.isOn),
    record: () => recorder.toggle(),
    retry: () => connection.open(),
    flyKey: (code, down) => rig.key(code, down),
  },
  canvas,
);
rig.modeChanged = (mode) => controls.setMode(mode);

world.seamsView.camera = rig.camera;
// Without a picture nothing is beside the panels.
if (stage) {
  const { left, right, foot } = panels;
  rig.insetsOf = (viewport) =>
    panelInsets(viewport, { left: rectOf(left), right: rectOf(right), foot: rectOf(foot) });
}
const overlays = new Overlays((on) => {
  world.regionsView.group.visible = on.has("regions");
  world.seams.choose(on);
  world.seamsView.choose(on);
  subscribe(on);
});
const inspector = new Inspector(world, rig.camera, send, ask, () => rig.direction());
const preview = new ToolPreview();
const probe = new Probe(preview, send, describeBody, (nid) => send({ type: "despawn", nid }));
const tools = new Tools(canvas, rig, preview, probe, {
  send,
  regions: () => world.regions,
  nameOf: (region) => world.regionName(region),
  heightAt: (x, y) => inspector.heightAt(x, y),
});
const sceneCard = new SceneCard();
const placed = new Float32Array(3);
const follow = new Follow(
  {
    nid: (slot) => world.replicas.nid(slot),
    place: (slot) => {
      world.bodies.placeOf(slot, placed, 0);
      return [placed[0], placed[1], placed[2]];
    },
    radius: (slot) => world.bodies.radiusOf(slot),
  },
  rig,
  (nid, end) => {
    if (end === "dead") toasts.show(`Body ${nid} is gone and cannot be followed any further`);
    showFollowed();
  },
);
inspector.changed = () => follow.stop();
element("inspect-follow").onclick = () => toggleFollow();
const breachLine = new BreachLine(() => overlays.toggle("breaches"));
const breachList = new BreachList((region) => world.regionName(region), (nid) => pickFirst([nid]));
const timelineView = new TimelineView(world.timeline, (region) => world.regionName(region), pickFirst);
const recorder = new Recorder(canvas, element<HTMLButtonElement>("record"), stage !== null, () => hooks.sceneName, (text, bad) =>
  toasts.show(text, bad),
);
const hooks = installHooks(world, connection, rig, clock, () => frames, send, (slot) => inspector.pick(slot), () => follow.nid, {
  tool: () => tools.active,
  gateway: () => gateways.place,
  probed: () => probe.last,
});
stage?.add(world.statics.group, world.bodies.group, world.regionsView.group, world.seamsView.group, preview.group);
connection.open();
setInterval(() => {
  showConnection(connection.state);
  panel.live(world.tick(), world.replicas.count, fps);
  inspector.refresh();
  tools.refresh();
  showScene();
  showFollowed();
  const { seams } = world;
  overlays.count("auras", seams.auraCount);
  overlays.count("clusters", seams.clusters.length);
  overlays.count("in-transit", seams.transits.size);
  showBreaches(performance.now());
}, 250);
setInterval(() => {
  const now = performance.now();
  // Refusals show in the operators' figures, so the question is about a body that exists, if any does.
  if (roundTrip.due(now)) ask({ type: "inspect", nid: world.replicas.anyNid() ?? NOBODY });
  linkPanel.show({
    rates: traffic.take(now, world.replicas.updates),
    jitterMs: world.playhead.jitterMs(),
    delayMs: world.playhead.delayMs(),
    roundTripMs: roundTrip.ms(now),
    budgetKbit: lowBandwidth.isOn ? BUDGET_KBIT : null,
  });
}, LINK_MS);
requestAnimationFrame(frame);

let lastFrame = performance.now();

function frame(): void {
  requestAnimationFrame(frame);
  const now = performance.now();
  const passed = Math.min(now - lastFrame, 1000);
  lastFrame = now;
  frames++;
  if (passed > 0) fps += (1000 / passed - fps) * Math.min(1, passed / 500);
  world.frame(now);
  follow.frame();
  const wish = opening.frame(now, world.replicas.count, world.extentChanged, rig.moved);
  if (wish !== "none") {
    lookedAt = "focus";
    look(wish === "glide");
  } else if (world.extentChanged) {
    stage?.fit(world.extent, world.focus);
  }
  world.extentChanged = false;
  rig.update(passed / 1000);
  if (connection.state.kind === "live") watch(now);
  stage?.draw();
  stage?.adapt(fps, now);
}

/** Brings the camera to what is to be looked at, and light and fog with it. */
function look(gliding: boolean): void {
  rig.frame(world[lookedAt], gliding);
  stage?.fit(world.extent, world[lookedAt]);
}

function show(message: Inbound): void {
  switch (message.type) {
    case "welcome":
      role = message.role ?? "";
      // Another gateway may count otherwise.
      world.seams.breachTally.forgetTotal();
      subscribe(overlays.shown);
      lowBandwidth.forget();
      world.replicas.isSparse = lowBandwidth.isOn;
      controls.setScenes(message.scenes);
      if (message.protocol !== PROTOCOL_VERSION) {
        toasts.show(`The server speaks version ${message.protocol}, this page version ${PROTOCOL_VERSION}. Reload it.`, true);
      }
      break;
    case "gateways":
      gateways.learn(message.at);
      break;
    case "hits":
      probe.answered(message.seq ?? null, message.age, message.answers);
      break;
    case "ticket":
      tickets.add(message.token);
      break;
    case "world":
      opening.opened(performance.now());
      inspector.drop();
      rig.moved = rig.moved && hooks.sceneName === message.name;
      hooks.sceneName = message.name;
      panel.scene(message.name, message.about);
      controls.setScene(message.name);
      break;
    case "clock":
      clock.paused = message.paused;
      clock.speed = message.speed;
      panel.setClock(message.paused, message.speed, message.dilation);
      controls.setClock(message.paused, message.speed);
      break;
    case "stats":
      panel.show(message);
      if (!wanted.includes("breaches")) {
        const total = message.nodes.reduce((sum, node) => sum + node.breaches, 0);
        world.seams.breachTally.take(total, [], performance.now());
      }
      break;
    case "body":
      roundTrip.answered(message.seq ?? null, performance.now());
      inspector.show(message);
      break;
    case "touches":
      inspector.touched(message.touches);
      break;
    case "breaches": {
      const fresh = world.seams.takeBreaches(message.total, message.recent);
      for (const breach of fresh) world.timeline.breach(breach);
      break;
    }
    case "done":
      roundTrip.answered(message.seq ?? null, performance.now());
      hooks.done(message.seq ?? null, message.nid ?? null);
      break;
    case "refused":
      if (roundTrip.answered(message.seq ?? null, performance.now())) break;
      if (inspector.asked(message.seq ?? null) || message.seq === subscription) break;
      // A gateway that cannot do it sends everything.
      if (message.seq === watching) takeLess(false);
      hooks.lastRefusal = { seq: message.seq ?? null, reason: message.reason };
      toasts.show(`Refused: ${message.reason}`, true);
      break;
  }
}

/** Tells the gateway what to send on top of the bodies; a gateway that knows no overlays just refuses. */
function subscribe(on: ReadonlySet<OverlayId>): void {
  const before = wanted.includes("breaches");
  wanted = wantedOf(on, lowBandwidth.isOn);
  // The figures of the servers and the messages about breaches are not of the same moment.
  if (before !== wanted.includes("breaches")) world.seams.breachTally.forgetTotal();
  subscription = connection.send({ type: "overlays", on: wanted });
}

/** Is sent what is in view from now on, or everything. */
function takeLess(less: boolean): void {
  lowBandwidth.isOn = gateways.isWatched = less;
  // Who watches cannot stop it; a new connection begins with everything.
  if (less) subscribe(overlays.shown);
  else connection.open();
}

/** Tells the gateway where we look, when it does not know. */
function watch(now: number): void {
  const view = lowBandwidth.due(viewOf(rig.camera, world.extent), now);
  if (view === null) return;
  world.replicas.isSparse = true;
  watching = connection.send({ type: "watch", ...view });
}

/** Sends a question whose answer tells how long the way is; without a word when there is nobody to ask. */
function ask(command: Command): number {
  const seq = connection.send(command);
  roundTrip.asked(seq, performance.now());
  return seq;
}

/** What a body is called that a ray met. */
function describeBody(nid: string): string {
  if (world.statics.find(nid)) return `Static ${nid}`;
  const slot = world.replicas.slotOf(nid);
  return slot < 0 ? `Body ${nid}` : `Body ${nid} of ${world.regionName(world.replicas.region[slot])}`;
}

/** Breaches are one line, and more only for those who asked. */
function showBreaches(now: number): void {
  const { breachTally } = world.seams;
  const isOpen = overlays.has("breaches");
  breachLine.show(breachTally.line(now), isOpen);
  breachList.show(isOpen, { groups: breachTally.groups(now), tick: world.tick(), tickHz: world.tickHz });
  overlays.count("breaches", breachTally.inLastMinute(now));
  timelineView.show(world.tick(), isOpen);
}

function showScene(): void {
  sceneCard.show({
    facts: world.facts,
    stats: world.stats,
    regions: world.regions,
    bodies: world.replicas.count,
    statics: world.statics.count,
    gateway: gateways.place,
    gateways: gateways.count,
    role,
  });
}

/** Picks the first of these bodies that there still is. */
function pickFirst(nids: string[]): void {
  const slot = nids.map((nid) => world.replicas.slotOf(nid)).find((found) => found >= 0);
  if (slot === undefined) toasts.show(`Body ${nids[0]} is gone`);
  else inspector.pick(slot);
}

function toggleFollow(): void {
  if (follow.nid !== null) follow.stop();
  else if (inspector.picked >= 0) follow.start(inspector.picked);
  else toasts.show("Pick a body first: click on it. Then it can be followed.");
}

/** Says which body is followed and whose it is. */
function showFollowed(): void {
  const sign = element("following");
  sign.hidden = follow.nid === null;
  element("inspect-follow").setAttribute("aria-pressed", String(!sign.hidden));
  if (follow.nid === null || inspector.picked < 0) return;
  const region = world.replicas.region[inspector.picked];
  dress(element("following-swatch"), region);
  const words = `Following body ${follow.nid} on ${world.regionName(region)}, ${keyOf("let go")} ends it`;
  const text = element("following-text");
  if (text.textContent !== words) text.textContent = words;
}

function send(command: Command): number {
  const seq = connection.send(command);
  if (seq < 0) toasts.show("Not connected: nothing was sent", true);
  return seq;
}

function showConnection(state: LinkState): void {
  const words = describe(state, Date.now());
  const banner = element("banner");
  const gone = state.kind === "lost" || (state.kind === "connecting" && state.again);
  banner.hidden = words === null;
  banner.classList.toggle("gone", gone);
  document.body.classList.toggle("gone", gone);
  element("banner-retry").hidden = state.kind !== "lost";
  const text = element("banner-text");
  if (words !== null && text.textContent !== words) text.textContent = words;
}

function makeStage(): Stage | null {
  const quality = query.get("quality");
  try {
    return new Stage(canvas, rig, quality === "high" || quality === "low" ? quality : ("auto" satisfies Quality));
  } catch (error) {
    console.error(error);
    toasts.show("This browser cannot draw in three dimensions (WebGL 2 is missing). Figures and controls still work.", true);
    return null;
  }
}

function gatewayUrl(): string {
  const url = new URL("ws", location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  url.search = "";
  return url.href;
}
