import { useCallback, useState } from 'react';
import { type AnyVariables, type CombinedError, type TypedDocumentNode, useMutation } from 'urql';
import { done, failed } from './notify';

interface Action<D, V> {
  // Runs the mutation; returns its data, or null if it failed.
  run: (variables: V) => Promise<D | null>;
  running: boolean;
  // The error of the last run; null when the next begins.
  error: CombinedError | null;
}

// useAction is a mutation. By default a failure is shown as a notification; with quiet the
// page shows error itself. success is shown after a run that did not fail.
export function useAction<D, V extends AnyVariables>(
  document: TypedDocumentNode<D, V>,
  { success, quiet = false }: { success?: string | ((data: D) => string); quiet?: boolean } = {},
): Action<D, V> {
  const [, execute] = useMutation(document);
  const [state, setState] = useState<{ running: boolean; error: CombinedError | null }>({ running: false, error: null });
  const run = useCallback(
    async (variables: V) => {
      setState({ running: true, error: null });
      const { data, error } = await execute(variables);
      setState({ running: false, error: error ?? null });
      if (error || !data) {
        if (!quiet && error) failed(error);
        return null;
      }
      if (success) done(typeof success === 'string' ? success : success(data));
      return data;
    },
    [execute, quiet, success],
  );
  return { run, ...state };
}
