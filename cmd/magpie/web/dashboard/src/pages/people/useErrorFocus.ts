import { type RefObject, useEffect } from 'react';

// useErrorFocus moves the focus to the first field with an error when a new error arrives.
export function useErrorFocus(form: RefObject<HTMLElement | null>, error: unknown) {
  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [form, error]);
}
