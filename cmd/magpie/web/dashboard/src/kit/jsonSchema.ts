// The parts of JSON schemas of objects for which forms are made.

export type SchemaValues = Record<string, unknown>;

export interface SchemaField {
  name: string;
  title: string;
  help: string;
  // list: of texts; json: anything else.
  type: 'string' | 'integer' | 'number' | 'boolean' | 'list' | 'json';
  choices: string[];
  required: boolean;
  multiline: boolean;
}

const long = /^(body|text|description|comment|content|message|query|note|html|markdown)$/i;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
const texts = (value: unknown): string[] => (Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []);

// isBlankValue reports whether a value counts as not given.
export function isBlankValue(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

function typeOf(schema: Record<string, unknown>): SchemaField['type'] {
  const named = Array.isArray(schema.type) ? schema.type.find((one) => one !== 'null') : schema.type;
  if (named === 'integer' || named === 'number' || named === 'boolean' || named === 'string') return named;
  if (named === 'array' && isObject(schema.items) && schema.items.type === 'string') return 'list';
  if (named === undefined && texts(schema.enum).length > 0) return 'string';
  return 'json';
}

// fieldsOf returns the fields of the schema of an object, in its order.
export function fieldsOf(schema: Record<string, unknown> | null): SchemaField[] {
  const properties = isObject(schema?.properties) ? schema.properties : {};
  const required = texts(schema?.required);
  return Object.entries(properties).map(([name, value]) => {
    const one = isObject(value) ? value : {};
    const type = typeOf(one);
    const items = isObject(one.items) ? one.items : {};
    return {
      name,
      title: typeof one.title === 'string' && one.title ? one.title : name,
      help: typeof one.description === 'string' ? one.description : '',
      type,
      choices: texts(type === 'list' ? items.enum : one.enum),
      required: required.includes(name),
      multiline: type === 'string' && long.test(name),
    };
  });
}

// missing returns the names of required fields that have no value.
export function missing(schema: Record<string, unknown> | null, values: SchemaValues): string[] {
  return fieldsOf(schema)
    .filter(({ name, required, type }) => required && type !== 'boolean' && type !== 'list' && isBlankValue(values[name]))
    .map(({ name }) => name);
}
