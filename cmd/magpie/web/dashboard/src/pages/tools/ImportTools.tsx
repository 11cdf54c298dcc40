import { Button, Checkbox, Group, List, Modal, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { t } from '../../i18n';
import { fieldError } from '../../kit/formErrors';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import { Risk } from '../agents/Risk';
import { ToolsImportDocument, type ToolsImportMutation } from './integrations.gql';

// ImportTools makes tools of an OpenAPI document. It shows its operations first.
export function ImportTools({ integrationId, close }: { integrationId: string; close: (saved: boolean) => void }) {
  const [spec, setSpec] = useState('');
  const [url, setURL] = useState('');
  const [found, setFound] = useState<ToolsImportMutation['importTools'] | null>(null);
  const [chosen, setChosen] = useState<string[]>([]);
  const load = useAction(ToolsImportDocument, { quiet: true });
  const source = { spec: spec || null, url: spec ? null : url || null };
  const look = async (event: FormEvent) => {
    event.preventDefault();
    const data = await load.run({ integrationId, input: { ...source, preview: true } });
    if (!data) return;
    setFound(data.importTools);
    setChosen(data.importTools.operations.filter(({ exists }) => !exists).map(({ name }) => name));
  };
  const make = async () => {
    if (await load.run({ integrationId, input: { ...source, operations: chosen } })) close(true);
  };
  return (
    <Modal opened onClose={() => close(false)} size="lg" title={t('tools.import')} closeButtonProps={{ 'aria-label': t('common.close') }}>
      <Stack>
        {load.error && <ProblemNotice error={load.error} />}
        {!found && (
          <form onSubmit={look}>
            <Stack>
              <TextInput
                label={t('tools.import.url')}
                description={t('tools.import.urlHelp')}
                value={url}
                onChange={(event) => setURL(event.currentTarget.value)}
                error={fieldError(load.error, 'url')}
                data-autofocus
              />
              <Textarea
                label={t('tools.import.spec')}
                value={spec}
                onChange={(event) => setSpec(event.currentTarget.value)}
                autosize
                minRows={6}
                maxRows={16}
                className="mono"
                error={fieldError(load.error, 'spec')}
              />
              <Group justify="flex-end">
                <Button type="submit" loading={load.running} disabled={!spec && !url}>
                  {t('tools.import.preview')}
                </Button>
              </Group>
            </Stack>
          </form>
        )}
        {found && (
          <>
            <Checkbox.Group label={t('tools.import.choose')} value={chosen} onChange={setChosen}>
              <Stack gap="xs" mt="xs">
                {found.operations.map((operation) => (
                  <Checkbox
                    key={operation.name}
                    value={operation.name}
                    label={
                      <Group gap={6}>
                        <span>{operation.title || operation.name}</span>
                        <Risk value={operation.risk} />
                        <Text span size="xs" c="dimmed" className="mono wrap">
                          {operation.method} {operation.path}
                        </Text>
                      </Group>
                    }
                    description={operation.exists ? `${operation.description} ${t('tools.import.exists')}` : operation.description}
                  />
                ))}
              </Stack>
            </Checkbox.Group>
            {found.skipped.length > 0 && (
              <details>
                <summary>{t('tools.import.skipped', { count: found.skipped.length })}</summary>
                <List size="sm">
                  {found.skipped.map((reason) => (
                    <List.Item key={reason} className="wrap">
                      {reason}
                    </List.Item>
                  ))}
                </List>
              </details>
            )}
            <Group justify="flex-end">
              <Button variant="default" onClick={() => setFound(null)}>
                {t('common.back')}
              </Button>
              <Button onClick={() => void make()} loading={load.running} disabled={chosen.length === 0}>
                {t('tools.import.make', { count: chosen.length })}
              </Button>
            </Group>
          </>
        )}
      </Stack>
    </Modal>
  );
}
