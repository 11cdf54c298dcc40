import { Loader } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { ApprovalPanel, RunLink } from './ApprovalPanel';
import { ApprovalsOneDocument } from './approvals.gql';

const route = getRouteApi('/shell/approvals/$approvalId');

// ApprovalPage is one approval, to which mails and messages in Slack lead.
export function ApprovalPage() {
  const { approvalId } = route.useParams();
  const [{ data, error }] = useQuery({ query: ApprovalsOneDocument, variables: { id: approvalId } });
  const above = [{ label: t('agents.approval.title'), to: '/approvals' }];
  return (
    <Page
      title={data?.approval.title ?? t('agents.approval.one')}
      above={above}
      narrow
      actions={data && <RunLink approval={data.approval} />}
    >
      {data ? (
        <ApprovalPanel id={approvalId} alone />
      ) : error ? (
        <ProblemNotice error={error} />
      ) : (
        <Loader role="status" aria-label={t('common.loading')} />
      )}
    </Page>
  );
}
