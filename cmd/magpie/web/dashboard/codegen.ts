import type { CodegenConfig } from '@graphql-codegen/cli';

// Types of the schema in src/gql/schema.ts, and beside each *.graphql file of src its
// operations with their types.
const scalars = {
  Time: 'string',
  Cursor: 'string',
  Int64: 'number',
  Map: 'Record<string, unknown>',
  Any: 'unknown',
  Upload: 'File',
  AuditValue: 'unknown',
  DatabaseValue: 'string | number | boolean | null',
};

const config: CodegenConfig = {
  schema: ['../../../../schema.graphql', '../../../../graph/schema/*.graphql', '../../../../ent/ent.graphql'],
  documents: 'src/**/*.graphql',
  ignoreNoDocuments: true,
  generates: {
    'src/gql/schema.ts': { plugins: ['typescript'], config: { scalars, enumsAsTypes: true, useTypeImports: true } },
    'src/': {
      preset: 'near-operation-file',
      presetConfig: { extension: '.gql.ts', baseTypesPath: 'gql/schema.ts' },
      plugins: ['typescript-operations', 'typed-document-node'],
      config: { scalars, enumsAsTypes: true, useTypeImports: true, inlineFragmentTypes: 'combine' },
    },
  },
};

export default config;
