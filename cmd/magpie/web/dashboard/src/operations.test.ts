// Everything that the service can do for a page is used by one: operations of files that no page leads to are found here,
// since the accounting test only sees that an operation is written down.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const folder = dirname(fileURLToPath(import.meta.url));
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));

// resolved returns the file that an import names; null for packages, styles and generated files.
function resolved(from: string, name: string): string | null {
  if (!name.startsWith('.')) return null;
  const path = join(dirname(from), name);
  return (
    [path, `${path}.ts`, `${path}.tsx`, join(path, 'index.ts')].find(
      (one) => /\.tsx?$/.test(one) && existsSync(one) && statSync(one).isFile(),
    ) ?? null
  );
}

// reached returns the texts of the files that the start of the site imports, at once or later.
function reached(): string[] {
  const texts = new Map<string, string>();
  const open = [join(folder, 'main.tsx')];
  for (let path = open.pop(); path; path = open.pop()) {
    if (texts.has(path) || path.endsWith('.gql.ts')) continue;
    const text = readFileSync(path, 'utf8');
    texts.set(path, text);
    for (const [, name = ''] of text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)) {
      const next = resolved(path, name);
      if (next) open.push(next);
    }
  }
  return [...texts.values()];
}

it('every operation is used by a page', () => {
  const pages = reached();
  expect(pages.length).toBeGreaterThan(150);
  const imported = new Set(pages.flatMap((text) => [...text.matchAll(/\b(\w+Document)\b/g)].map(([name]) => name)));
  const operations = files
    .filter((name) => name.endsWith('.graphql'))
    .flatMap((name) =>
      [...readFileSync(name, 'utf8').matchAll(/^(?:query|mutation|subscription)\s+(\w+)/gm)].map(([, operation]) => operation),
    );
  expect(operations.length).toBeGreaterThan(100);
  expect(operations.filter((operation) => !imported.has(`${operation}Document`))).toEqual([]);
});
