export const sdkAlias: Record<string, string>;
