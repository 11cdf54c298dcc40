import { describe, expect, it } from 'vitest';
import { dropped, type Send, totals, UploadQueue, visible } from './uploads';

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
    expect(queue.current()[0]).toMatchObject({ state: 'failed', problem: new Error('full') });
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

// folder and leaf are entries of a file system as browsers give them.
const leaf = (path: string, read: () => File) => ({
  name: path.split('/').at(-1),
  fullPath: `/${path}`,
  isFile: true,
  file: (resolve: (file: File) => void, reject: (error: unknown) => void) => {
    try {
      resolve(read());
    } catch (error) {
      reject(error);
    }
  },
});
const folder = (path: string, ...parts: unknown[][]) => ({
  name: path.split('/').at(-1),
  fullPath: `/${path}`,
  isFile: false,
  createReader: () => {
    const left = [...parts, []];
    return { readEntries: (resolve: (part: unknown[]) => void) => resolve(left.shift() ?? []) };
  },
});
const drop = (...entries: unknown[]) =>
  dropped({ items: entries.map((entry) => ({ webkitGetAsEntry: () => entry })), files: [] } as unknown as DataTransfer);

describe('a dropped folder', () => {
  const text = (name: string) => () => new File(['text'], name);
  it('is read to its end, part by part', async () => {
    const found = await drop(
      folder('a', [leaf('a/1.md', text('1.md'))], [leaf('a/.git', text('.git')), folder('a/b', [leaf('a/b/2.md', text('2.md'))])]),
      leaf('3.md', text('3.md')),
    );
    expect(found.map(({ path }) => path)).toEqual(['a/1.md', 'a/.git', 'a/b/2.md', '3.md']);
    expect(visible(found).map(({ path }) => path)).toEqual(['a/1.md', 'a/b/2.md', '3.md']);
  });
  it('shows what cannot be read, and reads it again on request', async () => {
    let isThere = false;
    const lost = leaf('a/lost.md', () => {
      if (!isThere) throw new DOMException('gone', 'NotFoundError');
      return new File(['found'], 'lost.md');
    });
    const { queue, states } = desk();
    queue.add(await drop(folder('a', [lost, leaf('a/1.md', text('1.md'))])));
    expect(queue.current()).toMatchObject([{ path: 'a/lost.md', state: 'failed', problem: 'unreadable' }, { state: 'sending' }]);
    queue.retry();
    for (let n = 0; n < 10; n++) await Promise.resolve();
    expect(states()).toEqual(['failed', 'sending']);
    isThere = true;
    queue.retry();
    for (let n = 0; n < 10; n++) await Promise.resolve();
    expect(queue.current()[0]).toMatchObject({ state: 'sending', problem: null, file: { size: 5 } });
  });
});
