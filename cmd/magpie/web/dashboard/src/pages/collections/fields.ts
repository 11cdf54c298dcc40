import { problemOf } from '../../api/errors';

// fieldError returns the message of an error that is about a field, without the field's name.
export function fieldError(error: unknown, field: string): string | undefined {
  if (!error) return undefined;
  const problem = problemOf(error);
  if (problem.field !== field) return undefined;
  return problem.message.startsWith(`${field}: `) ? problem.message.slice(field.length + 2) : problem.message;
}
