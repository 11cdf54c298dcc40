// The logic of forms that are made from tables of options: of connector kinds, of tool
// providers and of providers of inbound integrations.
import type { OptionFragment } from './option.gql';

type Fields = OptionFragment['fields'][number];
export type OptionTable = (OptionFragment | Fields | Fields['fields'][number])[];
export type Values = Record<string, unknown>;

// isActive reports whether an option applies with the values of its table.
export function isActive(option: OptionTable[number], table: OptionTable, values: Values): boolean {
  return option.dependsOn.every(({ option: name, values: wanted }) => {
    const other = table.find((candidate) => candidate.name === name);
    const value = values[name] ?? other?.default ?? null;
    if (wanted.length === 0) return !isBlank(value);
    return wanted.some((want) => want === value);
  });
}

// isBlank reports whether a value counts as absent.
export function isBlank(value: unknown): boolean {
  return (
    value === undefined ||
    value === null ||
    value === '' ||
    (Array.isArray(value) && value.length === 0) ||
    (typeof value === 'object' && !Array.isArray(value) && Object.values(value as object).every(isBlank))
  );
}

export type Mistakes = Record<string, 'required' | 'number' | 'range' | 'pattern'>;

// mistakes returns what is wrong with values, by the path of the option, as far as the page can tell. stored has the names
// of secrets that are stored already.
export function mistakes(table: OptionTable, values: Values, stored: Set<string> = new Set(), prefix = ''): Mistakes {
  const found: Mistakes = {};
  for (const option of table) {
    if (!isActive(option, table, values)) continue;
    const path = prefix + option.name;
    const value = values[option.name];
    if (isBlank(value)) {
      if (option.required && isBlank(option.default) && !stored.has(path)) found[path] = 'required';
      continue;
    }
    if (option.type === 'integer') {
      if (!Number.isInteger(value)) found[path] = 'number';
      else if ((option.min != null && (value as number) < option.min) || (option.max != null && (value as number) > option.max))
        found[path] = 'range';
    }
    if (option.type === 'object' && 'fields' in option)
      Object.assign(found, mistakes(option.fields as OptionTable, value as Values, stored, `${path}.`));
  }
  return found;
}

// submitted returns the values to send: without what is blank or does not apply. With before, the values that are stored,
// an option that was removed is null, which removes it there.
export function submitted(table: OptionTable, values: Values, before?: Values): Values {
  const sent: Values = {};
  for (const option of table) {
    const value = values[option.name];
    if (!isActive(option, table, values) || isBlank(value)) {
      if (before && !option.sensitive && !isBlank(before[option.name])) sent[option.name] = null;
      continue;
    }
    sent[option.name] =
      option.type === 'object' && 'fields' in option && option.fields.length > 0
        ? submitted(option.fields as OptionTable, value as Values, before?.[option.name] as Values | undefined)
        : value;
  }
  return sent;
}
