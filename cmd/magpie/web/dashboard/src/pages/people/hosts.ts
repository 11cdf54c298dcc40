// Which pages a publishable key works from, as the service decides it (docs/api-keys.md).

interface HostRule {
  host: string; // '*' for any, or with a leading '*.' for subdomains
  port: string; // empty for all
}

// parseRule parses an entry of the allowed hosts; null for one that names no host.
function parseRule(entry: string): HostRule | null {
  const text = entry
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/\/$/, '');
  const wild = /^\*(?::(\d+|\*))?$/.exec(text);
  if (wild) return { host: '*', port: wild[1] === '*' ? '' : (wild[1] ?? '') };
  const subdomains = text.startsWith('*.');
  const rest = (subdomains ? text.slice(2) : text).replace(/:\*$/, '');
  if (rest === '' || /[/?#@\\\s]/.test(rest)) return null;
  try {
    const url = new URL(`http://${rest}`);
    // The port 80 is dropped by URL, but is one here.
    const port = /:(\d+)$/.exec(rest.replace(/^\[.*\]/, ''))?.[1] ?? '';
    return { host: (subdomains ? '*.' : '') + url.hostname.replace(/\.$/, ''), port };
  } catch {
    return null;
  }
}

// isHostEntry reports whether an entry has the form of an allowed host.
export function isHostEntry(entry: string): boolean {
  return parseRule(entry) !== null;
}

// pageOf returns the address of a page; a host without a scheme is one of https. It returns null for anything else.
export function pageOf(text: string): URL | null {
  try {
    const url = new URL(/^[a-z][a-z0-9+.-]*:\/\//i.test(text.trim()) ? text.trim() : `https://${text.trim()}`);
    return (url.protocol === 'https:' || url.protocol === 'http:') && url.hostname !== '' ? url : null;
  } catch {
    return null;
  }
}

// isHostAllowed reports whether a key with the allowed hosts works from a page.
export function isHostAllowed(allowed: string[], page: URL): boolean {
  const port = page.port || (page.protocol === 'https:' ? '443' : '80');
  const host = page.hostname.replace(/\.$/, '');
  return allowed.some((entry) => {
    const rule = parseRule(entry);
    if (!rule || (rule.port !== '' && rule.port !== port)) return false;
    if (rule.host === '*') return true;
    if (rule.host.startsWith('*.')) return host.endsWith(rule.host.slice(1)) && host.length > rule.host.length - 1;
    return host === rule.host;
  });
}
