import { describe, expect, it } from 'vitest';
import { isActive, mistakes, type OptionTable, submitted } from './options';

const option = (name: string, more: object = {}) => ({
  name,
  title: name,
  help: '',
  type: 'string',
  format: null,
  required: false,
  sensitive: false,
  multiline: false,
  default: null,
  example: null,
  choices: [],
  min: null,
  max: null,
  group: null,
  advanced: false,
  dependsOn: [],
  fields: [],
  ...more,
});

const table = [
  option('auth', { default: 'token', choices: ['token', 'app'] }),
  option('token', { required: true, sensitive: true, dependsOn: [{ option: 'auth', values: ['token'] }] }),
  option('app_id', { type: 'integer', required: true, min: 1, max: 10, dependsOn: [{ option: 'auth', values: ['app'] }] }),
  option('limits', { type: 'object', fields: [option('pages', { type: 'integer', min: 1 })] }),
] as unknown as OptionTable;

describe('a form of options', () => {
  it('shows what applies with a default', () => {
    expect(table.map((o) => isActive(o, table, {}))).toEqual([true, true, false, true]);
    expect(table.map((o) => isActive(o, table, { auth: 'app' }))).toEqual([true, false, true, true]);
  });
  it('finds what is missing and what is out of range', () => {
    expect(mistakes(table, {})).toEqual({ token: 'required' });
    expect(mistakes(table, {}, new Set(['token']))).toEqual({});
    expect(mistakes(table, { auth: 'app', app_id: 11, limits: { pages: 0 } })).toEqual({ app_id: 'range', 'limits.pages': 'range' });
  });
  it('sends only what applies, and null for what was removed', () => {
    expect(submitted(table, { auth: 'app', token: 'x', app_id: 3 })).toEqual({ auth: 'app', app_id: 3 });
    expect(submitted(table, { auth: '', limits: { pages: undefined } }, { auth: 'app', limits: { pages: 2 } })).toEqual({
      auth: null,
      limits: null,
    });
  });
});
