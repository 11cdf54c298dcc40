// A worker, which like a server has no document, searches and asks with a signed secret key.
import { Magpie, MagpieError } from "/magpie.js";

onmessage = async ({ data: { baseUrl, key } }) => {
  const out = {};
  try {
    const signed = new Magpie({ baseUrl, key, sign: true });
    out.titles = (await signed.search({ query: "signing key", limit: 3 })).results.map((result) => result.title);
    out.events = [];
    const chat = signed.chat("How often is the signing key rotated?");
    for await (const event of chat) if (out.events.at(-1) !== event.type) out.events.push(event.type);
    out.conversation = chat.conversationId;
    out.unsigned = await new Magpie({ baseUrl, key }).search("signing key").then(() => "answered", (error) => (error instanceof MagpieError ? error.status + " " + error.code : String(error)));
  } catch (error) {
    out.error = String(error);
  }
  postMessage(out);
};
