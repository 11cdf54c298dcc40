import { afterEach, expect, it, vi } from 'vitest';

// Answers of the service, in turn.
const answers: { status: number; body: unknown }[] = [];
const tokens: string[] = [];

class Request {
  upload = {};
  status = 0;
  statusText = 'no text';
  response: unknown = null;
  onload = () => {};
  open() {}
  setRequestHeader(name: string, value: string) {
    if (name === 'Authorization') tokens.push(value);
  }
  getResponseHeader(name: string) {
    return name === 'X-Request-Id' ? 'request-7' : null;
  }
  send() {
    const { status, body } = answers.shift() ?? { status: 500, body: null };
    Object.assign(this, { status, response: body });
    queueMicrotask(() => this.onload());
  }
}
vi.stubGlobal('XMLHttpRequest', Request);
vi.mock('../session/session', async (original) => ({
  ...(await original<typeof import('../session/session')>()),
  accessToken: async (refused?: string) => (refused === 'old' ? 'new' : 'old'),
}));
const { sendTo } = await import('./sendFile');
const { problemOf } = await import('../api/errors');

const send = () =>
  sendTo('c')({ key: 1, file: new File(['x'], 'a.md'), path: 'a.md', state: 'sending', sent: 0, problem: null }, () => {}).finished;

afterEach(() => {
  answers.length = 0;
  tokens.length = 0;
});

it('sends a file once more with another token', async () => {
  answers.push({ status: 401, body: { error: { code: 'unauthorized', message: 'expired' } } }, { status: 200, body: { data: {} } });
  await send();
  expect(tokens).toEqual(['Bearer old', 'Bearer new']);
});

it('does so once', async () => {
  for (let n = 0; n < 3; n++) answers.push({ status: 401, body: null });
  await expect(send()).rejects.toMatchObject({ status: 401 });
  expect(answers.length).toBe(1);
});

it('says which request has failed', async () => {
  answers.push({ status: 503, body: { error: { code: 'unavailable', message: 'The store is full.' } } });
  const problem = await send().catch(problemOf);
  expect(problem).toMatchObject({ code: 'unavailable', message: 'The store is full.', requestId: 'request-7' });
  answers.push({
    status: 200,
    body: { errors: [{ message: 'No such connector.', extensions: { code: 'not_found', requestId: 'request-8' } }] },
  });
  expect(await send().catch(problemOf)).toMatchObject({ code: 'not_found', requestId: 'request-8' });
});
