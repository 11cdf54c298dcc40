import { useQuery } from 'urql';
import { formatDuration, tValue } from '../../i18n';
import type { IconName } from '../../kit/Icon';
import { ConnectorsKindNamesDocument } from './list.gql';

// useKinds returns what there is to know about the kinds of connectors without their options.
export function useKinds() {
  const [{ data, error }, again] = useQuery({ query: ConnectorsKindNamesDocument, requestPolicy: 'cache-first' });
  const kinds = data?.connectorKinds ?? [];
  return {
    kinds,
    kind: (name: string) => kinds.find((kind) => kind.name === name) ?? null,
    title: (name: string) => kinds.find((kind) => kind.name === name)?.title ?? name,
    loading: !data && !error,
    error,
    again: () => again({ requestPolicy: 'network-only' }),
  };
}

export const categoryName = (category: string) => tValue(`connectors.category.${category}`, category);

const icons: Record<string, IconName> = {
  storage: 'folder',
  collaboration: 'people',
  development: 'tool',
  crm: 'account',
  itsm: 'approval',
  web: 'globe',
  database: 'database',
  files: 'upload',
};

export const categoryIcon = (category: string): IconName => icons[category] ?? 'connector';

// A span of seconds, or a dash.
export const span = (seconds: number | null | undefined) => (seconds == null ? '–' : formatDuration(seconds));

// fieldMessage returns the message of a service's error without the name of the field, which the form shows.
export function fieldMessage(message: string, field: string): string {
  return message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message;
}
