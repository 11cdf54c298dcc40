// Values of addresses, for validateSearch of the routes. What is not as expected is left out.

// text returns a text of at most so many characters.
export function text(value: unknown, most = Number.POSITIVE_INFINITY): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, most) : undefined;
}

// typed is text for what people type: the router reads digits as a number.
export function typed(value: unknown, most?: number): string | undefined {
  return text(typeof value === 'number' ? String(value) : value, most);
}

// day returns a day such as 2026-01-31.
export function day(value: unknown): string | undefined {
  return typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value)) ? value : undefined;
}

// oneOf returns a value that is one of those.
export function oneOf<T extends string>(value: unknown, among: readonly T[]): T | undefined {
  return among.find((one) => one === value);
}
