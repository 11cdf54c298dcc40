// The values of a connector's form, and what is sent of them.

import { type Mistakes, mistakes, submitted, type Values } from '../../../kit/options';
import type { ConnectorsKindsQuery } from '../form.gql';
import { fieldMessage } from '../kinds';
import type { ProblemField } from './ConnectionFields';

export type Kind = ConnectorsKindsQuery['connectorKinds'][number];

export interface Connection {
  config: Values;
  credentials: Values;
  // The grant that is used instead of credentials; null for credentials.
  grant: string | null;
  // Connected by OAuth, whether or not a grant is chosen yet.
  byOAuth: boolean;
  // Credentials of an existing connector whose fields are empty are removed.
  replaceAll: boolean;
}

export const emptyConnection: Connection = { config: {}, credentials: {}, grant: null, byOAuth: false, replaceAll: false };

// A secret of deliveries is needed with a grant, too.
const isForWebhooks = (name: string) => name === 'webhookSecret' || name === 'signingSecret';

// credentialTable returns the options of credentials that apply.
export const credentialTable = (kind: Kind, connection: Connection) =>
  connection.byOAuth ? kind.credentials.filter(({ name }) => isForWebhooks(name)) : kind.credentials;

// storedPaths returns the paths of the credentials that stay if their fields are empty, of those that are stored.
export const storedPaths = (connection: Connection, stored: readonly string[]) =>
  new Set(connection.replaceAll ? [] : stored.map((name) => `credentials.${name}`));

// wrong returns the mistakes of the form that the page can find, by path. names are those of stored credentials.
export function wrong(kind: Kind, connection: Connection, names: readonly string[] = []): Mistakes {
  const stored = storedPaths(connection, names);
  return {
    ...mistakes(kind.options, connection.config, undefined, 'config.'),
    ...mistakes(credentialTable(kind, connection), connection.credentials, stored, 'credentials.'),
  };
}

// input returns config and credentials as they are sent; before is the stored config of an existing connector.
export function input(kind: Kind, connection: Connection, before?: { config: Values; grant: string | null }) {
  const credentials: Values = submitted(credentialTable(kind, connection), connection.credentials);
  if (connection.byOAuth) {
    if (connection.grant && connection.grant !== before?.grant) credentials.grant = connection.grant;
  } else if (before) {
    if (before.grant) credentials.grant = null;
    if (connection.replaceAll) for (const { name } of kind.credentials) credentials[name] ??= null;
  }
  return { config: submitted(kind.options, connection.config, before?.config), credentials };
}

// fieldProblem returns the error of the service for the form if it is about one of its fields.
export function fieldProblem(kind: Kind, problem: { field: string | null; message: string } | null): ProblemField | null {
  if (!problem?.field) return null;
  const [table, name = ''] = problem.field.split('.');
  const options = table === 'config' ? kind.options : table === 'credentials' ? kind.credentials : [];
  const isKnown = options.some((option) => option.name === name.replace(/\[.*$/, ''));
  return isKnown ? { field: problem.field, message: fieldMessage(problem.message, problem.field) } : null;
}

// focusMistake moves the focus to the first field with an error, once it is shown.
export function focusMistake(form: HTMLElement | null) {
  window.setTimeout(() => form?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), 50);
}
