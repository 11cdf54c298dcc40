// The answers that are being written. They go on while the person looks at other pages, are resumed after a lost connection,
// and after a reload of the page, for which the ids of the open ones are kept in the session storage of the tab.
import { useSyncExternalStore } from 'react';
import { watch } from '../../../api/live';
import { onSession } from '../../../session/session';
import { AskChatDocument, type AskEventFragment, AskResumeDocument } from './ask.gql';

// A passage of a document that an answer cites.
export interface Cited {
  id: string;
  headingPath: string[];
  excerpt: string;
}

export interface Source {
  // The document.
  id: string;
  title: string;
  url?: string | null;
  passages: Cited[];
}

export interface Answer {
  // Of this page only.
  key: string;
  conversationId: string | null;
  // The service's id, by which the answer is resumed.
  answerId: string | null;
  // Null after a reload: the conversation has it.
  question: string | null;
  // The newest message of the conversation when the question was put.
  after: string | null;
  text: string;
  sources: Source[];
  followUp: string[];
  seq: number;
  state: 'asking' | 'writing' | 'waiting' | 'done' | 'stopped' | 'failed';
  problem: unknown;
}

const most = 10; // answers that are kept
const stored = 'magpie-answers';
let answers: Answer[] = [];
const stops = new Map<string, () => void>(); // end the reading of answers
const ends = new Map<string, (answerId: string) => void>(); // end answers whose id is not known yet
const listeners = new Set<() => void>();
let resumed = false;

export const isOpen = (answer: Answer) => ['asking', 'writing', 'waiting'].includes(answer.state);

function publish(next: Answer[]) {
  answers = next.slice(-most);
  const kept = answers
    .filter((answer) => answer.answerId && answer.conversationId && isOpen(answer))
    .map(({ answerId, conversationId }) => ({ answerId, conversationId }));
  if (kept.length > 0) sessionStorage.setItem(stored, JSON.stringify(kept));
  else sessionStorage.removeItem(stored);
  for (const listener of listeners) listener();
}

function change(key: string, part: Partial<Answer>) {
  publish(answers.map((answer) => (answer.key === key ? { ...answer, ...part } : answer)));
  if (part.state === 'done') keepFollowUp(find(key));
}

// The follow-up questions of the last answers, by conversation: the service does not store them.
const storedFollowUps = 'magpie-follow-ups';
type FollowUps = Record<string, { question: string | null; followUp: string[] }>;

function readFollowUps(): FollowUps {
  try {
    return JSON.parse(sessionStorage.getItem(storedFollowUps) ?? '{}');
  } catch {
    return {};
  }
}

function keepFollowUp(answer: Answer | undefined) {
  if (!answer?.conversationId) return;
  const { conversationId, question, followUp } = answer;
  const { [conversationId]: _, ...others } = readFollowUps();
  const kept = [...Object.entries(others), [conversationId, { question, followUp }]].slice(-most);
  sessionStorage.setItem(storedFollowUps, JSON.stringify(Object.fromEntries(kept)));
}

// followUpOf returns the follow-up questions of the answer to the last question of a conversation, if this tab had it.
export function followUpOf(conversationId: string | null, question: string | undefined): string[] {
  const kept = conversationId ? readFollowUps()[conversationId] : undefined;
  return kept && (kept.question === null || kept.question === question) ? kept.followUp : [];
}

const find = (key: string) => answers.find((answer) => answer.key === key);

// received adds an event to an answer. Events that a resumed answer had are left out.
export function received(answer: Answer, event: AskEventFragment): Partial<Answer> {
  if ('seq' in event && event.seq <= answer.seq) return {};
  switch (event.__typename) {
    case 'ChatStart':
      return { seq: event.seq, conversationId: event.conversationId, answerId: event.answerId ?? null, state: 'writing' };
    case 'ChatContent':
      return { seq: event.seq, text: answer.text + event.delta, state: 'writing' };
    case 'ChatSources':
      return { seq: event.seq, sources: event.sources };
    case 'ChatFollowUp':
      return { seq: event.seq, followUp: event.questions };
    case 'ChatDone':
      return { seq: event.seq, state: 'done' };
    case 'StreamError':
      return { state: 'failed', problem: [{ message: event.message, extensions: { code: event.code, requestId: event.requestId } }] };
  }
}

function take(key: string, event: AskEventFragment) {
  const answer = find(key);
  if (!answer) return;
  if (answer.state !== 'stopped') return change(key, received(answer, event));
  if (event.__typename !== 'ChatStart') return;
  change(key, { conversationId: event.conversationId });
  leave(key);
  if (event.answerId) ends.get(key)?.(event.answerId);
  ends.delete(key);
}

function leave(key: string) {
  stops.get(key)?.();
  stops.delete(key);
}

function ended(key: string) {
  const answer = find(key);
  if (answer && isOpen(answer)) change(key, { state: 'done' });
}

// follow reads the rest of an answer, as often as the connection is lost.
function follow(key: string, answerId: string) {
  const stop = watch({
    document: AskResumeDocument,
    variables: () => ({ answerId, after: find(key)?.seq ?? 0 }),
    onData: ({ chatResume }) => take(key, chatResume),
    onState: (state) => {
      const answer = find(key);
      if (!answer || !isOpen(answer)) return;
      if (state === 'waiting') change(key, { state: 'waiting' });
      // It can be read for a minute after its end. Later the conversation has it.
      if (state === 'failed' || state === 'ended') ended(key);
    },
  });
  stops.set(key, stop);
}

// ask puts a question and returns the key of its answer.
export function ask(input: { message: string; conversationId?: string; collection?: string }, after: string | null): string {
  const key = crypto.randomUUID();
  const answer: Answer = {
    key,
    conversationId: input.conversationId ?? null,
    answerId: null,
    question: input.message,
    after,
    text: '',
    sources: [],
    followUp: [],
    seq: 0,
    state: 'asking',
    problem: null,
  };
  publish([...answers.filter((other) => other.conversationId !== answer.conversationId || isOpen(other)), answer]);
  const stop = watch({
    document: AskChatDocument,
    route: input.collection,
    once: true, // the question must not be put again
    variables: () => ({ input }),
    onData: ({ chat }) => take(key, chat),
    onState: (state, error) => {
      if (state === 'ended') ended(key);
      else if (find(key)?.state === 'stopped') return;
      else if (state === 'failed') change(key, { state: 'failed', problem: error });
      else if (state === 'waiting') {
        const now = find(key);
        if (!now || !isOpen(now)) return;
        if (now.answerId) {
          change(key, { state: 'waiting' });
          follow(key, now.answerId);
        } else change(key, { state: 'failed', problem: null });
      }
    },
  });
  stops.set(key, stop);
  return key;
}

// stop ends an answer, which end does at the service by its id; what was written of it stays.
export function stop(key: string, end: (answerId: string) => void) {
  const answerId = find(key)?.answerId;
  change(key, { state: 'stopped' });
  if (!answerId) {
    ends.set(key, end);
    return;
  }
  leave(key);
  end(answerId);
}

// resumeStored goes on with the answers that were open when the page was reloaded.
export function resumeStored() {
  if (resumed) return;
  resumed = true;
  let kept: { answerId: string; conversationId: string }[] = [];
  try {
    kept = JSON.parse(sessionStorage.getItem(stored) ?? '[]');
  } catch {
    sessionStorage.removeItem(stored);
  }
  for (const { answerId, conversationId } of kept) {
    const key = crypto.randomUUID();
    const blank = { question: null, after: null, text: '', sources: [], followUp: [], seq: 0, problem: null };
    publish([...answers, { ...blank, state: 'waiting', key, answerId, conversationId }]);
    follow(key, answerId);
  }
}

onSession((signedIn) => {
  if (signedIn) return;
  for (const end of stops.values()) end();
  stops.clear();
  ends.clear();
  sessionStorage.removeItem(storedFollowUps);
  publish([]);
});

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
};

// useAnswers returns the answers that are written or were written just now.
export function useAnswers(): Answer[] {
  return useSyncExternalStore(subscribe, () => answers);
}
