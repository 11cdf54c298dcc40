import { Badge, VisuallyHidden } from '@mantine/core';
import { useRef } from 'react';
import { useQuery } from 'urql';
import { useLive } from '../../api/live';
import { formatNumber, t } from '../../i18n';
import { useSoon } from '../../kit/useSoon';
import { ApprovalsChangedDocument, ApprovalsOpenCountDocument } from './approvals.gql';

// useOpenApprovals returns how many approvals wait for somebody, and follows their changes.
function useOpenApprovals(): number {
  const [{ data }, again] = useQuery({ query: ApprovalsOpenCountDocument });
  const cursor = useRef<string | null>(null);
  const readSoon = useSoon(() => again({ requestPolicy: 'network-only' }), 500);
  useLive('open-approvals', {
    document: ApprovalsChangedDocument,
    variables: () => ({ after: cursor.current }),
    onData: ({ approvalChanged }) => {
      cursor.current = approvalChanged.cursor;
      readSoon();
    },
  });
  return data?.approvals.totalCount ?? 0;
}

// OpenApprovals is the number of open approvals, for the menu; nothing without any. Its words are among those of every
// page, since the menu is.
export default function OpenApprovals() {
  const count = useOpenApprovals();
  if (count === 0) return null;
  return (
    <>
      <Badge size="sm" circle={count < 10} aria-hidden>
        {formatNumber(count)}
      </Badge>
      <VisuallyHidden>{t('common.openApprovals', { count })}</VisuallyHidden>
    </>
  );
}
