import {
  Autocomplete,
  Button,
  Checkbox,
  Fieldset,
  Group,
  MultiSelect,
  NumberInput,
  Paper,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  TagsInput,
  TextInput,
} from '@mantine/core';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { fieldError } from '../../kit/formErrors';
import { Icon } from '../../kit/Icon';
import { nodesOf } from '../../kit/usePaged';
import type { Draft, Settings } from './automationDraft';
import { AutomationsChoicesDocument } from './automations.gql';
import { usePeople } from './Names';

export interface PartProps {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  error: unknown;
}

const text = (value: unknown) => (typeof value === 'string' ? value : '');
const list = (value: unknown) => (Array.isArray(value) ? value.map(String) : []);

function useChoices() {
  const [{ data }] = useQuery({ query: AutomationsChoicesDocument });
  const choice = ({ id, name }: { id: string; name: string }) => ({ value: id, label: name });
  const inbound = nodesOf(data?.inboundIntegrations);
  return {
    inbound: (kind: string) => inbound.filter((one) => one.kind === kind).map(choice),
    tools: nodesOf(data?.toolIntegrations).map(choice),
    collections: nodesOf(data?.collections).map(choice),
  };
}

// TriggerFields has the settings of the kind of trigger that is chosen.
export function TriggerFields({ draft, change, error }: PartProps) {
  const choices = useChoices();
  const { kind, trigger } = draft;
  const set = (part: Settings) => change({ trigger: { ...trigger, ...part } });
  const wrong = (name: string) => fieldError(error, `trigger.${name}`);
  switch (kind) {
    case 'SCHEDULE':
      return (
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <Autocomplete
            label={t('agents.auto.cron')}
            description={t('agents.auto.cronHelp')}
            data={['0 8 * * *', '0 8 * * 1-5', '0 8 * * 1', '0 8 1 * *', '0 * * * *', '*/15 * * * *']}
            value={text(trigger.cron)}
            onChange={(cron) => set({ cron })}
            required
            error={wrong('cron')}
          />
          <Autocomplete
            label={t('agents.auto.zone')}
            description={t('agents.auto.zoneHelp')}
            data={Intl.supportedValuesOf('timeZone')}
            limit={20}
            value={text(trigger.timezone)}
            onChange={(timezone) => set({ timezone })}
            error={wrong('timezone')}
          />
        </SimpleGrid>
      );
    case 'EMAIL':
    case 'EVENT':
    case 'MEETING':
      return (
        <Stack gap="sm">
          <Select
            label={t('agents.auto.from')}
            data={choices.inbound(kind === 'EMAIL' ? 'EMAIL' : kind === 'EVENT' ? 'EVENTS' : 'MEETINGS')}
            value={text(trigger.integrationId) || null}
            onChange={(integrationId) => set({ integrationId })}
            placeholder={t('agents.auto.fromAny')}
            clearable
            clearButtonProps={{ 'aria-label': t('common.clear') }}
            error={wrong('integrationId')}
          />
          {kind === 'EMAIL' ? (
            <>
              <TagsInput
                label={t('agents.auto.addresses')}
                value={list(trigger.addresses)}
                onChange={(addresses) => set({ addresses })}
                acceptValueOnBlur
                error={wrong('addresses')}
              />
              <TagsInput
                label={t('agents.auto.senders')}
                description={t('agents.auto.sendersHelp')}
                value={list(trigger.senders)}
                onChange={(senders) => set({ senders })}
                acceptValueOnBlur
                error={wrong('senders')}
              />
              <Switch
                label={t('agents.auto.unverified')}
                description={t('agents.auto.unverifiedHelp')}
                checked={trigger.allowUnverified === true}
                onChange={(event) => set({ allowUnverified: event.currentTarget.checked })}
              />
            </>
          ) : (
            <TagsInput
              label={t('agents.auto.types')}
              description={t('agents.auto.typesHelp')}
              value={list(trigger.types)}
              onChange={(types) => set({ types })}
              acceptValueOnBlur
              error={wrong('types')}
            />
          )}
        </Stack>
      );
    case 'DOCUMENT':
      return (
        <Stack gap="sm">
          <MultiSelect
            label={t('common.nav.collections')}
            data={choices.collections}
            value={list(trigger.collectionIds)}
            onChange={(collectionIds) => set({ collectionIds })}
            required
            searchable
            error={wrong('collectionIds')}
          />
          <Checkbox
            label={t('agents.auto.added')}
            checked={trigger.added === true}
            onChange={(event) => set({ added: event.currentTarget.checked })}
          />
          <Checkbox
            label={t('agents.auto.changed')}
            checked={trigger.changed === true}
            onChange={(event) => set({ changed: event.currentTarget.checked })}
          />
        </Stack>
      );
    default:
      return null;
  }
}

// ApprovalFields has what a person must approve, who, and what happens when nobody decides.
export function ApprovalFields({ draft, change, error }: PartProps) {
  const choices = useChoices();
  const { people } = usePeople();
  const members = people.map(({ id, name }) => ({ value: id, label: name }));
  const { approval } = draft;
  const set = (part: Settings) => change({ approval: { ...approval, ...part } });
  const wrong = (name: string) => fieldError(error, `approval.${name}`);
  return (
    <Fieldset legend={t('agents.auto.approval')}>
      <Stack gap="sm">
        <Select
          label={t('agents.auto.mode')}
          data={(['always', 'acting_tools', 'none'] as const).map((value) => ({ value, label: t(`agents.auto.mode.${value}`) }))}
          value={text(approval.mode) || 'always'}
          onChange={(mode) => set({ mode })}
          allowDeselect={false}
          error={wrong('mode')}
        />
        <MultiSelect
          label={t('agents.auto.approvers')}
          description={t('agents.auto.approversHelp')}
          data={members}
          value={list(approval.approvers)}
          onChange={(approvers) => set({ approvers })}
          searchable
          error={wrong('approvers')}
        />
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <Select
            label={t('agents.auto.role')}
            data={(['VIEWER', 'EDITOR', 'ADMIN', 'OWNER'] as const).map((role) => ({
              value: role.toLowerCase(),
              label: t(`common.role.${role}`),
            }))}
            value={text(approval.role) || null}
            onChange={(role) => set({ role })}
            placeholder={t('common.none')}
            clearable
            clearButtonProps={{ 'aria-label': t('common.clear') }}
            error={wrong('role')}
          />
          <Select
            label={t('agents.auto.where')}
            data={[
              { value: 'dashboard', label: t('agents.auto.where.dashboard') },
              { value: 'slack', label: t('agents.auto.where.slack') },
            ]}
            value={text(approval.channel) || 'dashboard'}
            onChange={(channel) => set(channel === 'slack' ? { channel } : { channel, slackIntegrationId: null, slackChannel: null })}
            allowDeselect={false}
            error={wrong('channel')}
          />
          {approval.channel === 'slack' && (
            <>
              <Select
                label={t('agents.approval.slack')}
                data={choices.inbound('SLACK')}
                value={text(approval.slackIntegrationId) || null}
                onChange={(slackIntegrationId) => set({ slackIntegrationId })}
                required
                error={wrong('slackIntegrationId')}
              />
              <TextInput
                label={t('agents.approval.channel')}
                value={text(approval.slackChannel)}
                onChange={(event) => set({ slackChannel: event.currentTarget.value })}
                required
                error={wrong('slackChannel')}
              />
            </>
          )}
          <NumberInput
            label={t('agents.auto.timeout')}
            value={typeof approval.timeoutHours === 'number' ? approval.timeoutHours : ''}
            onChange={(hours) => set({ timeoutHours: Number(hours) || undefined })}
            placeholder="24"
            min={1}
            max={720}
            clampBehavior="none"
            error={wrong('timeoutHours')}
          />
          <Select
            label={t('agents.auto.onTimeout')}
            data={(['reject', 'escalate', 'approve'] as const).map((value) => ({ value, label: t(`agents.auto.onTimeout.${value}`) }))}
            value={text(approval.onTimeout) || 'reject'}
            onChange={(onTimeout) => set({ onTimeout })}
            allowDeselect={false}
            error={wrong('onTimeout')}
          />
        </SimpleGrid>
        {approval.onTimeout === 'escalate' && (
          <MultiSelect
            label={t('agents.auto.escalateTo')}
            data={members}
            value={list(approval.escalateTo)}
            onChange={(escalateTo) => set({ escalateTo })}
            searchable
            error={wrong('escalateTo')}
          />
        )}
      </Stack>
    </Fieldset>
  );
}

const deliveries = ['reply_email', 'slack_message', 'comment', 'document'] as const;

// DeliveryFields has where the answer goes.
export function DeliveryFields({ draft, change, error }: PartProps) {
  const choices = useChoices();
  const { delivery } = draft;
  const set = (n: number, part: Settings) => change({ delivery: delivery.map((one, at) => (at === n ? { ...one, ...part } : one)) });
  return (
    <Fieldset legend={t('agents.auto.delivery')}>
      <Stack gap="sm">
        {delivery.map((one, n) => {
          const wrong = (name: string) => fieldError(error, `delivery[${n}].${name}`);
          return (
            <Paper key={n} p="sm" role="group" aria-label={t('agents.auto.deliveryNumber', { n: n + 1 })}>
              <Group align="flex-end" gap="xs">
                <Select
                  label={t('agents.auto.deliveryKind')}
                  data={deliveries.map((value) => ({ value, label: t(`agents.auto.delivery.${value}`) }))}
                  value={text(one.kind)}
                  onChange={(kind) => change({ delivery: delivery.map((old, at) => (at === n ? { kind } : old)) })}
                  allowDeselect={false}
                  style={{ flex: '1 1 11rem' }}
                />
                {(one.kind === 'slack_message' || one.kind === 'comment') && (
                  <Select
                    label={t('agents.auto.integration')}
                    data={one.kind === 'comment' ? choices.tools : choices.inbound('SLACK')}
                    value={text(one.integrationId) || null}
                    onChange={(integrationId) => set(n, { integrationId })}
                    required
                    error={wrong('integrationId')}
                    style={{ flex: '1 1 11rem' }}
                  />
                )}
                {one.kind === 'slack_message' && (
                  <TextInput
                    label={t('agents.approval.channel')}
                    value={text(one.channel)}
                    onChange={(event) => set(n, { channel: event.currentTarget.value })}
                    required
                    error={wrong('channel')}
                    style={{ flex: '1 1 9rem' }}
                  />
                )}
                {one.kind === 'document' && (
                  <Select
                    label={t('agents.auto.collection')}
                    data={choices.collections}
                    value={text(one.collectionId) || null}
                    onChange={(collectionId) => set(n, { collectionId })}
                    required
                    error={wrong('collectionId')}
                    style={{ flex: '1 1 11rem' }}
                  />
                )}
                {(one.kind === 'document' || one.kind === 'reply_email') && (
                  <TextInput
                    label={t('agents.auto.subject')}
                    value={text(one.subject)}
                    onChange={(event) => set(n, { subject: event.currentTarget.value })}
                    error={wrong('subject')}
                    style={{ flex: '1 1 11rem' }}
                  />
                )}
                {one.kind === 'document' && (
                  <TagsInput
                    label={t('agents.auto.readers')}
                    description={t('agents.auto.readersHelp')}
                    data={draft.kind === 'MEETING' ? ['attendees'] : []}
                    value={list(one.readers)}
                    onChange={(readers) => set(n, { readers })}
                    acceptValueOnBlur
                    error={wrong('readers')}
                    style={{ flex: '1 1 100%' }}
                  />
                )}
                <Button
                  variant="default"
                  aria-label={`${t('common.remove')}: ${t('agents.auto.deliveryNumber', { n: n + 1 })}`}
                  onClick={() => change({ delivery: delivery.filter((_, at) => at !== n) })}
                >
                  <Icon name="close" size={16} />
                </Button>
              </Group>
            </Paper>
          );
        })}
        <Group>
          <Button
            variant="default"
            size="xs"
            disabled={delivery.length >= 5}
            onClick={() => change({ delivery: [...delivery, { kind: 'document' }] })}
          >
            {t('agents.auto.addDelivery')}
          </Button>
        </Group>
      </Stack>
    </Fieldset>
  );
}

// LimitFields bounds how often the automation runs.
export function LimitFields({ draft, change, error }: PartProps) {
  const names = [
    ['runsPerHour', '60'],
    ['perSender', '10'],
    ['tokensPerDay', ''],
  ] as const;
  return (
    <Fieldset legend={t('agents.auto.limits')}>
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        {names.map(([name, usual]) => (
          <NumberInput
            key={name}
            label={t(`agents.auto.limit.${name}`)}
            value={typeof draft.limits[name] === 'number' ? (draft.limits[name] as number) : ''}
            onChange={(next) => change({ limits: { ...draft.limits, [name]: next === '' ? undefined : Number(next) } })}
            placeholder={usual || t('common.none')}
            min={1}
            clampBehavior="none"
            error={fieldError(error, `limits.${name}`)}
          />
        ))}
      </SimpleGrid>
    </Fieldset>
  );
}
