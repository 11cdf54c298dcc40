// The labels of the widget. Those of other languages are files of the server, so that a
// page loads one of them. A page can override all of them with data-labels.

const LANGUAGES = ["de", "es", "fr", "it", "ja", "nl", "pl", "pt", "zh"];

const LABELS = {
  title: "Search",
  open: "Search",
  close: "Close",
  search: "Search",
  ask: "Ask",
  placeholder: "Search the documentation",
  askPlaceholder: "Ask a question",
  askFollowUp: "Ask something else",
  clear: "Clear",
  empty: "Find a page by a few words, or a whole question.",
  askEmpty: "Ask in your own words. The answer says where it comes from.",
  results: "Results",
  oneResult: "1 result",
  manyResults: "{n} results",
  someResults: "{n} of {total} results",
  corrected: "Showing results for “{query}”",
  noResults: "Nothing was found for “{query}”.",
  noResultsHint: "Try other or fewer words.",
  more: "More results",
  askAbout: "Ask about “{query}”",
  complete: "Search for “{query}”",
  copies: "{n} more with the same text",
  searching: "Searching",
  conversation: "Conversation",
  you: "You",
  answer: "Answer",
  answering: "Looking for an answer",
  send: "Send",
  stop: "Stop",
  stopped: "Stopped.",
  restart: "New conversation",
  sources: "Sources",
  source: "Source {n}: {title}",
  followUp: "Ask next",
  newTab: "opens in a new tab",
  untitled: "Untitled",
  hintMove: "move",
  hintOpen: "open",
  hintClose: "close",
  again: "Try again",
  errorHost: "This search does not answer on {host} yet. An administrator has to add {host} to the allowed hosts of the publishable key.",
  errorCollection: "This search may not read its collection. An administrator has to allow the collection for the publishable key.",
  errorKey: "The key of this search is not valid. An administrator has to give the page a valid publishable key.",
  errorExpired: "The key of this search has expired. An administrator has to give the page a new publishable key.",
  errorRate: "That was too many requests in a short time. Try again in {n} seconds.",
  errorRateOne: "That was too many requests in a short time. Try again in a second.",
  errorQuota: "The search has answered all the requests of this month's quota. An administrator can raise it.",
  errorNetwork: "The search could not be reached. Check the connection and try again.",
  errorUnavailable: "The search is not available right now. Try again in a moment.",
  errorInvalid: "The search could not read this request.",
  errorOther: "Something went wrong. Try again in a moment.",
  errorNumber: "Request {id}",
  version: "Version",
  allVersions: "All versions",
  helpful: "Helpful",
  unhelpful: "Not helpful",
  thanks: "Thank you.",
};

/** Returns the labels of a language tag: English ones where there are no others, or the server does not answer. */
async function catalogue(tag, base) {
  const language = tag.toLowerCase().split("-")[0];
  if (!LANGUAGES.includes(language)) return LABELS;
  try {
    const response = await fetch(base.replace(/\/*$/, "/") + "widget/" + language + ".json", { credentials: "omit" });
    return response.ok ? labelsFor(LABELS, await response.json()) : LABELS;
  } catch (_) {
    return LABELS;
  }
}

/** Returns labels, overridden by others. */
function labelsFor(builtin, given) {
  const labels = { ...builtin };
  for (const name of Object.keys(labels)) {
    if (typeof given?.[name] === "string") labels[name] = given[name];
  }
  return labels;
}

/** Replaces {names} by values. */
function fill(label, values) {
  return label.replace(/\{(\w+)\}/g, (whole, name) => (Object.hasOwn(values, name) ? String(values[name]) : whole));
}

/** Returns the message of an error for visitors. */
function explain(error, labels) {
  switch (error.code) {
    case "forbidden":
      return error.message === "Host not allowed" ? fill(labels.errorHost, { host: location.hostname || location.protocol }) : labels.errorCollection;
    case "unauthorized": case "invalid_key": case "invalid_signature":
      return labels.errorKey;
    case "key_expired":
      return labels.errorExpired;
    case "rate_limited": {
      const n = Math.max(1, error.retryAfter ?? 60);
      return n === 1 ? labels.errorRateOne : fill(labels.errorRate, { n });
    }
    case "quota_exceeded":
      return labels.errorQuota;
    case "network_error":
      return labels.errorNetwork;
    case "unavailable":
      return labels.errorUnavailable;
    case "invalid_request": case "too_large": case "not_found":
      return labels.errorInvalid;
    default:
      return labels.errorOther;
  }
}
