import { Alert, Badge, Button, Code, Group, NumberInput, Paper, Select, SimpleGrid, Stack, Switch, Text, Title } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import type { IntegrationToolCallPolicy } from '../../gql/schema';
import { t } from '../../i18n';
import { confirm } from '../../kit/confirm';
import { Empty } from '../../kit/Empty';
import { fieldError } from '../../kit/formErrors';
import { Icon } from '../../kit/Icon';
import { JSONView } from '../../kit/JSONView';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import { useMay } from '../../session/Me';
import { Risk } from '../agents/Risk';
import { type Rule, RuleRows } from '../agents/RuleRows';
import type { Integration } from './IntegrationPage';
import {
  type IntegrationToolFieldsFragment as Tool,
  ToolsAcceptDocument,
  ToolsDeleteWebhookDocument,
  ToolsSetPolicyDocument,
} from './integrations.gql';
import { TryTool } from './TryTool';
import { WebhookTool } from './WebhookTool';

interface Props {
  integration: Integration;
  mayChange: boolean;
  reload: () => void;
}

// ToolList has the tools of an integration, each with what happens with its calls.
export function ToolList({ integration, mayChange, reload }: Props) {
  const tools = integration.tools ?? [];
  if (tools.length === 0) {
    return (
      <Empty icon="tool" title={t('tools.noTools')}>
        {integration.kind === 'WEBHOOK' ? t('tools.noToolsWebhook') : t('tools.noToolsHelp')}
      </Empty>
    );
  }
  return (
    <Stack>
      {tools.map((tool) => (
        <ToolCard key={tool.id} tool={tool} integration={integration} mayChange={mayChange} reload={reload} />
      ))}
    </Stack>
  );
}

function ToolCard({ tool, integration, mayChange, reload }: Props & { tool: Tool }) {
  const isEditor = useMay('EDITOR');
  const [open, setOpen] = useState<'policy' | 'try' | 'edit' | null>(null);
  const set = useAction(ToolsSetPolicyDocument, { success: t('common.saved') });
  const remove = useAction(ToolsDeleteWebhookDocument, { success: t('common.deleted') });
  const isWebhook = integration.kind === 'WEBHOOK';
  const del = async () => {
    const sure = await confirm({ title: t('tools.webhook.delete'), body: tool.title, action: t('common.delete'), typed: tool.name });
    if (sure && (await remove.run({ id: tool.id }))) reload();
  };
  return (
    <Paper p="md">
      <Stack gap="xs">
        <Group justify="space-between" align="flex-start">
          <Stack gap={2} style={{ minWidth: 0, flex: '1 1 14rem' }}>
            <Group gap="xs">
              <Title order={3} size="h5" className="wrap">
                {tool.title || tool.name}
              </Title>
              <Risk value={tool.risk} />
              <Badge variant="default" tt="none">
                {tool.callPolicy ? t(`agents.policy.${tool.callPolicy}`) : t('tools.policyUsual')}
              </Badge>
            </Group>
            <Text size="xs" c="dimmed" className="mono wrap">
              {integration.slug}.{tool.name}
            </Text>
            <Text size="sm" c="dimmed" className="wrap">
              {tool.description}
            </Text>
          </Stack>
          <Switch
            label={t('tools.enabled')}
            aria-label={`${t('tools.enabled')}: ${tool.title || tool.name}`}
            checked={tool.enabled}
            disabled={!mayChange}
            onChange={(event) => void set.run({ id: tool.id, input: { enabled: event.currentTarget.checked } })}
          />
        </Group>
        {tool.drift && <Drift tool={tool} mayChange={mayChange} reload={reload} />}
        <Group gap="xs">
          {mayChange && (
            <Button
              size="xs"
              variant="default"
              onClick={() => setOpen(open === 'policy' ? null : 'policy')}
              aria-expanded={open === 'policy'}
            >
              {t('tools.rules')}
            </Button>
          )}
          {isEditor && (
            <Button size="xs" variant="default" onClick={() => setOpen(open === 'try' ? null : 'try')} aria-expanded={open === 'try'}>
              {t('tools.try')}
            </Button>
          )}
          {isWebhook && mayChange && (
            <>
              <Button size="xs" variant="default" onClick={() => setOpen('edit')}>
                {t('tools.webhook.replace')}
              </Button>
              <Button size="xs" variant="default" onClick={() => void del()}>
                {t('common.delete')}
              </Button>
            </>
          )}
        </Group>
        {open === 'policy' && <Policy tool={tool} close={() => setOpen(null)} />}
        {open === 'try' && <TryTool tool={tool} />}
        {open === 'edit' && (
          <WebhookTool
            integrationId={integration.id}
            tool={tool}
            close={(saved) => {
              setOpen(null);
              if (saved) reload();
            }}
          />
        )}
      </Stack>
    </Paper>
  );
}

// Drift shows a tool as it was accepted and as its source describes it now.
function Drift({ tool, mayChange, reload }: { tool: Tool; mayChange: boolean; reload: () => void }) {
  const accept = useAction(ToolsAcceptDocument, { success: t('tools.accepted') });
  const drift = tool.drift ?? {};
  const isGone = drift.missing === true;
  const before: Record<string, unknown> = {
    title: tool.title,
    description: tool.description,
    risk: tool.risk,
    inputSchema: tool.inputSchema,
  };
  return (
    <Alert color="yellow" variant="light" icon={<Icon name="warning" />} title={isGone ? t('tools.gone') : t('tools.drifted')}>
      <Stack gap="xs">
        <Text size="sm">{isGone ? t('tools.goneHelp') : t('tools.driftedHelp')}</Text>
        {!isGone && (
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            <div>
              <Text size="xs" fw={600}>
                {t('tools.before')}
              </Text>
              <JSONView value={before} label={t('tools.before')} />
            </div>
            <div>
              <Text size="xs" fw={600}>
                {t('tools.now')}
              </Text>
              <JSONView value={drift} label={t('tools.now')} />
            </div>
          </SimpleGrid>
        )}
        {mayChange && (
          <Group>
            <Button
              size="xs"
              loading={accept.running}
              onClick={async () => {
                if (await accept.run({ id: tool.id })) reload();
              }}
            >
              {isGone ? t('tools.acceptGone') : t('tools.accept')}
            </Button>
          </Group>
        )}
      </Stack>
    </Alert>
  );
}

function Policy({ tool, close }: { tool: Tool; close: () => void }) {
  const [policy, setPolicy] = useState<IntegrationToolCallPolicy | ''>(tool.callPolicy ?? '');
  const [rules, setRules] = useState(tool.argumentRules as unknown as Rule[]);
  const [timeout, setTimeout] = useState<number | string>(tool.timeout);
  const set = useAction(ToolsSetPolicyDocument, { success: t('common.saved'), quiet: true });
  const properties = tool.inputSchema.properties;
  const paths = typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const argumentRules = rules.map((rule) => ({ ...rule }));
    if (await set.run({ id: tool.id, input: { policy: policy || null, argumentRules, timeout: Number(timeout) || undefined } })) close();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        {set.error && <ProblemNotice error={set.error} />}
        <Group align="flex-end">
          <Select
            label={t('tools.policy')}
            data={[
              { value: '', label: t('tools.policyUsual') },
              ...(['ALLOW', 'ASK', 'DENY'] as const).map((value) => ({ value, label: t(`agents.policy.${value}`) })),
            ]}
            value={policy}
            onChange={(next) => setPolicy((next ?? '') as IntegrationToolCallPolicy | '')}
            allowDeselect={false}
          />
          <NumberInput
            label={t('tools.timeout')}
            value={timeout}
            onChange={setTimeout}
            min={1}
            max={120}
            error={fieldError(set.error, 'timeout')}
            clampBehavior="none"
          />
        </Group>
        <Text size="sm" c="dimmed">
          {t('tools.rulesHelp')}
        </Text>
        <RuleRows
          rules={rules}
          onChange={setRules}
          policies={['ask', 'deny', 'allow']}
          paths={paths}
          errorOf={(n) => fieldError(set.error, `argumentRules[${n}]`)}
        />
        <Group gap="xs">
          <Button type="submit" size="xs" loading={set.running}>
            {t('common.save')}
          </Button>
          <Button size="xs" variant="default" onClick={close}>
            {t('common.cancel')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

// ResultText shows the text that a call has returned.
export function ResultText({ text, label }: { text: string; label: string }) {
  return (
    <Code block tabIndex={0} aria-label={label} style={{ maxHeight: '20rem', overflow: 'auto', whiteSpace: 'pre-wrap' }}>
      {text}
    </Code>
  );
}
