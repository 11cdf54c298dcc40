// Where a person begins.
import { accessToken, call } from '../../session/session';

const key = (workspace: string) => `magpie-welcome-done:${workspace}`;

// dismissWelcome remembers in this browser that the workspace's first steps are not to be shown at the start any more.
export function dismissWelcome(workspace: string) {
  localStorage.setItem(key(workspace), '1');
}

interface Me {
  role: string;
  workspace: { id: string };
}

// startPage returns the first page: the first steps while a workspace has no connector, for people who may make one, and
// the search for all others.
export async function startPage(): Promise<'/welcome' | '/search'> {
  try {
    const token = (await accessToken()) ?? undefined;
    const [me, connectors] = await Promise.all([
      call<{ data: Me }>('GET', '/api/v1/auth/me', undefined, token),
      call<{ data: unknown[] }>('GET', '/api/v1/connectors?limit=1', undefined, token),
    ]);
    const { role, workspace } = me.data;
    return connectors.data.length === 0 && role !== 'viewer' && localStorage.getItem(key(workspace.id)) === null ? '/welcome' : '/search';
  } catch {
    return '/search';
  }
}
