// Completes a build: copies the operations for the tests in Go, and writes dist/.source,
// the hash of the sources that dist was built from.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

// Files of the sources, by path: not what is built, installed or generated.
function sources(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.name.startsWith('.') || entry.name.endsWith('.go') || entry.name.endsWith('.gql.ts')) return [];
    if (['node_modules', 'dist', 'testdata', 'src/gql'].includes(path)) return [];
    return entry.isDirectory() ? sources(path) : [path];
  });
}

const sha256 = (content) => createHash('sha256').update(content).digest('hex');
const paths = sources('').sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

writeFileSync(
  join(root, 'dist/operations.graphql'),
  paths
    .filter((path) => path.endsWith('.graphql'))
    .map((path) => `# ${path}\n${readFileSync(join(root, path), 'utf8').trim()}\n`)
    .join('\n'),
);

writeFileSync(
  join(root, 'dist/.source'),
  `${sha256(paths.map((path) => `${path}\n${sha256(readFileSync(join(root, path)))}\n`).join(''))}\n`,
);
