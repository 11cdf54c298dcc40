import { call } from '../../session/session';

// How people can come in.
export interface Access {
  password: boolean;
  oidc: { name: string } | null;
  saml: { name: string } | null;
  signUp: boolean;
}

// loadAccess asks the service. A failure is returned, so that the page can show it.
export async function loadAccess(): Promise<{ access: Access; error: null } | { access: null; error: unknown }> {
  try {
    const [methods, signUp] = await Promise.all([
      call<{ data: Omit<Access, 'signUp'> }>('GET', '/api/v1/auth/methods'),
      call<{ data: { allowed: boolean } }>('GET', '/api/v1/auth/sign-up'),
    ]);
    return { access: { ...methods.data, signUp: signUp.data.allowed }, error: null };
  } catch (error) {
    return { access: null, error };
  }
}

// localPath returns an address of the dashboard to go on to, and / for any other.
export function localPath(next: string | undefined): string {
  return next && /^\/(?![/\\])/.test(next) ? next : '/';
}
