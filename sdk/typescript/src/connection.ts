/**
 * A connection to a world: knows every body, shows motion smoothly, asks and is answered, and moves to another gateway by
 * itself when one dies.
 */

import type { Event } from "./events.js";
import { Gateways } from "./gateways.js";
import { Link, type LinkState } from "./link.js";
import { AskError } from "./pending.js";
import type {
  BodyCard,
  Command,
  Hit,
  Hits,
  Joint,
  NearestBody,
  OverlayName,
  Overlapping,
  Quat,
  Query,
  QueryAnswer,
  QueryFilter,
  Shape,
  Spawn,
  TouchesOf,
  Vec3,
  Watch,
} from "./protocol.js";
import { type Placed, Session, type SessionOptions } from "./session.js";

export interface Options extends SessionOptions {
  /** What lets us in, where the gateway asks for tokens. Good once: the gateway gives us the next by itself. */
  token?: string;
  /** Other gateways of the same world, to move to when one dies. */
  gateways?: string[];
  /** How long `connect` waits at most for each gateway to tell of a world, ms. */
  attemptMs?: number;
}

export class Connection {
  /** Everything that is known. */
  readonly session: Session;
  private readonly link: Link;
  private wasLive = false;
  private failed = 0;
  /** Who waits for the first world; null once it is there. */
  private opening: { resolve(): void; reject(error: Error): void } | null = null;
  private attemptTimer: ReturnType<typeof setTimeout> | undefined;
  private readonly attemptMs: number;

  private constructor(url: string, options: Options) {
    this.session = new Session(options);
    this.attemptMs = options.attemptMs ?? 10_000;
    const token = (round: number): string | null => this.session.tickets.pick(round) ?? options.token ?? null;
    this.link = new Link(new Gateways([url, ...(options.gateways ?? [])], token), {
      text: (text) => this.text(text),
      binary: (bytes) => this.session.handleBinary(bytes, this.now()),
      changed: (state) => this.changed(state),
    });
  }

  /**
   * Connects to a gateway (`ws://host:port/ws`), or to the first of `options.gateways` that lets us in, and waits until it
   * has told of a world. Bodies come right after.
   */
  static connect(url: string, options: Options = {}): Promise<Connection> {
    const connection = new Connection(url, options);
    return new Promise((resolve, reject) => {
      connection.opening = { resolve: () => resolve(connection), reject };
      connection.link.open();
    });
  }

  /** The time of this connection, for `posesAt`, ms. */
  now(): number {
    return performance.now();
  }

  /** Every body and where to show it. `now` is `now()`, or the moment at which a frame will be seen. */
  posesAt(now: number): Iterable<Placed> {
    return this.session.posesAt(now);
  }

  /** One body and where to show it, or null. */
  poseAt(nid: string, now: number): Placed | null {
    return this.session.poseAt(nid, now);
  }

  /** True while a gateway has us; false while another one is sought. */
  get isLive(): boolean {
    return this.session.isLive;
  }

  /** The gateway that has us, or is tried. */
  get gateway(): string {
    return this.link.gateways.current;
  }

  /** How far what is shown keeps behind the newest states, ms; it follows the jitter. */
  get delayMs(): number {
    return this.session.playhead.delayMs();
  }

  /** How late all but a few states come, against the earliest, ms. */
  get jitterMs(): number {
    return this.session.playhead.jitterMs();
  }

  /** The next thing that happened; null once the connection is over. For one reader at a time. */
  nextEvent(): Promise<Event | null> {
    return this.session.events.next();
  }

  /** Events one after the other: `for await (const event of connection.events())`. */
  async *events(): AsyncGenerator<Event> {
    for (let event = await this.nextEvent(); event; event = await this.nextEvent()) yield event;
  }

  /** Chooses what to be told on top of the bodies, from every gateway from now on. */
  async subscribe(overlays: OverlayName[]): Promise<void> {
    this.session.subscribe(overlays);
    await this.command({ type: "overlays", on: overlays });
  }

  /** Sends any command and waits for what comes of it; fails with an `AskError`. */
  async command(command: Command): Promise<unknown> {
    const { text, answer } = this.session.ask(command, this.now());
    if (!this.link.sendText(text)) this.session.pending.lose("there is no connection to a gateway");
    return answer;
  }

  /** Makes a body and returns its id once a server has it. Its birth may be told before or after. */
  async spawn(spawn: Spawn): Promise<string> {
    const nid = await this.command({ type: "spawn", ...spawn });
    if (typeof nid !== "string") throw new AskError("refused", "the gateway named no body");
    return nid;
  }

  /** Removes a body. */
  async despawn(nid: string): Promise<void> {
    await this.command({ type: "despawn", nid });
  }

  /** Pushes a body, N s. */
  async impulse(nid: string, impulse: Vec3): Promise<void> {
    await this.command({ type: "impulse", nid, impulse });
  }

  /** Holds two bodies together from now on. */
  async join(one: string, two: string, joint: Joint): Promise<void> {
    await this.command({ type: "join", one, two, joint });
  }

  /** Loads the present world again. */
  async reset(): Promise<void> {
    await this.command({ type: "reset" });
  }

  /** Loads another world. */
  async scene(name: string): Promise<void> {
    await this.command({ type: "scene", name });
  }

  /** Stops or resumes the timeline. */
  async pause(paused: boolean): Promise<void> {
    await this.command({ type: "pause", paused });
  }

  /** Runs some ticks while paused. */
  async step(ticks: number): Promise<void> {
    await this.command({ type: "step", ticks });
  }

  /** Sets the speed of the timeline. */
  async speed(factor: number): Promise<void> {
    await this.command({ type: "speed", factor });
  }

  /**
   * Sees what a view shows from now on, within a budget of bytes, and nothing else; also at every gateway that follows. To be
   * said again whenever the eye moves. What goes out of sight is told with the event `out-of-sight`.
   *
   * Said while no gateway has us it fails as `lost`, and the next gateway is asked for it. When it is refused, the view before it
   * remains.
   */
  async watch(watch: Watch): Promise<void> {
    await this.command({ type: "watch", ...watch });
  }

  /**
   * Is told of these touches from now on with the event `touched`, also by every gateway that follows; of none with `[]`. A
   * touch that began before is told of when it ends. Said while no gateway has us it fails as `lost`, and the next gateway is
   * asked for it.
   */
  async touches(of: TouchesOf): Promise<void> {
    await this.command({ type: "touches", of });
  }

  /** Everything that a gateway knows of a body. */
  async inspect(nid: string): Promise<BodyCard> {
    return (await this.command({ type: "inspect", nid })) as BodyCard;
  }

  /** Asks several questions at once. All are answered for the same places; the answer says how old these are. */
  async query(queries: Query[], filter?: QueryFilter): Promise<Hits> {
    return (await this.command({ type: "query", queries, ...(filter && { filter }) })) as Hits;
  }

  /** What a ray meets first within `max` metres. */
  async ray(origin: Vec3, direction: Vec3, max: number): Promise<Hit | null> {
    return (await this.one<{ ray: Hit | null }>("ray", { ray: { origin, direction, max } })).ray;
  }

  /** What a shape meets first that moves without turning, within `max` metres. */
  async cast(shape: Shape, position: Vec3, direction: Vec3, max: number, rotation?: Quat): Promise<Hit | null> {
    const cast = { shape, position, direction, max, ...(rotation && { rotation }) };
    return (await this.one<{ cast: Hit | null }>("cast", { cast })).cast;
  }

  /** What a shape overlaps. */
  async overlap(shape: Shape, position: Vec3, rotation?: Quat): Promise<Overlapping> {
    const overlap = { shape, position, ...(rotation && { rotation }) };
    return (await this.one<{ overlap: Overlapping }>("overlap", { overlap })).overlap;
  }

  /** The body nearest to a place, within `max` metres. Statics do not count; ask `query` if they should. */
  async nearest(position: Vec3, max: number): Promise<NearestBody | null> {
    const query = { nearest: { position, max } };
    return (await this.one<{ nearest: NearestBody | null }>("nearest", query, { statics: false })).nearest;
  }

  /** Ends it. */
  close(): void {
    if (this.link.state.kind === "closed") return;
    clearTimeout(this.attemptTimer);
    this.link.close();
    this.session.closed("closed by this program");
  }

  private async one<A extends QueryAnswer>(name: string, query: Query, filter?: QueryFilter): Promise<A> {
    const answer: QueryAnswer | undefined = (await this.query([query], filter)).answers[0];
    if (!answer || !(name in answer)) throw new AskError("refused", "the gateway answered another question");
    return answer as A;
  }

  private text(text: string): void {
    const message = this.session.handleText(text, this.now());
    if (message?.type === "welcome") {
      this.wasLive = true;
      // Whether it is refused is for whoever chose it first to hear.
      for (const command of this.session.subscription()) void this.command(command).catch(() => undefined);
    }
    if (message?.type === "gateways") this.link.gateways.learn(message.at);
    if (message?.type !== "world") return;
    clearTimeout(this.attemptTimer);
    this.opening?.resolve();
    this.opening = null;
  }

  private changed(state: LinkState): void {
    if (state.kind === "connecting") this.dialling();
    if (state.kind === "lost") this.lost(state.reason);
  }

  /** Another gateway is tried. */
  private dialling(): void {
    this.link.gateways.isWatched = this.session.isWatching;
    clearTimeout(this.attemptTimer);
    if (!this.opening) return;
    this.attemptTimer = setTimeout(() => this.link.lose(`${this.gateway} showed no world in time`), this.attemptMs);
  }

  private lost(reason: string): void {
    clearTimeout(this.attemptTimer);
    this.failed++;
    if (this.wasLive) this.session.lost(reason);
    this.wasLive = false;
    if (!this.opening || this.failed < this.link.gateways.count) return;
    const { reject } = this.opening;
    this.opening = null;
    this.close();
    reject(new Error(`no gateway lets us in: ${reason || "no answer"}`));
  }
}
