// Where a person begins.
import { accessToken, call } from '../../session/session';

interface Me {
  role: 'viewer' | 'editor' | 'admin' | 'owner';
  user: { preferences: { hide_first_steps: boolean } };
}

// startPage returns the first page: the first steps for people who may do them, until these are done or were dismissed, and
// the search for all others.
export async function startPage(): Promise<'/welcome' | '/search'> {
  try {
    const token = (await accessToken()) ?? undefined;
    const { data } = await call<{ data: Me }>('GET', '/api/v1/auth/me', undefined, token);
    if (data.role === 'viewer' || data.user.preferences.hide_first_steps) return '/search';
    const { areFirstStepsDone } = await import('./firstSteps');
    if (!(await areFirstStepsDone(data.role !== 'editor'))) return '/welcome';
    await call('PUT', '/api/v1/auth/me', { preferences: { hide_first_steps: true } }, token);
  } catch {
    // The search says what is wrong.
  }
  return '/search';
}
