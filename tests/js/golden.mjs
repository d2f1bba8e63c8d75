/** What the JavaScript tests read: the golden cases, the manifest, and a comparison of numbers. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

export { manifest } from "../../site_assets/generated/manifest.mjs";

const SITE_ASSETS = new URL("../../site_assets/", import.meta.url);

/** @param {string} path below site_assets */
export const fileUrl = (path) => new URL(path, SITE_ASSETS);

/** @param {string} path below site_assets */
export const fileBytes = (path) => new Uint8Array(readFileSync(fileUrl(path)));

export const golden = JSON.parse(readFileSync(fileUrl("generated/golden.json"), "utf-8"));

/** Each number is within `tolerance` times max(1, |value|) of Python's. */
export function assertClose(mine, expected, tolerance, what) {
  assert.equal(mine.length, expected.length, what);
  expected.forEach((value, index) => {
    const gap = Math.abs(mine[index] - value) / Math.max(1, Math.abs(value));
    assert.ok(gap <= tolerance, `${what}: number ${index} is ${mine[index]}, Python has ${value}`);
  });
}
