// Sign-in by an OpenID provider or by SAML. The binding stays in this tab: without it, the code that comes back is of no use.
import { begin, call } from '../../session/session';

const key = 'magpie-sign-on';

// The ways to sign in elsewhere, which are also the names in addresses.
export type Way = 'oidc' | 'saml';

interface Begun {
  way: Way;
  binding: string;
  next?: string;
}

// startSignOn sends the browser to the provider, and then to next.
export async function startSignOn(way: Way, next?: string): Promise<void> {
  const { data } = await call<{ data: { authorization_url: string; binding: string } }>('POST', `/api/v1/auth/${way}/start`, {
    redirect_url: `${window.location.origin}/${way}`,
  });
  sessionStorage.setItem(key, JSON.stringify({ way, binding: data.binding, next } satisfies Begun));
  window.location.assign(data.authorization_url);
  // The page stays until the browser has left it.
  await new Promise((resolve) => window.setTimeout(resolve, 10_000));
}

// afterSignOn returns where the sign-in that was begun in this tab leads to, until it is finished.
export function afterSignOn(): string | undefined {
  const stored = sessionStorage.getItem(key);
  return stored ? (JSON.parse(stored) as Begun).next : undefined;
}

export class NotBegunHere extends Error {}

let finishing: { code: string; result: Promise<string | undefined> } | null = null;

// finishSignOn opens the session, and returns where to go. A code is used once, however often this is called.
export function finishSignOn(code: string): Promise<string | undefined> {
  if (finishing?.code !== code) finishing = { code, result: finish(code) };
  return finishing.result;
}

async function finish(code: string): Promise<string | undefined> {
  const stored = sessionStorage.getItem(key);
  sessionStorage.removeItem(key);
  if (!stored) throw new NotBegunHere();
  const { way, binding, next } = JSON.parse(stored) as Begun;
  await begin(`/api/v1/auth/${way}/finish`, { code, binding });
  return next;
}
