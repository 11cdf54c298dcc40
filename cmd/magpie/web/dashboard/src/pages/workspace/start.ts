// Where a person begins.
import { accessToken, call } from '../../session/session';

const key = (workspace: string) => `magpie-welcome-done:${workspace}`;

// dismissWelcome remembers in this browser that the workspace's first steps are not to be shown at the start any more.
export function dismissWelcome(workspace: string) {
  localStorage.setItem(key(workspace), '1');
}

interface Me {
  role: 'viewer' | 'editor' | 'admin' | 'owner';
  workspace: { id: string };
}

// startPage returns the first page: the first steps for people who may do them, until these are done or were dismissed, and
// the search for all others.
export async function startPage(): Promise<'/welcome' | '/search'> {
  try {
    const { data } = await call<{ data: Me }>('GET', '/api/v1/auth/me', undefined, (await accessToken()) ?? undefined);
    const { role, workspace } = data;
    if (role === 'viewer' || localStorage.getItem(key(workspace.id)) !== null) return '/search';
    const { areFirstStepsDone } = await import('./firstSteps');
    if (!(await areFirstStepsDone(role !== 'editor'))) return '/welcome';
    dismissWelcome(workspace.id);
  } catch {
    // The search says what is wrong.
  }
  return '/search';
}
