/** A WebSocket that does what a test says. */
export class FakeSocket {
  static readonly OPEN = 1;
  static made: FakeSocket[] = [];
  readyState = 1;
  sent: string[] = [];
  closed = false;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { reason: string }) => void) | null = null;
  onerror: (() => void) | null = null;
  constructor(readonly url: string) {
    FakeSocket.made.push(this);
  }
  send(text: string): void {
    this.sent.push(text);
  }
  close(): void {
    this.closed = true;
  }
  hear(data: unknown): void {
    this.onmessage?.({ data });
  }
  die(reason = ""): void {
    this.onclose?.({ reason });
  }
}

export const newest = (): FakeSocket => FakeSocket.made[FakeSocket.made.length - 1];
