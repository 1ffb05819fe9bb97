/** A running mock gateway. */
export interface Mock {
  port: number;
  url: string;
  /** Claims that a promise did not hold. */
  breach(breach: { region: number; factor: string; value: number; limit: number; bodies: string[] }): void;
  close(): Promise<void>;
}

export function startMock(options?: { port?: number; bodies?: number; scene?: string; page?: boolean }): Promise<Mock>;
