import { useCallback, useEffect, useRef, useState } from 'react';
import { useClient } from 'urql';
import { AskConversationDocument, type AskMessageFragment } from './ask.gql';

export type Message = AskMessageFragment;

export interface Conversation {
  title: string | null;
  collection: string | null;
  messages: Message[];
  loading: boolean;
  error: unknown;
  // Cursor of the oldest message that was read, if there are older ones.
  older: string | null;
  readOlder: () => void;
  // Reads the newest messages again.
  reload: () => Promise<void>;
  change: (messageId: string, part: Partial<Message>) => void;
}

// Messages of a page: the newest, and older ones.
const size = 20;
const olderSize = 60;
const none: Omit<Conversation, 'readOlder' | 'reload' | 'change'> = {
  title: null,
  collection: null,
  messages: [],
  loading: false,
  error: null,
  older: null,
};

// joined puts read messages to those that are known, in the order of the service, which is that of their ids.
function joined(known: Message[], read: Message[]): Message[] {
  const byId = new Map([...known, ...read].map((message) => [message.id, message]));
  return [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

type Known = Pick<Conversation, 'messages' | 'older'>;

// withPage adds a page to what is known: one of older messages, or else the newest. What is known is left if messages
// between it and the newest are missing.
export function withPage(known: Known, page: Known, isOlder: boolean): Known {
  if (isOlder) return { messages: joined(known.messages, page.messages), older: page.older };
  const meets = page.messages.some(({ id }) => known.messages.some((message) => message.id === id));
  return meets ? { messages: joined(known.messages, page.messages), older: known.older } : page;
}

// useConversation reads the messages of a conversation: the newest first, older ones on request.
export function useConversation(id: string | null): Conversation {
  const client = useClient();
  const [state, setState] = useState({ ...none, loading: id !== null });
  const current = useRef(id);
  const read = useCallback(
    async (before: string | null) => {
      if (!id) return;
      const { data, error } = await client
        .query(AskConversationDocument, { id, last: before ? olderSize : size, before }, { requestPolicy: 'network-only' })
        .toPromise();
      if (current.current !== id) return;
      if (!data) {
        setState((old) => ({ ...old, loading: false, error }));
        return;
      }
      const { title, collectionId, messages } = data.conversation;
      const { hasPreviousPage, startCursor } = messages.pageInfo;
      const page = {
        messages: messages.edges?.flatMap((edge) => edge?.node ?? []) ?? [],
        older: hasPreviousPage ? (startCursor ?? null) : null,
      };
      setState((old) => ({
        title,
        collection: collectionId ?? null,
        ...withPage(old, page, before !== null),
        loading: false,
        error: null,
      }));
    },
    [id, client],
  );
  // One after another: the client answers a query that is under way already from before what is to be read.
  const queue = useRef(Promise.resolve());
  const reload = useCallback(() => {
    queue.current = queue.current.then(() => read(null));
    return queue.current;
  }, [read]);
  useEffect(() => {
    current.current = id;
    setState({ ...none, loading: id !== null });
    void reload();
  }, [id, reload]);
  const change = useCallback((messageId: string, part: Partial<Message>) => {
    setState((old) => ({
      ...old,
      messages: old.messages.map((message) => (message.id === messageId ? { ...message, ...part } : message)),
    }));
  }, []);
  return { ...state, readOlder: () => void read(state.older), reload, change };
}
