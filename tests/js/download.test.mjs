/** Downloads: what arrives whole is unpacked, and whatever goes wrong ends in its own sentence. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { afterEach, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";

import { download } from "../../site_assets/runtime/download.mjs";
import { CourseError } from "../../site_assets/runtime/messages.mjs";
import { fileBytes, manifest } from "./golden.mjs";

const WHAT = "the model";
const entry = manifest.models[manifest.trained];
const packed = fileBytes(`generated/${entry.file}`);
const content = new Uint8Array(gunzipSync(packed));

const realFetch = globalThis.fetch;
const realOnLine = Object.getOwnPropertyDescriptor(navigator, "onLine");

afterEach(() => {
  globalThis.fetch = realFetch;
  setOnLine(true);
  if (realOnLine) Object.defineProperty(navigator, "onLine", realOnLine);
});

/** @param {boolean} value */
function setOnLine(value) {
  Object.defineProperty(navigator, "onLine", { value, configurable: true });
}

/** @param {() => Response | Promise<Response>} answer */
function answerWith(answer) {
  const asked = [];
  globalThis.fetch = async (url) => {
    asked.push(url);
    return answer();
  };
  return asked;
}

const start = (onProgress = () => {}) => download("https://example.org/m.bin", entry, WHAT, onProgress).then(({ bytes }) => bytes);

/** @param {RegExp} sentence */
async function fails(sentence) {
  await assert.rejects(start(), (error) => {
    assert.ok(error instanceof CourseError);
    assert.match(error.message, sentence);
    assert.match(error.message, /^The model .*Retry/s);
    assert.ok(error.retry);
    return true;
  });
}

/** A body that gives some bytes and then breaks off. */
function brokenBody(bytes) {
  let given = false;
  return new ReadableStream({
    pull(controller) {
      if (given) return controller.error(new TypeError("network error"));
      given = true;
      return controller.enqueue(bytes);
    },
  });
}

test("a gzipped file is unpacked, with progress in the bytes that arrive", async () => {
  const asked = answerWith(() => new Response(packed));
  const seen = [];
  assert.deepEqual(await start((loaded) => seen.push(loaded)), content);
  assert.deepEqual(asked, ["https://example.org/m.bin"]);
  assert.equal(seen.at(-1), entry.bytes);
  assert.deepEqual(seen, seen.toSorted((a, b) => a - b));
});

test("a file that the host unpacked already is used as it is", async () => {
  answerWith(() => new Response(content));
  assert.deepEqual(await start(), content);
});

test("a truncated gzip file", async () => {
  for (const length of [2, 10, 1000, packed.length - 1, packed.length - 8]) {
    answerWith(() => new Response(packed.slice(0, length)));
    await fails(/arrived damaged or is another file/);
  }
});

test("a truncated file that the host unpacked", async () => {
  answerWith(() => new Response(content.slice(0, -1)));
  await fails(/arrived damaged or is another file/);
});

test("a changed byte", async () => {
  const changed = packed.slice();
  changed[changed.length >> 1] ^= 1;
  answerWith(() => new Response(changed));
  await fails(/arrived damaged or is another file/);
});

test("another gzipped file", async () => {
  answerWith(() => new Response(gzipSync(content.slice(0, 100))));
  await fails(/arrived damaged or is another file/);
});

test("an HTML page in place of the file", async () => {
  answerWith(() => new Response("<!doctype html><title>Welcome</title>", { headers: { "content-type": "text/html" } }));
  await fails(/arrived damaged or is another file/);
});

test("nothing at all", async () => {
  answerWith(() => new Response(new Uint8Array()));
  await fails(/arrived damaged or is another file/);
});

test("the server's refusals", async () => {
  for (const status of [403, 404, 500, 503]) {
    answerWith(() => new Response("<h1>no</h1>", { status }));
    await fails(new RegExp(`did not arrive: the server answered ${status}\\.`));
  }
});

test("no connection", async () => {
  answerWith(() => Promise.reject(new TypeError("fetch failed")));
  setOnLine(true);
  await fails(/did not arrive: the connection to this site failed\. Check the network/);
});

test("a connection that breaks off", async () => {
  answerWith(() => new Response(brokenBody(packed.slice(0, 5000))));
  setOnLine(true);
  await fails(/did not arrive: the connection to this site failed\. Check the network/);
});

test("a device that is offline", async () => {
  answerWith(() => Promise.reject(new TypeError("fetch failed")));
  setOnLine(false);
  await assert.rejects(start(), (error) => {
    assert.equal(
      error.message,
      "This device is offline, so the model could not be downloaded. Connect to the network, then press Retry.",
    );
    return error instanceof CourseError && error.retry;
  });
});

test("a failure does not poison the next try", async () => {
  answerWith(() => Promise.reject(new TypeError("fetch failed")));
  await assert.rejects(start());
  answerWith(() => new Response(packed));
  assert.deepEqual(await start(), content);
});

test("real servers, with and without Content-Encoding", async () => {
  for (const headers of [{}, { "content-encoding": "gzip" }]) {
    const server = createServer((_, response) => response.writeHead(200, headers).end(packed));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const url = `http://127.0.0.1:${server.address().port}/m.bin`;
      assert.deepEqual((await download(url, entry, WHAT, () => {})).bytes, content);
    } finally {
      server.close();
    }
  }
});
