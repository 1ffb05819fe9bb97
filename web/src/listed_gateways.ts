/** The places that `?gateways=` names, each `host:port`, separated by commas. */
export function listedGateways(search: string): string[] {
  const listed = new URLSearchParams(search).get("gateways") ?? "";
  return listed.split(",").map((place) => place.trim()).filter((place) => /^[^/?#@\s]+$/.test(place));
}
