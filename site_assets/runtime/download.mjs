/** Fetch a file that was gzipped when the site was built, and unpack it here. */
import { pageError } from "./messages.mjs";

const GZIP_MAGIC = [0x1f, 0x8b];

/** @typedef {{bytes: number, raw_bytes: number}} Sizes sizes from the manifest */

/**
 * A shipped file, as it was delivered and unpacked.
 *
 * A host that sets Content-Encoding by itself delivers the bytes unpacked already;
 * then they are used as they are. gzip carries a checksum and a length, so a file
 * that is cut or changed is found when it is unpacked. The damaged copy may come from
 * the browser's cache, so a second request goes past it.
 *
 * @param {string} url
 * @param {Sizes} entry
 * @param {string} what name of the file in an error sentence
 * @param {(loaded: number) => void} onProgress bytes as they arrive
 * @returns {Promise<{packed: Uint8Array<ArrayBuffer>, bytes: Uint8Array<ArrayBuffer>}>}
 */
export async function download(url, entry, what, onProgress) {
  let damage;
  for (const cache of /** @type {const} */ (["default", "reload"])) {
    const packed = await fetchBytes(url, cache, what, onProgress);
    try {
      return { packed, bytes: await unpack(packed, entry) };
    } catch (cause) {
      damage = cause;
    }
  }
  throw pageError("damaged", { what }, damage);
}

/**
 * The content of a delivered file; throws when it is damaged.
 * @param {Uint8Array<ArrayBuffer>} packed
 * @param {Sizes} entry
 */
export async function unpack(packed, entry) {
  const isPacked = GZIP_MAGIC.every((byte, index) => packed[index] === byte);
  const bytes = isPacked ? await gunzip(packed) : packed;
  if (bytes.length !== entry.raw_bytes) throw new RangeError(`${bytes.length} bytes, not ${entry.raw_bytes}`);
  return bytes;
}

/**
 * @param {string} url
 * @param {"default" | "reload"} cache
 * @param {string} what
 * @param {(loaded: number) => void} onProgress
 */
async function fetchBytes(url, cache, what, onProgress) {
  let response;
  const chunks = [];
  let loaded = 0;
  try {
    response = await fetch(url, { cache });
    if (response.ok && response.body) {
      const reader = response.body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        chunks.push(value);
        loaded += value.length;
        onProgress(loaded);
      }
    }
  } catch (cause) {
    throw pageError(navigator.onLine ? "network" : "offline", { what }, cause);
  }
  if (!response.ok) throw pageError("missing", { what, status: response.status });
  return join(chunks, loaded);
}

/** @param {Uint8Array<ArrayBuffer>} packed */
async function gunzip(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * @param {Uint8Array[]} chunks
 * @param {number} length
 */
function join(chunks, length) {
  const all = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    all.set(chunk, offset);
    offset += chunk.length;
  }
  return all;
}
