import { describe, expect, it } from 'vitest';
import { fieldsOf, missing } from './jsonSchema';

const schema = {
  type: 'object',
  required: ['title', 'labels'],
  properties: {
    title: { type: 'string', title: 'Title', description: 'One line' },
    kind: { enum: ['bug', 'task'] },
    count: { type: ['integer', 'null'] },
    labels: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
    extra: { type: 'object' },
  },
};

describe('the fields of a JSON schema', () => {
  it('have a type for each property, and JSON for the rest', () => {
    expect(fieldsOf(schema).map(({ name, type }) => `${name}:${type}`)).toEqual([
      'title:string',
      'kind:string',
      'count:integer',
      'labels:list',
      'extra:json',
    ]);
    expect(fieldsOf(schema)[0]).toMatchObject({ title: 'Title', help: 'One line', required: true });
    expect(fieldsOf(schema)[3]?.choices).toEqual(['a', 'b']);
    expect(fieldsOf(null)).toEqual([]);
  });
  it('are missing when they are required and blank', () => {
    expect(missing(schema, {})).toEqual(['title']);
    expect(missing(schema, { title: 'x' })).toEqual([]);
  });
});
