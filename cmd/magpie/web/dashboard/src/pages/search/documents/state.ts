// The state of the list of documents as it is in the address.

import { oneOf } from '../../../app/params';
import type { DocumentOrderField, DocumentStatus } from '../../../gql/schema';
import { text } from '../state';

export const statuses: DocumentStatus[] = ['INDEXED', 'PENDING', 'PROCESSING', 'FAILED', 'DELETED'];
export const orders = ['title', 'path', 'changed', 'created', 'size', 'status'] as const;
export type Order = (typeof orders)[number];

export const orderFields: Record<Order, { field: DocumentOrderField; direction: 'ASC' | 'DESC' }> = {
  title: { field: 'TITLE', direction: 'ASC' },
  path: { field: 'PATH', direction: 'ASC' },
  changed: { field: 'UPDATED_AT', direction: 'DESC' },
  created: { field: 'CREATED_AT', direction: 'DESC' },
  size: { field: 'BYTES', direction: 'DESC' },
  status: { field: 'STATUS', direction: 'ASC' },
};

export interface DocumentsState {
  q?: string;
  collection?: string;
  connector?: string;
  status?: DocumentStatus;
  order?: Order;
  // Only documents that are restricted by hand, or only others.
  restricted?: boolean;
  // The list of restrictions, for administrators, instead of the documents.
  view?: 'restrictions';
}

export function readDocuments(search: Record<string, unknown>): DocumentsState {
  return {
    q: text(search.q),
    collection: text(search.collection),
    connector: text(search.connector),
    status: oneOf(search.status, statuses),
    order: oneOf(search.order, orders),
    restricted: typeof search.restricted === 'boolean' ? search.restricted : undefined,
    view: oneOf(search.view, ['restrictions'] as const),
  };
}

export const tabs = ['text', 'passages', 'details', 'readers', 'history'] as const;
export type Tab = (typeof tabs)[number];

export function readDocument(search: Record<string, unknown>): { tab?: Tab } {
  return { tab: oneOf(search.tab, tabs) };
}
