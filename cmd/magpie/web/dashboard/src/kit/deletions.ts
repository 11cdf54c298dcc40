// Deletions that can be taken back for a moment. They are sent when the offer to undo them ends: after some seconds, when
// the person closes it, leaves the dashboard, or ends the session.
import { useSyncExternalStore } from 'react';
import type { Client, TypedDocumentNode } from 'urql';
import { t } from '../i18n';
import { beforeEnd } from '../session/session';
import { failed } from './notify';
import { offerUndo } from './undo';
import type { Paged } from './usePaged';

let gone: ReadonlySet<string> = new Set();
const listeners = new Set<() => void>();
// Ends the offers that are open.
const open = new Map<string, () => void>();
// What is being sent.
const sending = new Set<Promise<unknown>>();

function setGone(id: string, isGone: boolean) {
  const next = new Set(gone);
  if (isGone) next.add(id);
  else next.delete(id);
  gone = next;
  for (const listener of listeners) listener();
}

// deleteLater takes an entity from the lists at once (useDeleted) and offers to undo that; then the mutation deletes it.
// undone is called when the person takes it back.
export function deleteLater<V extends { id: string }>(
  client: Client,
  mutation: TypedDocumentNode<unknown, V>,
  variables: V,
  { name, undone }: { name: string; undone?: () => void },
) {
  const { id } = variables;
  const send = async () => {
    // The request goes on when the page is closed.
    const { error } = await client.mutation(mutation, variables, { fetchOptions: { keepalive: true } }).toPromise();
    if (!error) return;
    setGone(id, false);
    failed(error);
  };
  const end = offerUndo(
    t('common.deletedOne', { name: name.length > 60 ? `${name.slice(0, 60)}…` : name }),
    () => {
      open.delete(id);
      setGone(id, false);
      undone?.();
    },
    () => {
      open.delete(id);
      const sent = send().finally(() => sending.delete(sent));
      sending.add(sent);
    },
  );
  open.set(id, end);
  setGone(id, true);
}

// sendDeletions sends those that wait.
async function sendDeletions() {
  for (const end of [...open.values()]) end();
  await Promise.allSettled(sending);
}

beforeEnd(sendDeletions);
window.addEventListener('pagehide', () => void sendDeletions());

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
};

// useDeleted returns the ids of what this page has deleted, or is about to.
export function useDeleted(): ReadonlySet<string> {
  return useSyncExternalStore(subscribe, () => gone);
}

// without leaves out of a list what is deleted.
export function without<N extends { id: string }>(list: Paged<N>, deleted: ReadonlySet<string>): Paged<N> {
  const rows = list.rows.filter(({ id }) => !deleted.has(id));
  return { ...list, rows, total: list.total === null ? null : list.total - (list.rows.length - rows.length) };
}
