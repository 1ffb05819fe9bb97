/** A running mock gateway. */
export interface Mock {
  port: number;
  url: string;
  close(): Promise<void>;
}

export function startMock(options?: { port?: number; bodies?: number; scene?: string }): Promise<Mock>;
