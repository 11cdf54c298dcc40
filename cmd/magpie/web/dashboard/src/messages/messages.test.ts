import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CompiledMessage, compileMessage } from '@lingui/message-utils/compileMessage';
import { describe, expect, it } from 'vitest';

const folder = dirname(fileURLToPath(import.meta.url));
const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
const read = (name: string): Record<string, string> => JSON.parse(readFileSync(join(folder, name), 'utf8'));

// places returns the names of the values in a compiled message.
function places(tokens: CompiledMessage): string[] {
  if (typeof tokens === 'string') return [];
  const names = tokens.flatMap((token) => {
    if (typeof token === 'string') return [];
    const [name, , choices] = token;
    return [
      name,
      ...(choices && typeof choices === 'object'
        ? Object.values(choices).flatMap((choice) => (choice ? places(choice as CompiledMessage) : []))
        : []),
    ];
  });
  return [...new Set(names)].sort();
}

describe.each(files.filter((name) => !name.endsWith('.en.json')))('%s', (name) => {
  const english = read(name.replace(/\.\w+\.json$/, '.en.json'));
  const other = read(name);
  it('has every message, and no more', () => {
    expect(Object.keys(other).sort()).toEqual(Object.keys(english).sort());
  });
  it('has the values of the English message', () => {
    for (const [key, text] of Object.entries(english))
      expect(places(compileMessage(other[key] ?? '')), key).toEqual(places(compileMessage(text)));
  });
});

describe('keys', () => {
  it('begin with the name of their file', () => {
    for (const name of files) for (const key of Object.keys(read(name))) expect(key.split('.')[0], key).toBe(name.split('.')[0]);
  });
});
