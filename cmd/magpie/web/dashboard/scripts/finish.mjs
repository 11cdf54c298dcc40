// Completes a build: copies the operations for the tests in Go, checks the size of the
// entry, and writes dist/.source, the hash of the sources that dist was built from.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const entryLimit = 190_000; // bytes of gzip

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

const manifestPath = join(root, 'dist/.manifest.json');
const manifest = JSON.parse(readFileSync(manifestPath, 'utf8'));
const entry = Object.values(manifest).find((chunk) => chunk.isEntry);
const files = new Set();
const visit = (chunk) => {
  if (files.has(chunk.file)) return;
  files.add(chunk.file);
  for (const name of chunk.imports ?? []) visit(manifest[name]);
};
visit(entry);
const size = [...files].reduce((sum, file) => sum + gzipSync(readFileSync(join(root, 'dist', file)), { level: 9 }).length, 0);
console.log(`entry: ${files.size} files, ${(size / 1000).toFixed(1)} kB gzip of ${entryLimit / 1000}`);
rmSync(manifestPath);

writeFileSync(
  join(root, 'dist/.source'),
  `${sha256(paths.map((path) => `${path}\n${sha256(readFileSync(join(root, path)))}\n`).join(''))}\n`,
);
if (size > entryLimit) {
  console.error('The entry is too large: import what only some pages need in those pages.');
  process.exit(1);
}
