// The session of this browser. The refresh token is in a cookie that scripts cannot
// read; the access token is only in memory. Tabs refresh one after the other and tell
// each other the new token, so that a token is refreshed once over all tabs.

interface Access {
  token: string;
  expiresAt: number; // milliseconds since the epoch
}

export class RequestError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string | null,
    readonly retryAfter: number | null,
  ) {
    super(message);
  }
}

type News = { kind: 'access'; access: Access } | { kind: 'changed' } | { kind: 'ended' };

const lock = 'magpie-refresh';
const early = 60_000; // refresh this long before the expiry
// Whether this browser has had a session, so that a visitor without one asks for none.
const hint = 'magpie-session';
let access: Access | null = null;
let listeners: ((signedIn: boolean, expired: boolean) => void)[] = [];
const channel = new BroadcastChannel('magpie-session');

channel.onmessage = (message: MessageEvent<News>) => {
  switch (message.data.kind) {
    case 'access':
      access = message.data.access;
      break;
    case 'changed': // another person or workspace: everything shown is of the former one
      window.location.reload();
      break;
    case 'ended':
      access = null;
      announce(false);
  }
};

// expired reports that the session has ended without the person ending it.
function announce(signedIn: boolean, expired = false) {
  for (const listener of listeners) listener(signedIn, expired);
}

// onSession calls the listener when the session begins or ends, by the person or because it has expired.
export function onSession(listener: (signedIn: boolean, expired: boolean) => void): () => void {
  listeners.push(listener);
  return () => {
    listeners = listeners.filter((other) => other !== listener);
  };
}

const endings: (() => Promise<void>)[] = [];

// beforeEnd adds something to be done with a session before this page ends it or begins another.
export function beforeEnd(finish: () => Promise<void>) {
  endings.push(finish);
}

const finish = () => Promise.allSettled(endings.map((one) => one()));

// call sends a request to a REST route, with the session if there is one.
export async function call<T>(method: string, path: string, body?: unknown, token?: string): Promise<T> {
  const headers: Record<string, string> = { Accept: 'application/json' };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (token) headers.Authorization = `Bearer ${token}`;
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: 'same-origin',
    });
  } catch {
    throw new RequestError(0, 'offline', '', null, null);
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) {
    throw new RequestError(
      response.status,
      answer?.error?.code ?? 'internal',
      answer?.error?.message ?? response.statusText,
      response.headers.get('X-Request-Id'),
      Number(response.headers.get('Retry-After')) || null,
    );
  }
  return answer as T;
}

interface Tokens {
  access_token: string;
  expires_at: string;
}

function adopt(answer: { data: Tokens } | Tokens): Access {
  const tokens = 'data' in answer ? answer.data : answer;
  access = { token: tokens.access_token, expiresAt: Date.parse(tokens.expires_at) };
  localStorage.setItem(hint, '1');
  channel.postMessage({ kind: 'access', access } satisfies News);
  return access;
}

const isNew = (a: Access | null, refused?: string): a is Access => a !== null && a.expiresAt - Date.now() > early && a.token !== refused;

// refresh returns a new access token, or null without a session. Only one tab at a time refreshes. The others use its
// token, which may reach them a moment after the lock does.
async function refresh(refused?: string): Promise<Access | null> {
  const free = await navigator.locks.request(lock, { ifAvailable: true }, async (granted) => granted && { access: await renewed(refused) });
  if (free) return free.access;
  return navigator.locks.request(lock, async () => {
    for (let waited = 0; waited < 1000 && !isNew(access, refused); waited += 20) await new Promise((done) => setTimeout(done, 20));
    return renewed(refused);
  });
}

// renewed returns a token that is not refused. The tab has the lock.
async function renewed(refused?: string): Promise<Access | null> {
  if (isNew(access, refused)) return access;
  if (localStorage.getItem(hint) === null) return null;
  try {
    return adopt(await call<{ data: Tokens }>('POST', '/api/v1/auth/refresh?cookie=1'));
  } catch (error) {
    if (error instanceof RequestError && (error.status === 401 || error.status === 400)) {
      const had = access !== null;
      access = null;
      localStorage.removeItem(hint);
      if (had) announce(false, true);
      return null;
    }
    throw error;
  }
}

// accessToken returns a token for a request, or null without a session. refused is a
// token that the service did not accept.
export async function accessToken(refused?: string): Promise<string | null> {
  if (isNew(access, refused)) return access.token;
  return (await refresh(refused))?.token ?? null;
}

// renew gets another access token, whatever is left of the present one.
export async function renew(): Promise<void> {
  await refresh(access?.token).catch(() => {}); // the next request tries again
}

// begin posts to a route that returns tokens and starts the session.
export async function begin(path: string, body: unknown): Promise<void> {
  await finish();
  adopt(await call('POST', `${path}?cookie=1`, body, (await accessToken()) ?? undefined));
  channel.postMessage({ kind: 'changed' } satisfies News);
  announce(true);
}

// end signs out on this device, or everywhere.
export async function end(everywhere = false): Promise<void> {
  await finish();
  const token = await accessToken();
  try {
    if (token) await call('POST', everywhere ? '/api/v1/auth/logout-everywhere' : '/api/v1/auth/logout', undefined, token);
  } finally {
    access = null;
    localStorage.removeItem(hint);
    channel.postMessage({ kind: 'ended' } satisfies News);
    announce(false);
  }
}
