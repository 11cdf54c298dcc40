// Errors of requests as people read them.
import type { CombinedError } from 'urql';
import { word } from '../i18n/words';
import { RequestError } from '../session/session';

export interface Problem {
  // The code of the error: not_found, invalid_request, offline …
  code: string;
  // In the person's language.
  message: string;
  // The field of the input that is wrong, if one is.
  field: string | null;
  requestId: string | null;
}

const isCombined = (error: unknown): error is CombinedError => error instanceof Error && 'graphQLErrors' in error;

// problemOf returns what an error of any kind says.
export function problemOf(error: unknown): Problem {
  if (isCombined(error)) {
    const first = error.graphQLErrors[0];
    const requestId = (error.response as Response | undefined)?.headers?.get('X-Request-Id') ?? null;
    if (first) {
      const { code, field, requestId: named } = first.extensions as { code?: string; field?: string; requestId?: string };
      return { code: code ?? 'internal', message: word(first.message), field: field ?? null, requestId: named ?? requestId };
    }
    return { code: 'offline', message: '', field: null, requestId };
  }
  if (error instanceof RequestError) return { code: error.code, message: word(error.message), field: null, requestId: error.requestId };
  if (Array.isArray(error) && error[0]?.message) {
    return {
      code: error[0].extensions?.code ?? 'internal',
      message: word(error[0].message),
      field: error[0].extensions?.field ?? null,
      requestId: error[0].extensions?.requestId ?? null,
    };
  }
  if (error instanceof Error) return { code: 'internal', message: error.message, field: null, requestId: null };
  return { code: 'offline', message: '', field: null, requestId: null };
}
