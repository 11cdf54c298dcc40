// Errors of the service at the fields of a form.
import { type RefObject, useEffect } from 'react';
import { problemOf } from '../api/errors';

// fieldError returns what the service said about a field or a part of it, such as tools[1]; undefined if it is about another.
export function fieldError(error: unknown, ...fields: string[]): string | undefined {
  if (!error) return undefined;
  const { field, message } = problemOf(error);
  if (field === null) return undefined;
  const about = fields.some((name) => field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`));
  return about ? message : undefined;
}

// useFirstError moves the focus to the first wrong field of a form whenever error changes to one.
export function useFirstError(form: RefObject<HTMLElement | null>, error: unknown) {
  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid=true], [data-error] input')?.focus();
  }, [form, error]);
}
