// The signed-in person and what their role allows.
import { createContext, type ReactNode, useContext } from 'react';
import { useQuery } from 'urql';
import type { Role } from '../gql/schema';
import { ProblemNotice } from '../kit/Problem';
import { MeDocument, type MeQuery } from './session.gql';

const context = createContext<MeQuery['me'] | null>(null);

const order: Role[] = ['VIEWER', 'EDITOR', 'ADMIN', 'OWNER'];

// includes reports whether a role is at least another.
export function includes(role: Role, atLeast: Role): boolean {
  return order.indexOf(role) >= order.indexOf(atLeast);
}

export function MeProvider({ children }: { children: ReactNode }) {
  const [{ data, error }, again] = useQuery({ query: MeDocument });
  if (error && !data) return <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />;
  if (!data) return null;
  return <context.Provider value={data.me}>{children}</context.Provider>;
}

// useMe returns the signed-in person. It is for components below the shell.
export function useMe(): MeQuery['me'] {
  const me = useContext(context);
  if (!me) throw new Error('useMe outside the shell');
  return me;
}

// useMay reports whether the person's role is at least the given one.
export function useMay(atLeast: Role): boolean {
  return includes(useMe().role, atLeast);
}

// May shows its children to people whose role is at least the given one.
export function May({ atLeast, children }: { atLeast: Role; children: ReactNode }) {
  return useMay(atLeast) ? children : null;
}
