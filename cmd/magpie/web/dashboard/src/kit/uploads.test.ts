import { describe, expect, it } from 'vitest';
import { type Send, totals, UploadQueue, visible } from './uploads';

const file = (path: string, size = 3) => ({ file: { name: path, size } as File, path });

// desk is a queue whose requests the test ends.
function desk() {
  const open = new Map<string, { resolve: () => void; reject: (error: Error) => void }>();
  const send: Send = ({ path }) => {
    let end: { resolve: () => void; reject: (error: Error) => void };
    const finished = new Promise<void>((resolve, reject) => {
      end = { resolve, reject };
      open.set(path, end);
    });
    return { finished, abort: () => end.reject(new Error('aborted')) };
  };
  let idle = 0;
  const queue = new UploadQueue(send, () => idle++);
  const end = async (path: string, problem?: string) => {
    const request = open.get(path);
    open.delete(path);
    if (problem) request?.reject(new Error(problem));
    else request?.resolve();
    for (let n = 0; n < 10; n++) await Promise.resolve();
  };
  return { queue, end, states: () => queue.current().map(({ state }) => state), idle: () => idle };
}

describe('a queue of uploads', () => {
  it('sends three at a time, and tells when all are done', async () => {
    const { queue, end, states, idle } = desk();
    queue.add(['a', 'b', 'c', 'd'].map((path) => file(path)));
    expect(states()).toEqual(['sending', 'sending', 'sending', 'waiting']);
    await end('b');
    expect(states()).toEqual(['sending', 'done', 'sending', 'sending']);
    for (const path of ['a', 'c', 'd']) await end(path);
    expect(totals(queue.current())).toMatchObject({ files: 4, done: 4, open: 0, bytes: 12, sent: 12 });
    expect(idle()).toBe(1);
  });
  it('retries what failed, and cancels what is open', async () => {
    const { queue, end, states } = desk();
    queue.add([file('a'), file('b')]);
    await end('a', 'full');
    expect(queue.current()[0]).toMatchObject({ state: 'failed', problem: 'full' });
    queue.retry();
    expect(states()).toEqual(['sending', 'sending']);
    queue.cancel();
    for (let n = 0; n < 10; n++) await Promise.resolve();
    expect(states()).toEqual(['canceled', 'canceled']);
    queue.clear();
    expect(queue.current()).toEqual([]);
  });
  it('does not send what is too large unless asked to', () => {
    const { queue, states } = desk();
    queue.limit = 100;
    queue.add([file('just', 100), file('large', 101)]);
    expect(queue.current()[1]).toMatchObject({ state: 'failed', problem: 'tooLarge' });
    queue.retry(2);
    expect(states()).toEqual(['sending', 'sending']);
  });
});

describe('a choice of files', () => {
  it('leaves out what is hidden', () => {
    expect(visible([file('a/b.md'), file('.git/config'), file('a/.DS_Store'), file('a/Thumbs.db')]).map(({ path }) => path)).toEqual([
      'a/b.md',
    ]);
  });
});
