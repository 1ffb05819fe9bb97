import { expect, test } from "vitest";
import { filmName, formatFor, lengthText } from "../src/recorder";

const only = (...formats: string[]): { isTypeSupported(type: string): boolean } => ({ isTypeSupported: (type) => formats.includes(type) });

test("the best format that the browser has is taken", () => {
  const MediaRecorder = only("video/webm", "video/webm;codecs=vp8");
  expect(formatFor({ MediaRecorder, canCapture: true, draws: true })).toEqual({ format: "video/webm;codecs=vp8" });
});

test("where it cannot be, there is a reason", () => {
  const MediaRecorder = only("video/mp4");
  for (const [browser, words] of [
    [{ MediaRecorder, canCapture: true, draws: true }, "WebM"],
    [{ MediaRecorder: undefined, canCapture: true, draws: true }, "MediaRecorder"],
    [{ MediaRecorder: only("video/webm"), canCapture: false, draws: true }, "canvas"],
    [{ MediaRecorder: only("video/webm"), canCapture: true, draws: false }, "Nothing is drawn"],
  ] as const) {
    expect(formatFor(browser)).toEqual({ reason: expect.stringContaining(words) });
  }
});

test("films are named after what they show and when", () => {
  const when = new Date("2026-01-02T03:04:05.678Z");
  expect(filmName("rain", when)).toBe("nimbus-rain-2026-01-02T03-04-05.webm");
  expect(filmName("../my scene/", when)).toBe("nimbus-my-scene-2026-01-02T03-04-05.webm");
  expect(filmName("", when)).toBe("nimbus-world-2026-01-02T03-04-05.webm");
});

test("lengths are minutes and seconds", () => {
  expect([0, 999, 61_000, 600_000].map(lengthText)).toEqual(["0:00", "0:00", "1:01", "10:00"]);
});
