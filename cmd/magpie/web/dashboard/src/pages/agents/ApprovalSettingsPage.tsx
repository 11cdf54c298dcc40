import { Button, Group, Select, Stack, TextInput } from '@mantine/core';
import { type FormEvent, useRef, useState } from 'react';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { Empty } from '../../kit/Empty';
import { fieldError, useFirstError } from '../../kit/formErrors';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import { nodesOf } from '../../kit/usePaged';
import { useMay } from '../../session/Me';
import { ApprovalsSettingsDocument, type ApprovalsSettingsQuery, ApprovalsUpdateSettingsDocument } from './approvals.gql';
import { cleanPolicy, PolicyFields, type ToolPolicy } from './PolicyFields';

// ApprovalSettingsPage has which calls ask in the whole workspace, and the channel where approvals are posted.
export function ApprovalSettingsPage() {
  const isAdmin = useMay('ADMIN');
  const [{ data, error }, again] = useQuery({ query: ApprovalsSettingsDocument, pause: !isAdmin });
  return (
    <Page
      title={t('agents.approval.settings')}
      description={t('agents.approval.settingsHelp')}
      above={[{ label: t('agents.approval.title'), to: '/approvals' }]}
      narrow
    >
      {!isAdmin && <Empty icon="lock" title={t('agents.approval.settingsAdmins')} />}
      {error && !data && <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />}
      {data && <SettingsForm data={data} />}
    </Page>
  );
}

function SettingsForm({ data }: { data: ApprovalsSettingsQuery }) {
  const settings = data.approvalSettings;
  const [policy, setPolicy] = useState<ToolPolicy>(settings.toolPolicy as ToolPolicy);
  const [integration, setIntegration] = useState(settings.slackIntegrationId ?? null);
  const [channel, setChannel] = useState(settings.slackChannel ?? '');
  const save = useAction(ApprovalsUpdateSettingsDocument, { success: t('common.saved'), quiet: true });
  const form = useRef<HTMLFormElement>(null);
  useFirstError(form, save.error);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    await save.run({
      input: { toolPolicy: cleanPolicy(policy), slackIntegrationId: integration, slackChannel: integration ? channel || null : null },
    });
  };
  const choices = nodesOf(data.inboundIntegrations).map(({ id, name }) => ({ value: id, label: name }));
  return (
    <form ref={form} onSubmit={submit}>
      <Stack>
        {save.error && <ProblemNotice error={save.error} />}
        <PolicyFields value={policy} onChange={setPolicy} error={fieldError(save.error, 'toolPolicy')} />
        <Select
          label={t('agents.approval.slack')}
          description={choices.length === 0 ? t('agents.approval.slackNone') : t('agents.approval.slackHelp')}
          data={choices}
          value={integration}
          onChange={setIntegration}
          placeholder={t('common.none')}
          clearable
          clearButtonProps={{ 'aria-label': t('common.clear') }}
          error={fieldError(save.error, 'slackIntegrationId')}
        />
        {integration && (
          <TextInput
            label={t('agents.approval.channel')}
            description={t('agents.approval.channelHelp')}
            value={channel}
            onChange={(event) => setChannel(event.currentTarget.value)}
            required
            error={fieldError(save.error, 'slackChannel')}
          />
        )}
        <Group>
          <Button type="submit" loading={save.running}>
            {t('common.save')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
