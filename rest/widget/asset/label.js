// The labels of the widget. A page can override them with data-labels.

const LABELS = {
  en: {
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
  },
  de: {
    title: "Suche",
    open: "Suchen",
    close: "Schließen",
    search: "Suchen",
    ask: "Fragen",
    placeholder: "Dokumentation durchsuchen",
    askPlaceholder: "Eine Frage stellen",
    askFollowUp: "Noch etwas fragen",
    clear: "Leeren",
    empty: "Ein paar Wörter genügen, eine ganze Frage geht auch.",
    askEmpty: "Fragen Sie in eigenen Worten. Die Antwort nennt ihre Quellen.",
    results: "Ergebnisse",
    oneResult: "1 Ergebnis",
    manyResults: "{n} Ergebnisse",
    someResults: "{n} von {total} Ergebnissen",
    corrected: "Ergebnisse für „{query}“",
    noResults: "Zu „{query}“ wurde nichts gefunden.",
    noResultsHint: "Versuchen Sie es mit anderen oder weniger Wörtern.",
    more: "Mehr Ergebnisse",
    askAbout: "Nach „{query}“ fragen",
    searching: "Suche läuft",
    conversation: "Unterhaltung",
    you: "Sie",
    answer: "Antwort",
    answering: "Eine Antwort wird gesucht",
    send: "Senden",
    stop: "Anhalten",
    stopped: "Angehalten.",
    restart: "Neue Unterhaltung",
    sources: "Quellen",
    source: "Quelle {n}: {title}",
    followUp: "Weiter fragen",
    newTab: "öffnet einen neuen Tab",
    untitled: "Ohne Titel",
    hintMove: "bewegen",
    hintOpen: "öffnen",
    hintClose: "schließen",
    again: "Noch einmal versuchen",
    errorHost: "Diese Suche antwortet auf {host} noch nicht. Ein Administrator muss {host} zu den erlaubten Hosts des öffentlichen Schlüssels hinzufügen.",
    errorCollection: "Diese Suche darf ihre Sammlung nicht lesen. Ein Administrator muss sie für den öffentlichen Schlüssel erlauben.",
    errorKey: "Der Schlüssel dieser Suche ist nicht gültig. Ein Administrator muss der Seite einen gültigen öffentlichen Schlüssel geben.",
    errorExpired: "Der Schlüssel dieser Suche ist abgelaufen. Ein Administrator muss der Seite einen neuen öffentlichen Schlüssel geben.",
    errorRate: "Das waren zu viele Anfragen in kurzer Zeit. Bitte in {n} Sekunden noch einmal versuchen.",
    errorRateOne: "Das waren zu viele Anfragen in kurzer Zeit. Bitte in einer Sekunde noch einmal versuchen.",
    errorQuota: "Das Kontingent dieses Monats ist aufgebraucht. Ein Administrator kann es erhöhen.",
    errorNetwork: "Die Suche ist nicht erreichbar. Bitte die Verbindung prüfen und noch einmal versuchen.",
    errorUnavailable: "Die Suche ist gerade nicht verfügbar. Bitte gleich noch einmal versuchen.",
    errorInvalid: "Die Suche kann diese Anfrage nicht lesen.",
    errorOther: "Etwas ist schiefgegangen. Bitte gleich noch einmal versuchen.",
    errorNumber: "Anfrage {id}",
  },
};

/** Returns the labels of a language tag, overridden by those of the page. */
function labelsFor(language, given) {
  const labels = { ...LABELS.en, ...LABELS[language.toLowerCase().split("-")[0]] };
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
