import { type FormEvent, useEffect, useState } from 'react';
import { word } from '../../i18n/words';
import { RequestError } from '../../session/session';

interface Submit {
  onSubmit: (event?: FormEvent) => void;
  running: boolean;
  error: unknown;
  // The message of the service about one field, by its name in REST.
  fieldError: (name: string) => string | undefined;
  // Seconds until another try is allowed, after too many of them.
  wait: number;
}

// useSubmit runs the request of a form. The fields whose messages the form shows are named, others are shown as a whole.
export function useSubmit(fields: string[], work: () => Promise<unknown>): Submit {
  const [state, setState] = useState<{ running: boolean; error: unknown; until: number }>({ running: false, error: null, until: 0 });
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (state.until <= Date.now()) return;
    const timer = window.setInterval(() => {
      setNow(Date.now());
      if (Date.now() >= state.until) {
        window.clearInterval(timer);
        setState((old) => ({ ...old, error: null, until: 0 }));
      }
    }, 1000);
    return () => window.clearInterval(timer);
  }, [state.until]);
  const named = fieldOf(state.error, fields);
  return {
    onSubmit: async (event) => {
      event?.preventDefault();
      const form = event?.currentTarget as HTMLFormElement | undefined;
      setState({ running: true, error: null, until: 0 });
      try {
        await work();
        setState({ running: false, error: null, until: 0 });
      } catch (error) {
        const seconds = error instanceof RequestError ? error.retryAfter : null;
        setNow(Date.now());
        setState({ running: false, error, until: seconds ? Date.now() + 1000 * seconds : 0 });
        const name = fieldOf(error, fields)?.name;
        if (name) form?.querySelector<HTMLInputElement>(`[name="${name}"]`)?.focus();
      }
    },
    running: state.running,
    error: named ? null : state.error,
    fieldError: (name) => (named?.name === name ? named.message : undefined),
    wait: Math.max(0, Math.ceil((state.until - now) / 1000)),
  };
}

// fieldOf takes a message such as "password: must have at least 10 characters" apart.
function fieldOf(error: unknown, fields: string[]): { name: string; message: string } | null {
  if (!(error instanceof RequestError)) return null;
  const [, name, message] = /^([a-z_]+): (.+)$/s.exec(error.message) ?? [];
  return name && message && fields.includes(name) ? { name, message: word(message) } : null;
}
