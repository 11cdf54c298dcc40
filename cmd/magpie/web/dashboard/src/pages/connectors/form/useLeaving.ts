import { useBlocker } from '@tanstack/react-router';
import { useRef } from 'react';
import { t } from '../../../i18n';
import { confirm } from '../../../kit/confirm';

// useLeaving asks before a person leaves a form with changes, by the address or by the browser. The returned function
// lets them leave without a question.
export function useLeaving(isChanged: boolean): () => void {
  const free = useRef(false);
  useBlocker({
    shouldBlockFn: async ({ current, next }) => {
      const stays =
        current.pathname === next.pathname && (current.search as { tab?: string }).tab === (next.search as { tab?: string }).tab;
      if (free.current || stays) return false;
      return !(await confirm({ title: t('connectors.leave'), body: t('connectors.leaveBody'), action: t('connectors.leaveAction') }));
    },
    enableBeforeUnload: () => isChanged && !free.current,
    disabled: !isChanged,
  });
  return () => {
    free.current = true;
  };
}
