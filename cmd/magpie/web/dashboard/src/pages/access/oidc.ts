// Sign-in by an OpenID provider. The binding stays in this tab: without it, the code that comes back is of no use.
import { begin, call } from '../../session/session';

const key = 'magpie-oidc';

interface Begun {
  binding: string;
  next?: string;
}

// startOIDC sends the browser to the provider, and then to next.
export async function startOIDC(next?: string): Promise<void> {
  const { data } = await call<{ data: { authorization_url: string; binding: string } }>('POST', '/api/v1/auth/oidc/start', {
    redirect_url: `${window.location.origin}/oidc`,
  });
  sessionStorage.setItem(key, JSON.stringify({ binding: data.binding, next } satisfies Begun));
  window.location.assign(data.authorization_url);
  // The page stays until the browser has left it.
  await new Promise((resolve) => window.setTimeout(resolve, 10_000));
}

// afterOIDC returns where the sign-in that was begun in this tab leads to, until it is finished.
export function afterOIDC(): string | undefined {
  const stored = sessionStorage.getItem(key);
  return stored ? (JSON.parse(stored) as Begun).next : undefined;
}

export class NotBegunHere extends Error {}

let finishing: { code: string; result: Promise<string | undefined> } | null = null;

// finishOIDC opens the session, and returns where to go. A code is used once, however often this is called.
export function finishOIDC(code: string): Promise<string | undefined> {
  if (finishing?.code !== code) finishing = { code, result: finish(code) };
  return finishing.result;
}

async function finish(code: string): Promise<string | undefined> {
  const stored = sessionStorage.getItem(key);
  sessionStorage.removeItem(key);
  if (!stored) throw new NotBegunHere();
  const { binding, next } = JSON.parse(stored) as Begun;
  await begin('/api/v1/auth/oidc/finish', { code, binding });
  return next;
}
