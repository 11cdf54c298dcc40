// Uploads of files: a queue that sends a few at a time, each by a request of its own, and knows how far each is.

export interface UploadItem {
  key: number;
  file: File;
  // Where the file is stored: its name, below the names of its folders.
  path: string;
  state: 'waiting' | 'sending' | 'done' | 'failed' | 'canceled';
  // Bytes that were sent.
  sent: number;
  // Why it failed: an error, tooLarge, or unreadable.
  problem: unknown;
  // Reads a file once more that could not be read.
  reread?: () => Promise<File>;
}

// Choice is a file that a person has chosen, with its path.
export interface Choice {
  file: File;
  path: string;
  // Of a file that could not be read, which is empty here.
  reread?: () => Promise<File>;
}

export interface UploadTotals {
  files: number;
  done: number;
  failed: number;
  canceled: number;
  open: number;
  bytes: number;
  sent: number;
}

export interface Sending {
  finished: Promise<void>;
  abort: () => void;
}

// Sends one file; onSent gets the bytes that have been sent.
export type Send = (item: UploadItem, onSent: (bytes: number) => void) => Sending;

const concurrency = 3;
const pause = 200; // milliseconds between two notices of progress

// UploadQueue sends files, a few at a time, in the order in which they were added.
export class UploadQueue {
  items: UploadItem[] = [];
  private readonly sendings = new Map<number, Sending>();
  private readonly listeners = new Set<() => void>();
  private next = 1;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private snapshot: readonly UploadItem[] = [];

  // Bytes of a file; until the service has told it, the service alone refuses.
  limit = Number.POSITIVE_INFINITY;

  constructor(
    private readonly send: Send,
    private readonly onIdle: () => void = () => {},
  ) {}

  add(files: Choice[]) {
    for (const { file, path, reread } of files) {
      const problem = reread ? 'unreadable' : file.size > this.limit ? 'tooLarge' : null;
      this.items.push({ key: this.next++, file, path, state: problem ? 'failed' : 'waiting', sent: 0, problem, reread });
    }
    this.advance();
  }

  // cancel ends one upload, or all that are not finished.
  cancel(key?: number) {
    for (const item of this.items) {
      if (key !== undefined && item.key !== key) continue;
      if (item.state !== 'waiting' && item.state !== 'sending') continue;
      item.state = 'canceled';
      this.sendings.get(item.key)?.abort();
    }
    this.advance();
  }

  // retry sends what failed or was canceled once more, also what is too large, as the limit may have changed.
  retry(key?: number) {
    for (const item of this.items) {
      if (key !== undefined && item.key !== key) continue;
      if (item.state !== 'failed' && item.state !== 'canceled') continue;
      if (item.reread) void this.read(item, item.reread);
      else Object.assign(item, { state: 'waiting', sent: 0, problem: null });
    }
    this.advance();
  }

  // read sends a file if it can be read now.
  private async read(item: UploadItem, reread: () => Promise<File>) {
    const file = await reread().catch(() => null);
    if (file) Object.assign(item, { file, reread: undefined, state: 'waiting', sent: 0, problem: null });
    this.advance();
  }

  // clear forgets the uploads that have ended.
  clear() {
    this.items = this.items.filter(({ state }) => state === 'waiting' || state === 'sending');
    this.announce();
  }

  subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  };

  current = (): readonly UploadItem[] => this.snapshot;

  private advance() {
    for (const item of this.items) {
      if (this.sendings.size >= concurrency) break;
      if (item.state === 'waiting' && !this.sendings.has(item.key)) this.begin(item);
    }
    this.announce();
  }

  private begin(item: UploadItem) {
    item.state = 'sending';
    const sending = this.send(item, (bytes) => {
      item.sent = Math.min(bytes, item.file.size);
      this.announceSoon();
    });
    this.sendings.set(item.key, sending);
    sending.finished
      .then(
        () => Object.assign(item, { state: 'done', sent: item.file.size }),
        (error: unknown) => {
          if (item.state === 'sending') Object.assign(item, { state: 'failed', problem: error });
        },
      )
      .finally(() => {
        this.sendings.delete(item.key);
        this.advance();
        if (this.sendings.size === 0) this.onIdle();
      });
  }

  private announceSoon() {
    this.timer ??= setTimeout(() => this.announce(), pause);
  }

  private announce() {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    this.snapshot = this.items.map((item) => ({ ...item }));
    for (const listener of this.listeners) listener();
  }
}

// totals adds up uploads.
export function totals(items: readonly UploadItem[]): UploadTotals {
  const sum: UploadTotals = { files: items.length, done: 0, failed: 0, canceled: 0, open: 0, bytes: 0, sent: 0 };
  for (const { state, file, sent } of items) {
    if (state === 'done' || state === 'failed' || state === 'canceled') sum[state]++;
    else sum.open++;
    if (state === 'failed' || state === 'canceled') continue;
    sum.bytes += file.size;
    sum.sent += sent;
  }
  return sum;
}

const isHidden = (name: string) => name.startsWith('.') || name === 'Thumbs.db' || name === 'desktop.ini';

// visible takes hidden files and those in hidden folders, such as .git, from a choice.
export function visible<F extends { path: string }>(files: F[]): F[] {
  return files.filter(({ path }) => !path.split('/').some(isHidden));
}

// chosen returns the files of an input with their paths in the chosen folder.
export function chosen(list: FileList): Choice[] {
  return [...list].map((file) => ({ file, path: file.webkitRelativePath || file.name }));
}

// dropped returns the files that were dropped, also those in folders. What cannot be read is among them.
export async function dropped(data: DataTransfer): Promise<Choice[]> {
  // The list of items is empty after the first wait.
  const entries = [...data.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  if (entries.length === 0) return [...data.files].map((file) => ({ file, path: file.name }));
  const found: Choice[] = [];
  for (const entry of entries) await walk(entry, found);
  return found;
}

async function walk(entry: FileSystemEntry, found: Choice[]): Promise<void> {
  const path = entry.fullPath.replace(/^\//, '');
  const nothing = () => new File([], entry.name);
  if (isHidden(entry.name)) {
    found.push({ file: nothing(), path }); // is counted, and left out by visible
    return;
  }
  const read = entry.isFile ? () => fileOf(entry as FileSystemFileEntry) : null;
  try {
    if (read) found.push({ file: await read(), path });
    else for (const child of await childrenOf(entry as FileSystemDirectoryEntry)) await walk(child, found);
  } catch (error) {
    found.push({ file: nothing(), path, reread: read ?? (() => Promise.reject(error)) });
  }
}

const fileOf = (entry: FileSystemFileEntry) => new Promise<File>((resolve, reject) => entry.file(resolve, reject));

async function childrenOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const children: FileSystemEntry[] = [];
  for (;;) {
    // A folder is read in parts of about 100 entries.
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (part.length === 0) return children;
    children.push(...part);
  }
}
